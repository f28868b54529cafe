"""What the first page says of a node: its health, the strip of figures, and who is in trouble.

Sizes are in bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from numalet.core.model import resources
from numalet.core.model.value import Value
from numalet.dashboard.sources import Level, NodeView, Note, PodRow, SourceKind
from numalet.drawing.node import holders
from numalet.drawing.node.holders import Holder
from numalet.insight.maps import finding, room
from numalet.insight.maps.map_devices import DeviceUse
from numalet.insight.maps.node_map import MapPod, Unheld
from numalet.insight.maps.resource_maps import CpuUse
from numalet.wording import numbers

ORDER: Final = (Level.BAD, Level.WARNING, Level.GOOD)


class StripTile(Value, kw_only=True):
    """A figure of the strip and the page that explains it.

    ``parts`` are reserved, used and free amounts; empty without a bar. ``level`` colours a figure.
    A link that begins with ``#`` leads to a part of the page itself.
    """

    name: str
    figure: str
    words: str
    href: str
    level: Level | None = None
    parts: tuple[int, ...] = ()


def rejected_rows(view: NodeView) -> Iterator[int]:
    """Yield the indices of rows of rejected pods, the last one first."""
    for at in range(len(view.rows) - 1, -1, -1):
        if view.rows[at].is_rejected:
            yield at


def troubled_rows(view: NodeView) -> list[PodRow]:
    """Return the pods that crash, have failed or wait, in this order; without rejected ones."""
    rows = [row for row in view.rows if row.level is not Level.GOOD and not row.is_rejected]
    return sorted(rows, key=lambda row: ORDER.index(row.level))


def largest_holders(view: NodeView, most: int) -> list[tuple[MapPod, Holder, str]]:
    """Return the pods that hold most, with all that they hold, in the order of their letters."""
    largest = sorted(
        view.chart.pods,
        key=lambda pod: (-len(pod.cpus), -sum(pod.memory_bytes.values()), pod.title),
    )[:most]
    uids = {pod.uid for pod in largest}
    return [
        (holder.pods[0], holder, finding.holdings(view.chart, holder.pods))
        for uid, holder in holders.by_uid(view.chart).items()
        if uid in uids
    ]


def health(
    view: NodeView, notes: Sequence[Note], troubled: Sequence[PodRow], rejected: int
) -> Note:
    needs = numbers.counted(len(notes), "note") + " below"
    worst = min((note.level for note in notes), key=ORDER.index, default=Level.GOOD)
    if view.kind is SourceKind.OBSERVING:
        # Readiness: the kubelet decides it and reports it to the API server, where we do not read
        # it.
        if worst is Level.GOOD:
            return Note(worst, "", "Nothing that can be observed needs attention.")
        return Note(worst, "", f"Some observations need attention; {needs}.")
    if not view.is_ready:
        return Note(Level.BAD, "", f"The node is not ready to admit pods; {needs}.")
    bad = sum(row.level is Level.BAD for row in troubled)
    counts = (
        (bad, "crashed or failed"), (len(troubled) - bad, "waiting"), (rejected, "rejected")
    )  # fmt: skip
    listed = [f"{numbers.counted(count, 'pod')} {words}" for count, words in counts if count]
    listed += [needs] if notes else []
    if not listed:
        return Note(worst, "", "The node is ready, and nothing needs attention.")
    level = Level.WARNING if worst is Level.GOOD and (bad or rejected) else worst
    return Note(level, "", f"The node is ready; {', '.join(listed)}.")


def strip(view: NodeView, level: Level, notes: int, troubled: Sequence[PodRow]) -> list[StripTile]:
    """Return health, the room by resource, rejected pods and crashing ones; ``notes`` are counted.

    Where nothing is allocated per NUMA node, the room is the requests of all pods.
    """
    rejected = sum(row.is_rejected for row in view.rows)
    bad = sum(row.level is Level.BAD for row in troubled)
    waiting = len(troubled) - bad
    wrong = notes + len(troubled) + rejected + (not view.is_ready)
    is_known = view.kind is not SourceKind.OBSERVING
    return [
        StripTile(
            name="Health", figure=str(wrong), level=level, href="#healthy",
            words="needs attention" if wrong == 1 else "need attention",
        ),
        *_room(view),
        StripTile(
            name="Rejected", figure=str(rejected) if is_known else "not known",
            words=f"pod{'' if rejected == 1 else 's'}" if is_known else "beside a kubelet",
            href="/pods?status=Rejected" if rejected else "#rejected",
            level=Level.BAD if rejected else None,
        ),
        StripTile(
            name="Crashing", figure=str(bad), href="/pods?sort=trouble",
            words=f"crashed or failed, {waiting} waiting" if waiting else "crashed or failed",
            level=Level.BAD if bad else None,
        ),
    ]  # fmt: skip


def _room(view: NodeView) -> Iterator[StripTile]:
    chart = view.chart
    uses = [cell.use for block in chart.nodes for cell in block.cpus]
    counted = {CpuUse.RESERVED: 0, CpuUse.EXCLUSIVE: 0, CpuUse.SHARED: 0}
    for use in uses:
        counted[use] += 1
    if chart.cpus is not Unheld.SHARED:
        yield _tile("CPUs", resources.CPU, 1000, tuple(counted.values()), chart.cpus.value)
    bars = [bar for block in chart.nodes for bar in block.memory]
    if chart.memory is not Unheld.SHARED:
        for name in dict.fromkeys(bar.resource for bar in bars):
            some = [bar for bar in bars if bar.resource == name]
            kept = sum(bar.kept_back_bytes for bar in some)
            free = sum(bar.free_bytes for bar in some)
            used = sum(bar.allocatable_bytes for bar in some) - free
            yield _tile(name, name, 1, (kept, used, free), chart.memory.value)
    for each in () if view.node.snapshot.assumed else room.request_sums(view.node):
        is_cpu = each.resource == resources.CPU
        if (chart.cpus if is_cpu else chart.memory) is Unheld.SHARED:
            name = "CPUs" if is_cpu else each.resource
            parts = (0, each.requested, each.left)
            yield _tile(name, each.resource, 1, parts, "not requested")
    for name in dict.fromkeys(each.resource for each in chart.devices):
        states = [each.state for each in chart.devices if each.resource == name]
        order = (DeviceUse.UNHEALTHY, DeviceUse.IN_USE, DeviceUse.FREE)
        yield _tile(name, name, 1, tuple(map(states.count, order)), "free")


def _tile(name: str, resource: str, scale: int, parts: tuple[int, ...], word: str) -> StripTile:
    """Return a tile of amounts, which ``scale`` turns into those of ``resource``."""
    _, used, free = (scale * part for part in parts)
    is_size = resources.is_memory_type(resource)
    figures = [
        numbers.rounded_size(each) if is_size else numbers.amount(resource, each)
        for each in (free, used + free)
    ]
    title = name[0].upper() + name[1:] if resource == resources.MEMORY else name
    return StripTile(
        name=title, figure=figures[0], words=f"of {figures[1]} {word}", href="/node", parts=parts
    )


SAMPLES: Final = tuple(
    StripTile(name=name, figure=figure, words=words, href="#main", level=level, parts=parts)
    for name, figure, words, level, parts in (
        ("Health", "0", "need attention", Level.GOOD, ()),
        ("Health", "1", "needs attention", Level.WARNING, ()),
        ("Crashing", "11", "crashed or failed, 2 waiting", Level.BAD, ()),
        ("Rejected", "not known", "beside a kubelet", None, ()),
        ("CPUs", "13", "of 31 free", None, (1, 18, 13)),
        ("CPUs", "9.5", "of 16 not requested", None, (0, 6500, 9500)),
        ("example.com/gpu", "0", "of 4 free", None, (0, 4, 0)),
    )
)
"""Tiles in every state, for the page of the design."""
