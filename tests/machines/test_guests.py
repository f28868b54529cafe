"""Guests of many shapes read as their files say."""

from __future__ import annotations

from typing import Any

import pytest

from machines import machine_counts
from machines.catalogue import pool_counts
from machines.guests import DATA, FIGURES, NAMES, tarball
from numalet.core.model import cpu_set
from numalet.core.model import machine_queries as ask
from numalet.core.model.findings import BadInput
from numalet.io import machines


@pytest.mark.parametrize("name", NAMES)
def test_a_guest_reads_as_its_files_say(name: str) -> None:
    machine = machines.open_machine(str(tarball(name))).machine
    expected = FIGURES[name]
    actual: dict[str, Any] = {
        "nodes_online": cpu_set.text(machine_counts.online_node_ids(machine)),
        "cpus_online": cpu_set.text(machine.online_cpus),
        "cpus_offline": machine.cpu_files["offline"],
        "has_cpu": machine.node_files["has_cpu"],
        "has_memory": machine.node_files["has_memory"],
        "total_kib": (machine.proc.meminfo or {})["MemTotal"],
        "cores": len(ask.cores(machine)),
        "sockets": len(ask.sockets(machine)),
        "nodes": [
            {
                "id": node.node_id,
                "cpus": cpu_set.text(node.cpus),
                "memory_kib": (node.memory_bytes or 0) // 1024,
                "huge_pages": {
                    str(size): count for size, count in pool_counts(node.hugepages).items()
                },
                "distances": " ".join(map(str, node.distances or ())),
            }
            for node in machine.nodes_by_id
        ],
    }
    assert expected == actual


@pytest.mark.parametrize("name", NAMES)
def test_the_kubelet_sees_a_guest_with_all_its_memory_and_online_cpus(name: str) -> None:
    info = machines.open_machine(str(tarball(name))).info
    expected = FIGURES[name]
    assert expected["total_kib"] * 1024 == info.memory_capacity_bytes
    assert expected["cpus_online"] == cpu_set.text(info.cpu_ids)
    assert {n["id"]: n["memory_kib"] * 1024 for n in expected["nodes"]} == {
        node.node_id: node.memory_bytes for node in info.nodes
    }


def test_the_kubelet_lists_nodes_by_the_names_of_their_directories() -> None:
    info = machines.open_machine(str(tarball("n16c16"))).info
    assert [node.node_id for node in info.nodes] == [
        0,
        1,
        10,
        11,
        12,
        13,
        14,
        15,
        2,
        3,
        4,
        5,
        6,
        7,
        8,
        9,
    ]


def test_a_tarball_of_devices_alone_is_no_machine() -> None:
    with pytest.raises(BadInput) as caught:
        machines.open_machine(str(DATA / "n4c4-pci-numa.tar.gz"))
    assert [finding.code for finding in caught.value.findings] == ["input/not-found"]
