"""The sets that the runtime is told: on Linux CPUs and memory nodes, on Windows one merged set."""

from __future__ import annotations

import pytest

from numalet.core.managers.cpu.ledger import CpuLedger
from numalet.core.managers.memory.ledger import MemoryBlock, MemoryLedger
from numalet.core.model import cpu_set
from numalet.core.model.cpu_set import CpuSet
from numalet.core.snapshot import placement
from numalet.core.snapshot.snapshot import Snapshot
from values.builders import machine

MACHINE = machine(8, 8, 8)
"""Node 0 has the CPUs 0-1, node 1 has 2-3, node 2 has 4-5."""


def _snapshot(default: str = "", exclusive: str = "", nodes: tuple[int, ...] = ()) -> Snapshot:
    """A snapshot with one container ``c`` of pod ``u``."""
    held = {"u": {"c": cpu_set.parse(exclusive)}} if exclusive else {}
    blocks = {"u": {"c": (MemoryBlock(nodes, "memory", 1),)}} if nodes else {}
    return Snapshot(cpu=CpuLedger(cpu_set.parse(default), held), memory=MemoryLedger({}, blocks))


def test_exclusive_cpus_are_reported_before_the_shared_pool() -> None:
    snapshot = _snapshot(default="0,4-5", exclusive="1-3")

    assert cpu_set.parse("1-3") == placement.cpus(snapshot, "u", "c")
    assert cpu_set.parse("0,4-5") == placement.cpus(snapshot, "u", "other")


def test_without_a_shared_pool_no_cpus_are_reported() -> None:
    assert placement.cpus(_snapshot(), "u", "c") == cpu_set.EMPTY


def test_memory_nodes_are_reported_ascending() -> None:
    assert placement.memory_nodes(_snapshot(nodes=(2, 0)), "u", "c") == (0, 2)
    assert placement.memory_nodes(_snapshot(nodes=(2, 0)), "u", "other") == ()


@pytest.mark.parametrize(
    ("rule", "decided", "near_memory", "expected"),
    [
        ("nothing is set", "", "", None),
        ("only CPUs", "0-1", "", "0-1"),
        ("only memory", "", "2-3", "2-3"),
        ("more CPUs than near the memory", "0-2", "4-5", "0-2"),
        ("more CPUs, with those near the memory among them", "0-5", "4-5", "0-5"),
        ("CPUs near the memory", "2", "2-3", "2"),
        ("exactly the CPUs near the memory", "2-3", "2-3", "2-3"),
        ("as many CPUs elsewhere", "0-1", "2-3", "0-3"),
        ("fewer CPUs elsewhere", "0", "2-3", "0,2-3"),
        ("fewer CPUs, partly near the memory", "1-2", "2-4", "1-4"),
    ],
)
def test_cpus_and_memory_cpus_are_merged_on_windows(
    rule: str, decided: str, near_memory: str, expected: str | None
) -> None:
    wanted = None if expected is None else cpu_set.parse(expected)
    merged = placement.merged(cpu_set.parse(decided), cpu_set.parse(near_memory))
    assert wanted == merged, rule


@pytest.mark.parametrize(
    ("snapshot", "expected"),
    [
        (_snapshot(), None),
        (_snapshot(default="0-5"), "0-5"),
        (_snapshot(nodes=(1,)), "2-3"),
        (_snapshot(default="0-5", nodes=(1,)), "0-5"),
        (_snapshot(default="0,5", nodes=(1,)), "0,2-3,5"),
        (_snapshot(default="0,4-5", exclusive="2", nodes=(1,)), "2"),
        (_snapshot(default="0,4-5", exclusive="1", nodes=(1, 2)), "1-5"),
    ],
)
def test_a_container_on_windows_is_bound_to_its_cpus_and_those_near_its_memory(
    snapshot: Snapshot, expected: str | None
) -> None:
    wanted: CpuSet | None = None if expected is None else cpu_set.parse(expected)
    assert wanted == placement.windows_cpu_affinity(snapshot, MACHINE, "u", "c")
