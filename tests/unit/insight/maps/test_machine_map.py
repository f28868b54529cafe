"""The map of a machine, and what is noted about it."""

from __future__ import annotations

from typing import Any

import pytest

from numalet.core.config.machine_notes import machine_notes
from numalet.core.model.findings import Severity
from numalet.core.model.kubelet_view import kubelet_view
from numalet.core.model.machine import Cpu, HugePagePool, Machine, NumaNode, ProcFacts
from numalet.core.model.machine_shape import MachineShape, machine_of_shape, parse_shape
from numalet.core.model.value import replace
from numalet.insight.maps import machine_description
from numalet.insight.maps import machine_map as maps
from numalet.insight.maps.machine_map import MachineMap, View, machine_map
from numalet.insight.output import json_schema
from numalet.io.findings.machines import MachineNoteUnreadable


def document(chart: MachineMap) -> Any:
    """The map as JSON has it."""
    return json_schema.plain(chart)


EVEN = machine_of_shape(MachineShape(2, 2, 1, 2), 1 << 30, {2048: 2}, "2n1c2t")


def _notes(machine: Machine) -> dict[str, dict[str, Any]]:
    found = machine_notes(machine, kubelet_view(machine))
    assert all(note.severity is Severity.NOTE for note in found)
    return {note.code.removeprefix("machine/note-"): dict(note.fields) for note in found}


def test_nothing_is_noted_about_an_even_machine() -> None:
    assert _notes(EVEN) == {}


@pytest.mark.parametrize("view", list(View))
def test_both_views_of_an_even_machine_are_the_same(view: View) -> None:
    assert document(machine_map(EVEN, view)) == {
        "schema": "numalet.machine/1",
        "view": view.value,
        "source": "2n1c2t",
        "os": "linux",
        "sockets": 2,
        "cores": 2,
        "cpus": 4,
        "offline_cpus": "",
        "memory_bytes": 2 << 30,
        "hugepages": [{"page_size_kib": 2048, "count": 4}],
        "numa_nodes": [
            {
                "id": number,
                "class": "cpu",
                "sockets": [number],
                "cpus": f"{number},{number + 2}",
                "offline_cpus": "",
                "cores": 1,
                "memory_bytes": 1 << 30,
                "hugepages": [{"page_size_kib": 2048, "count": 2}],
                "distances": [10, 20] if number == 0 else [20, 10],
            }
            for number in (0, 1)
        ],
        "notes": [],
        "description": machine_description.of(kubelet_view(EVEN)),
    }


def test_notes_of_the_reader_come_first() -> None:
    note = MachineNoteUnreadable(value="x")
    machine = Machine(cpus=(Cpu(0, package_id=0, core_id=0),), has_numa=False)
    codes = [found["code"] for found in machine_map(machine, View.KERNEL, (note,)).notes]
    assert codes[:2] == ["machine/note-unreadable", "machine/note-no-numa"]
    plain = document(machine_map(machine, View.KERNEL, (note,)))
    assert plain["notes"][0] == {
        "code": "machine/note-unreadable",
        "value": "x",
        "text": str(note),
    }


def _odd_machine() -> Machine:
    nodes = (
        NumaNode(0, 1024, frozenset({0, 1}), distances=(10, 20, 20)),
        NumaNode(2, 0, frozenset({1}), distances=(10,)),
        NumaNode(70, None, frozenset(), hugepages=(HugePagePool(2048, None),)),
        NumaNode(71, 1, frozenset(), hugepages=(HugePagePool(2048, 1),), distances=(1, 2, 3, 4)),
    )
    cpus = (
        Cpu(0, package_id=0, core_id=0, thread_siblings=frozenset({0})),
        Cpu(1, online=False),
        Cpu(9),
    )
    return Machine(nodes=nodes, cpus=cpus, source="odd")


def test_everything_odd_is_noted() -> None:
    assert _notes(_odd_machine()) == {
        "cpuless": {"value": "70-71"},
        "memoryless": {"value": "2"},
        "memory-unknown": {"value": "70"},
        "no-distances": {"value": "70"},
        "row-length": {"value": "0,2"},
        "pages": {"value": "71"},
        "offline": {"value": "1"},
        "homeless": {"value": "9"},
        "shared": {"value": "1"},
        "links": {},
        "high-ids": {"value": "70-71", "limit": 63},
        "sparse-ids": {"value": "0,2,70-71"},
        "views-differ": {"what": "CPUs", "kernel": 2, "kubelet": 1},
    }


def test_every_note_has_a_sentence_that_shows_its_values() -> None:
    for note in document(machine_map(_odd_machine(), View.KERNEL, ()))["notes"]:
        assert all(str(value) in note["text"] for name, value in note.items() if name != "code")


def test_more_than_eight_nodes_are_noted() -> None:
    machine = machine_of_shape(MachineShape(9, 9, 1), 1 << 30, {}, "9n1c")
    assert _notes(machine) == {"many-nodes": {"value": 9, "limit": 8}}


def test_the_kernels_map_shows_offline_cpus_and_unknown_memory() -> None:
    chart = machine_map(_odd_machine(), View.KERNEL)
    assert chart.offline_cpus == "1"
    assert chart.numa_nodes[0].offline_cpus == "1"
    assert chart.numa_nodes[0].cpus == "0"
    assert chart.numa_nodes[2].memory_bytes is None
    assert document(chart)["numa_nodes"][2]["distances"] is None


def test_the_total_is_what_the_kernel_says_it_is() -> None:
    machine = Machine(nodes=(NumaNode(0, 1024),), proc=ProcFacts(meminfo={"MemTotal": 5}))
    assert machine_map(machine, View.KERNEL).memory_bytes == 5 * 1024


def test_ids_count_where_siblings_are_not_said() -> None:
    cpus = (Cpu(0, package_id=0, core_id=0), Cpu(1, package_id=1, core_id=0))
    machine = Machine(nodes=(NumaNode(0, 1, frozenset({0, 1})),), cpus=cpus)
    chart = machine_map(machine, View.KERNEL)
    assert (chart.sockets, chart.cores) == (2, 2)
    assert chart.numa_nodes[0].sockets == (0, 1)


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ("2n4c", {0: "10 20", 1: "20 10"}),
        ("16n16c", {0: "10: 0; 20: 1-15", 1: "10: 1; 20: 0,2-15"}),
    ],
)
def test_the_distances_of_many_nodes_are_grouped(shape: str, expected: dict[int, str]) -> None:
    rows = machine_map(
        machine_of_shape(parse_shape(shape), 1 << 30, {}, shape), View.KERNEL
    ).numa_nodes
    texts = maps.distances(rows)
    assert {each: texts[each] for each in expected} == expected


def test_distances_of_unknown_nodes_are_listed() -> None:
    rows = machine_map(
        machine_of_shape(parse_shape("16n16c"), 1 << 30, {}, "16n16c"), View.KERNEL
    ).numa_nodes
    short = replace(rows[0], distances=(10, 20))
    without = replace(rows[1], distances=None)
    texts = maps.distances([short, without, *rows[2:]])
    assert (texts[0], texts[1]) == ("10 20", "-")
