"""A drawing of the NUMA nodes as they were before a decision: memory, CPUs and devices free.

Up to eight nodes are boxes, two beside each other; more are rows of a table, in which neighbours
that are alike share one. Who holds memory is named below, by group.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Final, TypeAlias

from rich import box
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from numalet.cli import breaking, output
from numalet.explain import measures
from numalet.explain.case import Case
from numalet.managers.memory.ledger import MemoryTable
from numalet.model import cpu_set, numa_mask
from numalet.model import machine_queries as ask
from numalet.model.machine_queries import NodeClass
from numalet.wording import english

if TYPE_CHECKING:
    from rich.console import RenderableType

_MOST_BOXES: Final = 8
_BAR: Final = 16
_FEWEST_TOGETHER: Final = 3
_MOST_HOLDERS: Final = 6

Line: TypeAlias = tuple[str, str, str]
"""Something on a node: its name, how much of it is taken as a bar, how much is free."""


def drawing(case: Case) -> Iterator[RenderableType]:
    """The nodes, and who holds memory on them."""
    node_ids = case.node.rules.machine.node_ids
    if not any(any(_lines(case, node_id)) for node_id in node_ids):
        nothing = "nothing: no manager that is on keeps account of NUMA nodes"
        yield Padding(Text(nothing), (0, 0, 0, 2))
    elif len(node_ids) <= _MOST_BOXES:
        grid = Table.grid(padding=(0, 1), expand=True)
        grid.add_column(ratio=1)
        grid.add_column(ratio=1)
        boxes: list[RenderableType] = [_box(case, node_id) for node_id in node_ids]
        for left, right in zip(boxes[::2], [*boxes[1::2], Text("")], strict=False):
            grid.add_row(left, right)
        yield grid
    else:
        yield _table(case)
    yield from _holders(case)


def _box(case: Case, node_id: int) -> Panel:
    lines = Table.grid(padding=(0, 1))
    lines.add_column(style="dim", overflow="fold", max_width=18)
    lines.add_column(overflow="fold")
    for name, drawn, text in _lines(case, node_id):
        lines.add_row(output.printable(name), breaking.cpus(output.printable(text)))
        lines.add_row("", drawn)
    group = _group(case, node_id)
    title = f"NUMA node {node_id}" + (f", group {group}" if group else "")
    its_class = ask.classes_by_node(case.node.rules.machine)[node_id]
    title += "" if its_class is NodeClass.CPU else f", class {its_class.value}"
    shape = box.ROUNDED if output.is_unicode() else box.ASCII
    return Panel(lines, box=shape, title=title, title_align="left")


def _table(case: Case) -> Table:
    classes = ask.classes_by_node(case.node.rules.machine)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("NODE", justify="right")
    shows_class = set(classes.values()) != {NodeClass.CPU}
    if shows_class:
        table.add_column("CLASS")
    table.add_column("GROUP", overflow="fold")
    table.add_column("WHAT", overflow="fold")
    table.add_column("", no_wrap=True)
    table.add_column("FREE", overflow="fold")
    for node_ids, lines in _alike(case):
        shown = [classes[node_ids[0]].value] if shows_class else []
        first = [cpu_set.text(node_ids), *shown, _group(case, node_ids[0])]
        for name, drawn, text in lines:
            table.add_row(
                *first, output.printable(name), drawn, breaking.cpus(output.printable(text))
            )
            first = [""] * len(first)
    return table


def _alike(case: Case) -> Iterator[tuple[list[int], list[Line]]]:
    """The nodes with their lines; neighbours of which all says the same are told together."""
    classes = ask.classes_by_node(case.node.rules.machine)
    node_ids = case.node.rules.machine.node_ids
    lines = {node_id: list(_lines(case, node_id)) for node_id in node_ids}

    def said(node_id: int) -> tuple[object, ...]:
        return (classes[node_id], _group(case, node_id), *map(_in_figures, lines[node_id]))

    for _, run in groupby(node_ids, key=said):
        together = list(run)
        if len(together) < _FEWEST_TOGETHER:
            yield from (([node_id], lines[node_id]) for node_id in together)
        else:
            figures = map(_in_figures, lines[together[0]])
            yield together, [(name, drawn, f"{text} each") for name, drawn, text in figures]


def _in_figures(line: Line) -> Line:
    """The line without the ids of the CPUs, which differ from node to node."""
    name, drawn, text = line
    return name, drawn, text.partition(": ")[0]


def _group(case: Case, node_id: int) -> str:
    memory = case.node.snapshot.memory.nodes.get(node_id)
    if memory is None or memory.group.bit_count() < 2:
        return ""
    return numa_mask.text(memory.group)


def _lines(case: Case, node_id: int) -> Iterator[Line]:
    """What there is on a node."""
    memory = case.node.snapshot.memory.nodes.get(node_id)
    for name, table in sorted(memory.tables.items()) if memory is not None else ():
        if table.allocatable or table.total:
            yield name, bar(table.reserved, table.allocatable), _memory_text(table)
    yield from _cpu_lines(case, node_id)
    inventory = case.node.snapshot.device.inventory
    for resource in sorted(inventory.registered):
        here = {
            name
            for name, mask in inventory.devices_of(resource).masks.items()
            if mask >> node_id & 1
        }
        if here:
            free = here & case.node.snapshot.device.free(resource)
            text = f"{len(free)} of {len(here)} free"
            yield resource, bar(len(here) - len(free), len(here)), text


def _memory_text(table: MemoryTable) -> str:
    return f"{english.size(table.free)} of {english.size(table.allocatable)} free"


def _cpu_lines(case: Case, node_id: int) -> Iterator[Line]:
    free = measures.free_cpus(case.node)
    if not free:
        return
    policy = case.node.roster.static_cpus
    assert policy is not None
    there = measures.cpus_by_node(case.node.roster)[node_id] & policy.allocatable
    if there:
        here = free[node_id]
        text = f"{len(here)} of {len(there)} free" + (f": {cpu_set.text(here)}" if here else "")
        yield "CPUs", bar(len(there) - len(here), len(there)), text


def bar(part: int, whole: int) -> str:
    """How much of the whole is taken; never full before it is, never empty once it is not."""
    if whole <= 0:
        return ""
    filled = min(max(part * _BAR // whole, 1 if part else 0), _BAR)
    full, empty = ("█", "░") if output.is_unicode() else ("#", ".")
    return full * filled + empty * (_BAR - filled)


def _holders(case: Case) -> Iterator[Padding]:
    """Who holds memory, by set of nodes."""
    ledger = case.node.snapshot.memory
    held: dict[tuple[int, ...], dict[str, int]] = {}
    for uid, containers in ledger.blocks.items():
        for blocks in containers.values():
            for block in blocks:
                if block.resource == "memory":
                    sizes = held.setdefault(block.nodes, {})
                    name = case.name_of(uid)
                    sizes[name] = sizes.get(name, 0) + block.size_bytes
    for nodes in sorted(held, key=lambda nodes: (len(nodes), nodes)):
        names = [f"{name} ({english.size(size)})" for name, size in sorted(held[nodes].items())]
        more = len(names) - _MOST_HOLDERS
        text = ", ".join(names[:_MOST_HOLDERS]) + (f" and {more} more" if more > 0 else "")
        yield Padding(
            Text(output.printable(f"{numa_mask.text(numa_mask.of(nodes))} is used by {text}")),
            (0, 0, 0, 2),
        )
