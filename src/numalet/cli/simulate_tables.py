"""A simulation as tables: counts, the pods in order, why some were rejected, the node map.

Texts from the user's files are never taken for markup; their control characters are shown.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Final

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from numalet.admission.decision import Decision
from numalet.cli import output
from numalet.cli.simulate_view import Result, decisions_of
from numalet.model import cpu_set
from numalet.reports.memory_map import Holder, MemoryMap
from numalet.simulate.session import Asked, NotRestarted, Record, Removed, Restarted
from numalet.wording import english, kubelet, kubelet_start

if TYPE_CHECKING:
    from rich.console import RenderableType

    from numalet.adapters.simulation import Prepared

_BAR: Final = 10
_MOST_SINGLE: Final = 8


def tables(result: Result) -> Iterator[RenderableType]:
    """Counts, the pods, why some were rejected, the node map."""
    yield from _counts(result.prepared)
    if result.records:
        yield _pod_table(result.records)
    for record in result.records:
        yield from _reasons(record)
    if result.records:
        yield Text("")
    after = result.map()
    if after.nodes:
        yield _node_table(after)
    else:
        yield Text("The Memory Manager is off: nothing is reserved on any NUMA node.")
    if after.left_behind:
        yield Text("")
        yield Text("Left behind until the next admission, by pods that are not active:")
        for holder in after.left_behind:
            yield _text(f"  {holder.name}/{holder.key.container}: {_held(holder)}")


def _text(text: str, style: str = "") -> Text:
    """A text of the user's: no markup in it counts, and control characters are shown."""
    return Text(output.printable(text), style=style)


def _counts(prepared: Prepared) -> Iterator[Text]:
    if prepared.assumed:
        yield Text(f"assumed running: {len(prepared.assumed)} (pods of the state files)")
    if prepared.forgotten:
        yield Text(f"forgotten: {len(prepared.forgotten)} (pods of the state files)")
    for cause, count in prepared.ignored.items():
        yield Text(f"ignored: {count} ({cause.value.replace('-', ' ')})")


def _pod_table(records: Iterable[Record]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("POD", "STATUS", "NUMA NODES", "MEMORY"):
        table.add_column(name, overflow="fold", no_wrap=name == "STATUS")
    for record in records:
        match record:
            case Removed(pod_uid):
                table.add_row(_text(pod_uid), "removed")
            case NotRestarted():
                table.add_row("kubelet", Text("does not start", "red"))
            case Restarted():
                table.add_row("kubelet", "restarted")
            case Asked():
                pass  # Its decision follows.
        for decision in decisions_of(record):
            table.add_row(*_pod_row(decision))
    return table


def _pod_row(decision: Decision) -> tuple[Text, ...]:
    name = _text(str(decision.pod))
    if decision.rejection is not None:
        return name, Text(kubelet.reason(decision.rejection), "red"), Text(), Text()
    sizes: dict[str, int] = {}
    nodes: set[int] = set()
    for blocks in decision.after.memory.blocks.get(decision.pod.uid, {}).values():
        for block in blocks:
            nodes.update(block.nodes)
            sizes[block.resource] = sizes.get(block.resource, 0) + block.size_bytes
    # Init containers' blocks shrink by what others take over, so these sums are what is held.
    held = ", ".join(
        english.size(size) if name == "memory" else f"{name} {english.size(size)}"
        for name, size in sorted(sizes.items(), reverse=True)
    )
    return name, Text("Admitted", "green"), Text(_nodes(nodes) or "any"), Text(held or "-")


def _reasons(record: Record) -> Iterator[RenderableType]:
    if isinstance(record, NotRestarted):
        yield Text("")
        yield _text(f"kubelet: {kubelet_start.text(record.refused)}")
    for decision in decisions_of(record):
        if decision.rejection is not None:
            why = _text(english.of_reason(decision.rejection), "dim")
            yield Text("")
            yield _text(f"{decision.pod}: {kubelet.message(decision.rejection)}")
            yield Padding(why, (0, 0, 0, 2))


def _node_table(after: MemoryMap) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("NODE", justify="right")
    table.add_column("GROUP", overflow="fold")
    table.add_column("TYPE", overflow="fold")
    for name in ("ALLOCATABLE", "RESERVED", "FREE"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for node in after.nodes:
        group = "{" + _nodes(node.group) + "}" if len(node.group) > 1 else ""
        for at, row in enumerate(node.types):
            first = (str(node.node_id), group) if at == 0 else ("", "")
            sizes = (row.allocatable_bytes, row.reserved_bytes, row.free_bytes)
            bar = _bar(row.reserved_bytes, row.allocatable_bytes)
            table.add_row(*first, row.resource, *map(english.size, sizes), bar)
    return table


def _nodes(node_ids: Collection[int]) -> str:
    """The nodes one by one, or as ranges where they are many."""
    if len(node_ids) > _MOST_SINGLE:
        return cpu_set.text(node_ids)
    return ",".join(map(str, sorted(node_ids)))


def _bar(part: int, whole: int) -> str:
    """How much of the whole is taken; never full before it is, never empty once it is not."""
    if whole == 0:
        return ""
    filled = min(max(part * _BAR // whole, 1 if part else 0), _BAR)
    full, empty = ("█", "░") if output.is_unicode() else ("#", ".")
    return full * filled + empty * (_BAR - filled)


def _held(holder: Holder) -> str:
    return ", ".join(
        f"{english.size(size)} of {resource} on {_nodes(nodes)}"
        for nodes, resource, size in holder.blocks
    )
