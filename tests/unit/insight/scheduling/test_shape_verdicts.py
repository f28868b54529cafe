"""Verdicts on shapes, followed from change to change."""

from __future__ import annotations

import pytest

from numalet.insight.scheduling import expected_nodes
from numalet.insight.scheduling.expected_nodes import ExpectedNodes, ShapeMemory
from values import gpu_fleet

FOUR = gpu_fleet.pod("four", 4)


def always() -> bool:
    return True


def split_fleet() -> ExpectedNodes:
    every = ExpectedNodes()
    for name, node in gpu_fleet.split_fleet().nodes.items():
        every.put(name, node)
    return every


def admitted(memory: ShapeMemory, every: ExpectedNodes) -> set[str]:
    of = memory.of(FOUR)
    assert memory.decide(of, every.nodes, always) == ()
    return {name for name, verdict in of.by_name.items() if verdict.admitted}


def test_a_node_that_did_not_change_is_not_decided_again() -> None:
    every = split_fleet()
    memory = ShapeMemory(every)
    assert admitted(memory, every) == {"half", "seven", "empty"}
    decided = memory.of(FOUR).table.admissions
    assert admitted(memory, every) == {"half", "seven", "empty"}
    assert memory.of(FOUR).table.admissions == decided
    every.put("split", gpu_fleet.running("split", []))
    every.put("empty", None)
    assert admitted(memory, every) == {"half", "seven", "split"}


def test_a_reader_that_missed_changes_reads_all_nodes_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(expected_nodes, "_MOST_CHANGES", 1)
    every = split_fleet()
    memory = ShapeMemory(every)
    assert "split" not in admitted(memory, every)
    every.put("split", gpu_fleet.running("split", []))
    every.put("half", every.base("half"))
    assert "split" in admitted(memory, every)


def test_the_shapes_that_were_asked_about_last_are_remembered() -> None:
    memory = ShapeMemory(split_fleet(), most_shapes=2)
    one, two = memory.of(FOUR), memory.of(gpu_fleet.pod("two", 2))
    assert memory.of(gpu_fleet.pod("also-four", 4)) is one
    memory.of(gpu_fleet.pod("one", 1))
    assert memory.of(FOUR) is one
    assert memory.of(gpu_fleet.pod("two", 2)) is not two


def test_nodes_for_which_there_is_no_time_are_named() -> None:
    every = split_fleet()
    memory = ShapeMemory(every)
    of = memory.of(FOUR)
    assert memory.decide(of, ["half", "split", "of no one"], lambda: False) == ("half", "split")
    assert of.by_name == {}
    assert memory.decide(of, ["half"], always) == ()
    assert memory.decide(of, ["half"], lambda: False) == ()


def test_facts_are_read_in_advance_as_far_as_there_is_time() -> None:
    every = split_fleet()
    memory = ShapeMemory(every)
    assert not memory.prepare(lambda: False)
    assert memory.prepare(always)
    assert memory.prepare(lambda: False)
    reader = memory.of(FOUR).reader
    assert {*memory.names} == {
        name for name in every.nodes if reader.has(name, every.nodes[name].node)
    }
    every.put("split", gpu_fleet.running("split", []))
    assert not reader.has("split", every.nodes["split"].node)
    assert not reader.has("of no one", every.nodes["split"].node)
