"""Any machine as a guest."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness.bad_inputs import refused_with
from machines.guests import tarball
from numalet.core.model.findings import BadInput
from numalet.io import machines
from numalet.lab import scaling
from numalet.lab.topology import CpuLayout, Topology


def scaled(
    text: str, memory_mib: int = 2048, memory_per_node: str | None = None
) -> tuple[Topology, list[str]]:
    """The guest of a machine, and what is said about it."""
    machine = machines.open_machine(text, memory_per_node=memory_per_node).machine
    found = scaling.scaled(machine, memory_mib)
    return found.topology, [str(note) for note in found.notes]


def described(folder: Path, text: str) -> str:
    path = folder / "machine.yaml"
    path.write_text(text)
    return str(path)


def cpus(topology: Topology) -> list[list[int]]:
    return [sorted(node.cpus) for node in topology.nodes]


def test_memory_keeps_its_proportions(tmp_path: Path) -> None:
    text = "nodes:\n- {memory: 64Gi, cpus: 0-1}\n- {memory: 192Gi, cpus: 2-3}\n- {memory: 1Gi}\n"
    topology, notes = scaled(described(tmp_path, text), 4096)
    memories = [node.memory_mib for node in topology.nodes]
    assert memories[1] == 3060
    assert memories[0] == 1020
    assert memories[2] == 64
    assert any("1/" in note for note in notes)


def test_a_small_machine_keeps_its_memory() -> None:
    topology, notes = scaled("2n2c", memory_per_node="512Mi")
    assert [node.memory_mib for node in topology.nodes] == [512, 512]
    assert notes == []


def test_threads_of_a_core_are_beside_each_other() -> None:
    topology, notes = scaled("2n2c2t", memory_per_node="1Gi")
    assert CpuLayout(packages=2, cores=2, threads=2) == topology.layout
    assert cpus(topology) == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert any("guest numbers CPUs" in note and "4 -> 1" in note for note in notes)


def test_nodes_that_share_a_package_are_its_dies() -> None:
    topology, _ = scaled("2s4n2c", memory_per_node="1Gi")
    assert CpuLayout(packages=2, dies=2, cores=2) == topology.layout
    assert topology.distances is not None
    assert topology.distances[0] == (10, 12, 20, 20)


def test_dies_of_one_cpu_are_cores() -> None:
    topology, _ = scaled("2s4n1c", memory_per_node="1Gi")
    assert CpuLayout(packages=2, cores=2) == topology.layout


@pytest.mark.parametrize(
    ("name", "layout"),
    [
        ("n2c16-smt", CpuLayout(packages=2, cores=4, threads=2)),
        ("n4c4-2cpuless-cxl", None),
        ("n3c4-1memless", None),
        ("n36c28-8cpuless", None),
        ("n64c64", None),
    ],
)
def test_a_guest_of_a_guest_is_the_same(name: str, layout: CpuLayout | None) -> None:
    machine = machines.open_machine(str(tarball(name))).machine
    found = scaling.scaled(machine, 16384).topology
    nodes = machine.nodes_by_id
    assert [sorted(node.cpus) for node in nodes] == cpus(found)
    assert [bool(node.memory_bytes) for node in nodes] == [bool(n.memory_mib) for n in found.nodes]
    assert [node.distances for node in nodes] == list(found.distances or ())
    if layout is not None:
        assert layout == found.layout


def test_interleaved_cpus_stay_in_their_nodes() -> None:
    topology, _ = scaled(str(tarball("n2c8-interleaved")))
    assert [len(node.cpus) for node in topology.nodes] == [4, 4]


def test_offline_cpus_and_empty_nodes_are_left_out_and_reported() -> None:
    topology, notes = scaled(str(tarball("n2c4-cpu3-offline")))
    assert topology.cpu_count == 3
    assert any(note.startswith("the guest has no offline CPUs: 3") for note in notes)
    assert topology.layout.cpu_count == 3


def test_where_packages_are_uneven_every_cpu_is_one() -> None:
    whole = machines.open_machine("2n2c", memory_per_node="1Gi").machine
    one_off = tuple(replace(cpu, online=cpu.cpu_id != 3) for cpu in whole.cpus)
    found = scaling.scaled(replace(whole, cpus=one_off))
    assert CpuLayout(3) == found.topology.layout
    assert cpus(found.topology) == [[0, 1], [2]]
    assert any("each CPU of the guest is a package" in str(note) for note in found.notes)


def test_nodes_without_cpus_are_numbered_last(tmp_path: Path) -> None:
    text = (
        "nodes:\n- {memory: 1Gi, cpus: 0-1}\n- {memory: 2Gi}\n- {memory: 1Gi, cpus: 2-3}\n"
        "distances:\n- [10, 14, 20]\n- [14, 10, 24]\n- [20, 24, 10]\n"
    )
    topology, notes = scaled(described(tmp_path, text), 4096)
    assert cpus(topology) == [[0, 1], [2, 3], []]
    assert [node.memory_mib for node in topology.nodes] == [1024, 1024, 2048]
    assert topology.distances == ((10, 20, 14), (20, 10, 24), (14, 24, 10))
    assert any("numbers nodes from 0 without gaps: 2 -> 1, 1 -> 2" in n for n in notes)


def test_numbers_with_gaps_are_closed_and_reported(tmp_path: Path) -> None:
    text = "nodes:\n- {id: 0, memory: 1Gi, cpus: 0}\n- {id: 8, memory: 1Gi, cpus: 1}\n"
    topology, notes = scaled(described(tmp_path, text))
    assert len(topology.nodes) == 2
    assert any("numbers nodes from 0 without gaps: 8 -> 1" in note for note in notes)


@pytest.mark.parametrize("distances", ["[[10, 300], [300, 10]]", "[[10, 10], [10, 10]]"])
def test_distances_that_firmware_can_not_say_are_reported(tmp_path: Path, distances: str) -> None:
    text = (
        f"nodes:\n- {{memory: 1Gi, cpus: 0}}\n- {{memory: 1Gi, cpus: 1}}\ndistances: {distances}\n"
    )
    topology, notes = scaled(described(tmp_path, text))
    assert topology.distances is None
    assert any("guest cannot have these distances" in note for note in notes)


def test_a_machine_with_nothing_to_start_from_is_refused(tmp_path: Path) -> None:
    path = described(tmp_path, "nodes:\n- {memory: 1Gi}\n- {memory: 0, cpus: 0}\n")
    with refused_with("input/invalid", "no node has both CPUs and memory"):
        scaled(path)


@pytest.mark.parametrize("text", ["much", "1Mi", "-1Gi", "9Ei"])
def test_a_memory_that_is_none_is_shown(text: str) -> None:
    with pytest.raises(BadInput) as bad:
        scaling.memory_mib(text)
    assert f"invalid guest memory '{text}'" in bad.value.findings[0].located
    assert scaling.memory_mib("3Gi") == 3072
