"""A drawing of the NUMA nodes before a decision: free memory, CPUs and devices.

Up to eight nodes are boxes, two in a row; more are rows of a table that equal neighbours share. The
holders of memory follow below, by group.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final, TypeAlias

from rich import box
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from numalet.cli import breaking, output
from numalet.cli.breaking import Breakable
from numalet.cli.tables import Boxes, Column, FittedTable, grouped, table
from numalet.core.model import cpu_set, numa_mask
from numalet.core.model.machine_queries import NodeClass
from numalet.insight.explain.explanation_types import (
    Explanation,
    ExplanationCpusDocument,
    ExplanationNodeDocument,
    HeldDocument,
    SizesDocument,
)
from numalet.wording import explanations, numbers

if TYPE_CHECKING:
    from rich.console import RenderableType

_MOST_BOXES: Final = 8
_BAR: Final = 16
_FEWEST_TOGETHER: Final = 3
_MOST_HOLDERS: Final = 6

Line: TypeAlias = tuple[str, str, str]
"""A resource of a node: its name, a bar of its use, the free amount."""


def drawing(explanation: Explanation) -> Iterator[RenderableType]:
    """Draw the nodes, and the holders of their memory."""
    nodes = explanation.nodes_before
    if not any(any(_lines(node)) for node in nodes):
        nodes = []
    elif len(nodes) <= _MOST_BOXES:
        yield Boxes([_box(node) for node in nodes])
    else:
        yield _table(nodes)
    if nodes:
        yield Padding(output.legend_of_bars(), (0, 0, 0, 2))
    with_cpus, with_memory = any(each.cpus for each in nodes), any(each.types for each in nodes)
    without = ["CPUs"] * (not with_cpus) + ["memory"] * (not with_memory)
    if without:
        text = f"{' and '.join(without)}: {explanations.NOT_PER_NUMA_NODE}. {explanation.requests}"
        yield Padding(Text(text), (0, 0, 0, 2))
    yield from _holders(explanation.held_before)


def _box(node: ExplanationNodeDocument) -> Panel:
    lines = Table.grid(padding=(0, 1))
    lines.add_column(style="dim", overflow="fold", max_width=18)
    lines.add_column(overflow="fold")
    for name, drawn, text in _lines(node):
        label = Breakable(Text(output.printable(name)), breaking.NAMES)
        lines.add_row(label, output.printable(text))
        lines.add_row("", drawn)
    group = _group(node)
    title = f"NUMA node {node.node}" + (f", group {group}" if group else "")
    its_class = node.node_class
    title += "" if its_class is NodeClass.CPU else f", class {its_class.value}"
    shape = box.ROUNDED if output.is_unicode() else box.ASCII
    return Panel(lines, box=shape, title=title, title_align="left")


_Row: TypeAlias = tuple[list[ExplanationNodeDocument] | None, Line]
"""The nodes in their first row alone; a resource."""


def _table(nodes: Sequence[ExplanationNodeDocument]) -> FittedTable:
    columns: list[Column[_Row]] = [
        Column("NODE", lambda row: cpu_set.text(each.node for each in row[0] or ()), right=True),
        Column("CLASS", lambda row: row[0][0].node_class.value if row[0] else ""),
        Column("GROUP", lambda row: _group(row[0][0]) if row[0] else ""),
        Column("WHAT", lambda row: row[1][0]),
        Column("", lambda row: row[1][1], whole=True),
        Column("FREE", lambda row: row[1][2]),
    ]
    if all(node.node_class is NodeClass.CPU for node in nodes):
        del columns[1]
    return table(columns, grouped(_alike(nodes)))


def _alike(
    nodes: Sequence[ExplanationNodeDocument],
) -> Iterator[tuple[list[ExplanationNodeDocument], list[Line]]]:
    """Yield the nodes with their lines; neighbours with equal lines are merged."""

    def said(node: ExplanationNodeDocument) -> tuple[object, ...]:
        return (node.node_class, _group(node), *map(_in_figures, _lines(node)))

    for _, run in groupby(nodes, key=said):
        together = list(run)
        if len(together) < _FEWEST_TOGETHER:
            yield from (([node], list(_lines(node))) for node in together)
        else:
            figures = map(_in_figures, _lines(together[0]))
            yield together, [(name, drawn, f"{text} each") for name, drawn, text in figures]


def _in_figures(line: Line) -> Line:
    """Remove the ids of the CPUs, which differ from node to node."""
    name, drawn, text = line
    return name, drawn, text.partition(": ")[0]


def _group(node: ExplanationNodeDocument) -> str:
    return _set(node.group) if len(node.group) > 1 else ""


def _lines(node: ExplanationNodeDocument) -> Iterator[Line]:
    for name, sizes in node.types.items():
        if sizes.allocatable_bytes or sizes.total_bytes:
            kept = sizes.total_bytes - sizes.allocatable_bytes
            drawn = output.bar(kept, sizes.reserved_bytes, sizes.free_bytes, _BAR)
            yield name, drawn, _memory_text(sizes)
    if node.cpus is not None:
        yield _cpu_line(node.cpus)
    for resource, here in node.devices.items():
        drawn = output.bar(0, here.total - here.free, here.free, _BAR)
        yield resource, drawn, f"{here.free} of {here.total} free"


def _memory_text(sizes: SizesDocument) -> str:
    free, there = map(numbers.rounded_size, (sizes.free_bytes, sizes.allocatable_bytes))
    return f"{free} of {there} free"


def _cpu_line(cpus: ExplanationCpusDocument) -> Line:
    there, free = cpus.allocatable, len(cpu_set.parse(cpus.free))
    text = f"{free} of {there} free" + (f": {cpus.free}" if free else "")
    kept = len(cpu_set.parse(cpus.reserved))
    return "CPUs", output.bar(kept, there - free, free, _BAR), text


def _holders(held: Sequence[HeldDocument]) -> Iterator[Padding]:
    of_memory = [each for each in held if each.type == "memory"]
    for nodes, group in groupby(of_memory, key=lambda each: each.nodes):
        names = [f"{each.pod} ({numbers.rounded_size(each.size_bytes)})" for each in group]
        more = len(names) - _MOST_HOLDERS
        text = ", ".join(names[:_MOST_HOLDERS]) + (f" and {more} more" if more > 0 else "")
        yield Padding(Text(output.printable(f"{_set(nodes)} is used by {text}")), (0, 0, 0, 2))


def _set(node_ids: Sequence[int]) -> str:
    return numa_mask.text(numa_mask.of(node_ids))
