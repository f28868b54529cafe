"""What we read of a machine is what it is, and what other programs say it is.

Four witnesses: the topology that was asked for, and numactl, lscpu and lstopo, which read the
same files with other eyes. lstopo leaves out nodes without memory, and gives nodes without CPUs
those of the nearest node; it is asked about the rest.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import Any
from xml.etree import ElementTree

import pytest

from numalet.core.model import cpu_set
from numalet.lab.request import IN_GUEST
from numalet.lab.topology import TOPOLOGIES, Topology

MIB = 1 << 20


def printed(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def asked() -> Topology:
    return TOPOLOGIES[os.environ[IN_GUEST]]


@pytest.fixture(scope="module")
def ours() -> dict[str, Any]:
    """The document of ``numalet machine -o json``."""
    document: dict[str, Any] = json.loads(
        printed(sys.executable, "-m", "numalet", "machine", "-o", "json")
    )
    return document


def nodes(document: dict[str, Any]) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = document["numa_nodes"]
    return listed


def test_it_is_the_machine_that_was_asked_for(ours: dict[str, Any], asked: Topology) -> None:
    expected = [
        (number, cpu_set.text(node.cpus), list((asked.distances or ())[number]))
        for number, node in enumerate(asked.nodes)
    ]
    actual = [(node["id"], node["cpus"], node["distances"]) for node in nodes(ours)]
    assert expected == actual
    layout = asked.layout
    assert (layout.packages, layout.cpu_count) == (ours["sockets"], ours["cpus"])
    assert layout.cpu_count // layout.threads == ours["cores"]


def test_every_node_has_the_memory_that_was_asked_for(
    ours: dict[str, Any], asked: Topology
) -> None:
    """But for what the kernel and its tables take, which is never a third of a node."""
    for node, wanted in zip(nodes(ours), asked.nodes, strict=True):
        given_bytes = wanted.memory_mib * MIB
        assert given_bytes * 2 // 3 <= node["memory_bytes"] <= given_bytes


def test_nodes_without_cpus_or_memory_are_noted(ours: dict[str, Any], asked: Topology) -> None:
    noted = {note["code"]: note["value"] for note in ours["notes"] if "value" in note}
    for code, odd in (
        ("machine/note-cpuless", [i for i, node in enumerate(asked.nodes) if not node.cpus]),
        ("machine/note-memoryless", [i for i, n in enumerate(asked.nodes) if not n.memory_mib]),
    ):
        assert cpu_set.text(odd) == noted.get(code, "")


def test_numactl_says_the_same(ours: dict[str, Any]) -> None:
    text = printed("numactl", "--hardware")
    cpus = {int(n): c.split() for n, c in re.findall(r"^node (\d+) cpus:(.*)$", text, re.MULTILINE)}
    sizes = {
        int(n): int(mb) for n, mb in re.findall(r"^node (\d+) size: (\d+) MB$", text, re.MULTILINE)
    }
    rows = {
        int(n): list(map(int, r.split()))
        for n, r in re.findall(r"^ +(\d+): (.*)$", text, re.MULTILINE)
    }
    said = {node: (cpu_set.text(map(int, cpus[node])), sizes[node], rows[node]) for node in cpus}
    assert said == {
        node["id"]: (node["cpus"], node["memory_bytes"] // MIB, node["distances"])
        for node in nodes(ours)
    }


def test_lscpu_says_the_same(ours: dict[str, Any]) -> None:
    table = printed("lscpu", "-p=CPU,CORE,SOCKET,NODE")
    rows = [tuple(map(int, line.split(","))) for line in table.splitlines() if line[0] != "#"]
    by_node: dict[int, list[int]] = {}
    for cpu, _, _, node in rows:
        by_node.setdefault(node, []).append(cpu)
    ours_by_node = {node["id"]: node["cpus"] for node in nodes(ours) if node["cpus"]}
    assert {node: cpu_set.text(cpus) for node, cpus in by_node.items()} == ours_by_node
    assert len({(core, socket) for _, core, socket, _ in rows}) == ours["cores"]
    assert len({socket for _, _, socket, _ in rows}) == ours["sockets"]


def test_the_fields_of_lscpu_say_the_same(ours: dict[str, Any]) -> None:
    fields = dict(_fields(json.loads(printed("lscpu", "-J"))["lscpu"]))
    assert str(len(nodes(ours))) == fields["NUMA node(s):"]
    assert str(ours["cpus"]) == fields["CPU(s):"]
    assert str(ours["sockets"]) == fields["Socket(s):"]
    for node in nodes(ours):
        listed = cpu_set.parse(fields[f"NUMA node{node['id']} CPU(s):"] or "")
        assert node["cpus"] == cpu_set.text(listed)


def _fields(entries: list[dict[str, Any]]) -> list[tuple[str, Any]]:
    """Fields with their texts, those below others included."""
    found: list[tuple[str, Any]] = []
    for entry in entries:
        found += [(entry["field"], entry["data"]), *_fields(entry.get("children", []))]
    return found


def test_lstopo_says_the_same_of_nodes_with_memory(ours: dict[str, Any]) -> None:
    tree = ElementTree.fromstring(printed("lstopo", "--of", "xml"))
    objects = list(tree.iter("object"))
    packages = [each for each in objects if each.get("type") == "Package"]
    assert ours["sockets"] == len(packages)
    said = {int(n.get("os_index") or -1): n for n in objects if n.get("type") == "NUMANode"}
    with_memory = {node["id"]: node for node in nodes(ours) if node["memory_bytes"]}
    assert {node_id: node["memory_bytes"] for node_id, node in with_memory.items()} == {
        node_id: int(node.get("local_memory") or 0) for node_id, node in said.items()
    }
    with_cpus = {node_id: node for node_id, node in with_memory.items() if node["cpus"]}
    assert {node_id: node["cpus"] for node_id, node in with_cpus.items()} == {
        node_id: cpu_set.text(_members(said[node_id].get("cpuset") or "")) for node_id in with_cpus
    }


def _members(mask: str) -> list[int]:
    """The numbers in a mask such as ``0x000000ff,0x00000000``; a word is 32 bits."""
    value = int("".join(word.removeprefix("0x").zfill(8) for word in mask.split(",")) or "0", 16)
    return [bit for bit in range(value.bit_length()) if value >> bit & 1]
