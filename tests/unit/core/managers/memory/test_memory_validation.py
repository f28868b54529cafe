"""Whether a restored ledger fits the machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from numalet.core.findings.state_files import MemoryStateWouldCrash
from numalet.core.managers.memory import tables, validation
from numalet.core.managers.memory.ledger import MemoryBlock, MemoryLedger, MemoryTable, NodeMemory
from numalet.core.model.findings import Finding
from values import builders
from values.builders import GI

INITIAL = tables.initial_nodes(builders.machine(10, 10), {})


def held(nodes: tuple[int, ...], gib: int, resource: str = "memory") -> MemoryLedger:
    """A ledger in which container u/c holds one block, put on its nodes from the lowest."""
    map_ = dict(INITIAL)
    for node_id in nodes:
        mask = sum(1 << i for i in set(nodes))
        map_[node_id] = replace(map_[node_id], assignments=1, group=mask)
    tables.allocate(map_, nodes, "memory", gib * GI)
    return MemoryLedger(map_, {"u": {"c": (MemoryBlock(nodes, resource, gib * GI),)}})


def found(ledger: MemoryLedger) -> Mapping[str, Any]:
    finding = validation.restored(ledger, INITIAL)
    assert isinstance(finding, Finding), finding
    return {"code": finding.code, **finding.fields}


def test_an_empty_file_becomes_the_empty_machine() -> None:
    assert validation.restored(MemoryLedger({}, {}), INITIAL) == MemoryLedger(INITIAL, {})


def test_assignments_without_a_node_map_are_refused() -> None:
    assert found(MemoryLedger({}, {"u": {"c": ()}})) == {
        "code": "memory-state/no-machine-state",
        "pods": ["u"],
    }


def test_a_ledger_that_fits_is_taken_as_it_is() -> None:
    ledger = held((0, 1), 15)

    assert validation.restored(ledger, INITIAL) is ledger


def test_inside_a_group_only_sums_count() -> None:
    ledger = held((0, 1), 12)
    table = ledger.nodes[0].tables["memory"]
    drifted = dict(ledger.nodes)
    tables.give_back(drifted, (0,), "memory", 5 * GI)
    tables.allocate(drifted, (1,), "memory", 5 * GI)
    moved = replace(ledger, nodes=drifted)

    assert moved.nodes[0].tables["memory"] != table
    assert validation.restored(moved, INITIAL) is moved


def test_a_block_on_an_absent_node_is_named() -> None:
    ledger = MemoryLedger(INITIAL, {"u": {"c": (MemoryBlock((7,), "memory", 1),)}})

    assert found(ledger) == {
        "code": "memory-state/unknown-node",
        "pod": "u",
        "container": "c",
        "node": 7,
        "type": "memory",
    }


def test_a_block_of_an_absent_type_is_named() -> None:
    ledger = MemoryLedger(INITIAL, {"u": {"c": (MemoryBlock((0,), "hugepages-1Gi", 1),)}})

    assert found(ledger)["code"] == "memory-state/unknown-type"


def _with_node(node: NodeMemory) -> MemoryLedger:
    return MemoryLedger({**INITIAL, 1: node}, {})


GOOD = INITIAL[1]
TABLE = GOOD.tables["memory"]
DIFFERENCES = [
    (MemoryLedger({0: INITIAL[0]}, {}), "nodes", None),
    (_with_node(replace(GOOD, assignments=1)), "assignments", 1),
    (_with_node(replace(GOOD, group=0b11)), "group", 1),
    (_with_node(replace(GOOD, tables={})), "types", 1),
    (_with_node(replace(GOOD, tables={"memory": replace(TABLE, total=1)})), "memory total", 1),
    (
        _with_node(replace(GOOD, tables={"memory": MemoryTable(10 * GI, 0, 10 * GI, 1, 10 * GI)})),
        "memory reserved in the group",
        1,
    ),
]


@pytest.mark.parametrize(("ledger", "what", "node"), DIFFERENCES)
def test_the_first_difference_is_named(ledger: MemoryLedger, what: str, node: int | None) -> None:
    finding = found(ledger)

    assert (finding["code"], finding["what"], finding["node"]) == (
        "memory-state/differs",
        what,
        node,
    )


def grouped_with_uneven_page_sizes() -> tuple[MemoryLedger, Mapping[int, NodeMemory]]:
    """A group of two nodes of which only the first one has huge pages; and the empty machine."""
    initial = tables.initial_nodes(builders.machine(10, 10), {})
    pages = {"hugepages-2Mi": MemoryTable(GI, 0, GI, 0, GI), **initial[0].tables}
    initial[0] = replace(initial[0], tables=pages)
    map_ = {i: replace(node, assignments=1, group=0b11) for i, node in initial.items()}
    tables.allocate(map_, (0, 1), "memory", 15 * GI)
    return MemoryLedger(map_, {"u": {"c": (MemoryBlock((0, 1), "memory", 15 * GI),)}}), initial


def test_a_group_of_nodes_with_other_page_sizes_is_where_the_kubelet_crashes() -> None:
    ledger, initial = grouped_with_uneven_page_sizes()

    finding = validation.restored(ledger, initial)

    assert finding == MemoryStateWouldCrash(node=0, type="hugepages-2Mi", other=1)


def test_a_difference_elsewhere_comes_before_the_crash() -> None:
    ledger, initial = grouped_with_uneven_page_sizes()
    nodes = {**ledger.nodes, 1: replace(ledger.nodes[1], assignments=2)}

    finding = validation.restored(replace(ledger, nodes=nodes), initial)

    assert isinstance(finding, Finding)
    assert (finding.code, finding.fields["what"]) == ("memory-state/differs", "assignments")


def test_what_fits_nowhere_is_dropped_like_the_kubelet_drops_it() -> None:
    full = held((0,), 10)
    more = replace(full, blocks={"u": {"c": (MemoryBlock((0,), "memory", 12 * GI),)}})

    assert validation.restored(more, INITIAL) is more


@pytest.mark.parametrize(
    ("nodes", "named"),
    [((0,), {0: (0, 0)}), ((0, 0), {}), ((0, 0), {0: (0, 0, 0)}), ((0, 1), {0: (1, 0, 1)})],
)
def test_a_node_that_is_named_twice_makes_another_group(
    nodes: tuple[int, ...], named: Mapping[int, tuple[int, ...]]
) -> None:
    finding = validation.restored(counted(nodes), INITIAL, named)

    assert isinstance(finding, Finding)
    assert (finding.code, finding.fields["what"]) == ("memory-state/differs", "group")


def test_a_group_and_its_block_may_both_name_a_node_twice() -> None:
    ledger = counted((0, 0))

    assert validation.restored(ledger, INITIAL, {0: (0, 0)}) is ledger


def counted(nodes: tuple[int, ...]) -> MemoryLedger:
    """A ledger with one block, counted as often on a node as it is named."""
    ledger = held(nodes, 4)
    counts = {i: replace(n, assignments=nodes.count(i)) for i, n in ledger.nodes.items()}
    return replace(ledger, nodes=counts)
