"""The page of a machine: the drawing, a table of NUMA nodes, and oddities."""

from __future__ import annotations

from typing import Any

from numalet.core.model import cpu_set, numa_mask
from numalet.drawing import node_drawing
from numalet.insight.maps.machine_map import MachineMap, MachineNodeRow, View
from numalet.insight.maps.node_map import NodeMap
from numalet.pages import templating
from numalet.pages.values import PageOrigin, TextTable
from numalet.wording import numbers


def body(chart: NodeMap, rows: MachineMap, origin: PageOrigin) -> Any:
    return templating.part(
        "bodies/machine.html",
        origin=origin,
        totals=totals(rows),
        drawing=templating.trusted(node_drawing.draw(chart)),
        nodes=nodes_table(rows),
        notes=[str(note) for note in rows.notes],
    )


def totals(rows: MachineMap) -> str:
    whose = "as the kubelet sees it" if rows.view is View.KUBELET else "as it is"
    parts = [
        numbers.counted(rows.socket_count, "socket"),
        numbers.counted(len(rows.nodes), "NUMA node"),
        numbers.counted(rows.core_count, "core"),
        numbers.counted(rows.cpu_count, "CPU"),
        numbers.rounded_size(rows.memory_bytes),
    ]
    return f"{', '.join(parts)}, {whose}"


def nodes_table(rows: MachineMap) -> TextTable:
    return TextTable(
        "NUMA nodes",
        ("Node", "Class", "Socket", "CPUs", "Cores", "Memory", "Huge pages", "Distances"),
        tuple(_row(row) for row in rows.nodes),
    )


def _row(row: MachineNodeRow) -> tuple[str, ...]:
    offline = f", offline {cpu_set.text(row.offline_cpus)}" if row.offline_cpus else ""
    pages = [
        f"{each.count} x {numbers.rounded_size(each.page_size_kib * 1024)}"
        for each in row.hugepages
        if each.count
    ]
    return (
        str(row.node_id),
        row.node_class.value,
        numa_mask.listed(row.sockets),
        (f"{cpu_set.text(row.cpus)} ({len(row.cpus)})" if row.cpus else "none") + offline,
        str(row.core_count),
        "unknown" if row.memory_bytes is None else numbers.rounded_size(row.memory_bytes),
        ", ".join(pages),
        " ".join(map(str, row.distances or ())),
    )
