"""The start page: free resources, the largest allocations, and the drawing. Sizes are in bytes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache, partial
from typing import Final
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from numalet.core.model import cpu_set, numa_mask, resources, value
from numalet.core.model.pod import Container, Pod, QosClass
from numalet.core.model.quantity import Quantity
from numalet.core.model.value import Value
from numalet.core.node import largest_request
from numalet.core.node.node import Node
from numalet.dashboard.answers import ShownSources
from numalet.dashboard.sources import Level, NodeView, Note, SourceKind
from numalet.dashboard.why import Explanations
from numalet.drawing import node_drawing
from numalet.insight.explain import measures
from numalet.insight.maps import finding
from numalet.insight.maps.node_map import (
    ColoursBy,
    DeviceUse,
    MapPod,
    MemoryBar,
    NodeMap,
    NumaBlock,
)
from numalet.insight.maps.resource_maps import CpuUse
from numalet.pages import templating
from numalet.wording import numbers

_PROBE: Final = "numalet-largest-pod"


class RoomRow(Value, kw_only=True):
    """The free resources of one NUMA node.

    ``devices`` are free and total numbers by resource. ``together_with`` are the other nodes of its
    memory group: no pod gets memory from it alone.
    """

    node_id: int
    node_class: str
    free_cpus: int
    cpus: int
    memory: tuple[MemoryBar, ...]
    devices: Mapping[str, tuple[int, int]]
    together_with: tuple[int, ...] = ()

    @property
    def free_bytes(self) -> int:
        return sum(bar.free_bytes for bar in self.memory if bar.resource == resources.MEMORY)

    @property
    def is_empty(self) -> bool:
        return not (self.cpus or self.devices or any(bar.total_bytes for bar in self.memory))


class LargestPod(Value):
    """The most CPUs for one container on a NUMA node that also takes all its free memory."""

    node_id: int
    cpus: int
    memory_bytes: int


class RoomTables(Value):
    """The rows: visible ones, the others, and NUMA nodes without resources."""

    first: tuple[RoomRow, ...]
    others: tuple[RoomRow, ...]
    empty: tuple[int, ...]

    @property
    def empty_ids(self) -> str:
        return cpu_set.text(self.empty).replace(",", ", ")


def tables(rows: list[RoomRow], most: int) -> RoomTables:
    """Return rows by ascending id; of more than ``most``, those with most room are visible."""
    kept = [row for row in rows if not row.is_empty]
    best = sorted(kept, key=_by_room, reverse=True)[:most]
    return RoomTables(
        first=tuple(row for row in kept if row in best),
        others=tuple(row for row in kept if row not in best),
        empty=tuple(row.node_id for row in rows if row.is_empty),
    )


def rooms(chart: NodeMap) -> list[RoomRow]:
    return [_row(chart, block) for block in chart.nodes]


def _row(chart: NodeMap, block: NumaBlock) -> RoomRow:
    devices: dict[str, tuple[int, int]] = {}
    for device in chart.devices:
        if block.node_id in device.nodes:
            free, count = devices.get(device.resource, (0, 0))
            devices[device.resource] = (free + (device.state is DeviceUse.FREE), count + 1)
    return RoomRow(
        node_id=block.node_id,
        node_class=block.node_class.value,
        free_cpus=sum(cell.use is CpuUse.SHARED for cell in block.cpus),
        cpus=len(block.cpus),
        memory=block.memory,
        devices=devices,
        together_with=tuple(
            each
            for group in chart.groups
            if block.node_id in group.nodes
            for each in group.nodes
            if each != block.node_id
        ),
    )


def roomiest(rows: list[RoomRow]) -> RoomRow | None:
    """Return the NUMA node with most room: outside groups, then by free CPUs, then by memory."""
    return max(rows, key=_by_room, default=None)


def _by_room(row: RoomRow) -> tuple[bool, int, int, int]:
    return not row.together_with, row.free_cpus, row.free_bytes, -row.node_id


def largest_pod(node: Node, row: RoomRow) -> LargestPod | None:
    """Return the largest Guaranteed pod of one container that lands on this NUMA node alone."""
    # A plugin may act on a device when it is called, so a search must not call it.
    node = node.without_plugins()
    unit = largest_request.unit_of(node.rules, resources.CPU)
    # Bisection by trial admissions assumes that a smaller pod lands if a larger one does.
    low, high = 0, row.free_cpus // unit + 1
    while high - low > 1:
        middle = (low + high) // 2
        if _lands(node, row, middle * unit):
            low = middle
        else:
            high = middle
    return LargestPod(row.node_id, low * unit, row.free_bytes) if low else None


def _lands(node: Node, row: RoomRow, cpus: int) -> bool:
    wanted = {
        resources.CPU: Quantity.from_int(cpus),
        resources.MEMORY: Quantity.from_bytes(max(row.free_bytes, 1)),
    }
    pod = Pod(
        uid=_PROBE,
        name=_PROBE,
        app_containers=(Container(name="app", requests=wanted, limits=wanted),),
        qos_class=QosClass.GUARANTEED,
    )
    _, decision = node.admit(pod)
    if not decision.admitted:
        return False
    # Admission is not enough: the pod must use this NUMA node and no other one.
    span = measures.span_of(node.roster, decision.after, pod)
    return numa_mask.ids(span) == (row.node_id,)


def largest_holders(view: NodeView, most: int) -> list[MapPod]:
    return sorted(
        view.chart.pods,
        key=lambda pod: (-len(pod.cpus), -sum(pod.memory_bytes.values()), pod.title),
    )[:most]


def refusals(view: NodeView) -> Iterator[int]:
    """Yield the indices of rows of rejected pods, the last one first."""
    for at in range(len(view.rows) - 1, -1, -1):
        if view.rows[at].is_rejected:
            yield at


_MOST_HOLDERS = 8
_MOST_ROOMS = 8
_MOST_REFUSED = 5
_NARROW_PX = 364
"""The width on a telephone of 400 px, without margins."""
_WIDE_PX = 960
_NARROW = "narrow"
_LONGEST_WORDS: Final = 300
_POD: Final = ColoursBy.POD
_ORDER = (Level.BAD, Level.WARNING, Level.GOOD)


def routes(shown: ShownSources) -> list[Route]:
    source = shown.node
    if source is None:
        return []

    explanations = Explanations()

    async def overview(_request: Request) -> Response:
        view = source.view()
        rows = rooms(view.chart)
        gives_out_cpus = view.chart.gives_out_cpus
        best = roomiest(rows)
        refused = list(refusals(view))
        shown_refused = [view.rows[at] for at in refused[:_MOST_REFUSED]]
        notes = [note for note in view.notes if note.level is not Level.GOOD]
        return shown.page(
            "overview.html",
            title=view.title,
            page="/",
            health=_health(view, notes),
            notes=sorted(notes, key=lambda note: _ORDER.index(note.level)),
            rooms=tables(rows, _MOST_ROOMS),
            has_huge_pages=any(bar.resource != "memory" for row in rows for bar in row.memory),
            gives_out_cpus=gives_out_cpus,
            best=best,
            largest=_largest(view, best) if best is not None and gives_out_cpus else None,
            holders=largest_holders(view, _MOST_HOLDERS),
            holder_count=len(view.chart.pods),
            refused=shown_refused,
            causes=await explanations.causes(view, shown_refused),
            refused_count=len(refused),
        )

    async def node(request: Request) -> Response:
        view = source.view()
        query = request.query_params
        opened = _opened(query.get("open", ""))
        words = query.get("find", "")[:_LONGEST_WORDS]
        colours_by = next((each for each in ColoursBy if each.value == query.get("colours")), _POD)
        is_narrow = query.get("width") == _NARROW
        found = finding.find(view.chart, words)
        link = partial(
            _address, words=words, colours_by=colours_by, width=_NARROW if is_narrow else ""
        )
        chart = value.replace(view.chart, colours_by=colours_by)
        width_px = _NARROW_PX if is_narrow else _WIDE_PX
        drawing = node_drawing.draw(chart, width_px=width_px, opened=opened, link=link, found=found)
        return shown.page(
            "node.html",
            title=view.title,
            page="/node",
            drawing=templating.trusted(drawing),
            is_narrow=is_narrow,
            other_width=link(opened, width="" if is_narrow else _NARROW),
            found=found.sentence,
            words=words,
            colours_by=colours_by.value,
            opened=",".join(map(str, sorted(opened))),
            pods=view.chart.pods,
        )

    return [Route("/", overview), Route("/node", node)]


def _opened(text: str) -> frozenset[int]:
    """Parse a query such as ``3,5``; other texts open no NUMA node."""
    parts = text[:1000].split(",")
    return frozenset(int(part) for part in parts if part.isascii() and part.isdigit())


def _address(opened: frozenset[int], *, words: str, colours_by: ColoursBy, width: str) -> str:
    """Return the address of the drawing with these NUMA nodes opened, and all else as it is."""
    chosen = "" if colours_by is _POD else colours_by.value
    more = {"width": width, "find": words, "colours": chosen}
    given = {name: value for name, value in more.items() if value}
    return "?" + urlencode({"open": ",".join(map(str, sorted(opened))), **given}, safe=",")


def _health(view: NodeView, notes: list[Note]) -> Note:
    needs = numbers.counted(len(notes), "note") + " below"
    worst = min((note.level for note in notes), key=_ORDER.index, default=Level.GOOD)
    if view.kind is SourceKind.OBSERVING:
        # Readiness: the kubelet decides it and reports it to the API server, where we do not read
        # it.
        if worst is Level.GOOD:
            return Note(worst, "", "Nothing that can be observed needs attention.")
        return Note(worst, "", f"Some observations need attention; {needs}.")
    if not view.is_ready:
        return Note(Level.BAD, "", f"The node is not ready to admit pods; {needs}.")
    if worst is Level.GOOD:
        return Note(worst, "", "The node is ready, and nothing needs attention.")
    return Note(worst, "", f"The node is ready; {needs}.")


def _largest(view: NodeView, row: RoomRow) -> LargestPod | None:
    return _largest_pod(_Asked(view.node, row))


class _Asked:
    """A cache key that is equal while the node's snapshot is the same object."""

    def __init__(self, node: Node, row: RoomRow) -> None:
        self.node, self.row = node, row

    def __hash__(self) -> int:
        # By identity: hashing a snapshot would cost more than the answer.
        return hash((id(self.node.snapshot), self.row.node_id))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, _Asked)
            and self.node.snapshot is other.node.snapshot
            and self.row.node_id == other.row.node_id
        )


@lru_cache(maxsize=8)
def _largest_pod(asked: _Asked) -> LargestPod | None:
    return largest_pod(asked.node, asked.row)
