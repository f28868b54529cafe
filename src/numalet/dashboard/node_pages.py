"""The start page, and the drawing of the node."""

from __future__ import annotations

from functools import lru_cache, partial

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from numalet.core.node.node import Node
from numalet.dashboard import room
from numalet.dashboard.answers import ShownSources
from numalet.dashboard.room import LargestPod, RoomRow
from numalet.dashboard.sources import Level, NodeView, Note, SourceKind
from numalet.dashboard.why import Explanations
from numalet.drawing import node_drawing
from numalet.pages import templating
from numalet.wording import numbers

_MOST_HOLDERS = 8
_MOST_ROOMS = 8
_MOST_REFUSED = 5
_NARROW_PX = 364
"""The width on a telephone of 400 px, without margins."""
_NARROW = "narrow"
_ORDER = (Level.BAD, Level.WARNING, Level.GOOD)


def routes(shown: ShownSources) -> list[Route]:
    source = shown.node
    if source is None:
        return []

    explanations = Explanations()

    async def overview(_request: Request) -> Response:
        view = source.view()
        rows = room.rooms(view.chart)
        gives_out_cpus = view.chart.gives_out_cpus
        best = room.roomiest(rows)
        refused = list(room.refusals(view))
        shown_refused = [view.rows[at] for at in refused[:_MOST_REFUSED]]
        notes = [note for note in view.notes if note.level is not Level.GOOD]
        return shown.page(
            "overview.html",
            title=view.title,
            page="/",
            health=_health(view, notes),
            notes=sorted(notes, key=lambda note: _ORDER.index(note.level)),
            rooms=room.tables(rows, _MOST_ROOMS),
            has_huge_pages=any(bar.resource != "memory" for row in rows for bar in row.memory),
            gives_out_cpus=gives_out_cpus,
            best=best,
            largest=_largest(view, best) if best is not None and gives_out_cpus else None,
            holders=room.largest_holders(view, _MOST_HOLDERS),
            holder_count=len(view.chart.pods),
            refused=shown_refused,
            causes=await explanations.causes(view, shown_refused),
            refused_count=len(refused),
        )

    async def node(request: Request) -> Response:
        view = source.view()
        opened = _opened(request.query_params.get("open", ""))
        is_narrow = request.query_params.get("width") == _NARROW
        link = partial(_opening, is_narrow=is_narrow)
        drawing = (
            node_drawing.draw(view.chart, width_px=_NARROW_PX, opened=opened, link=link)
            if is_narrow
            else node_drawing.draw(view.chart, opened=opened, link=link)
        )
        return shown.page(
            "node.html",
            title=view.title,
            page="/node",
            drawing=templating.trusted(drawing),
            is_narrow=is_narrow,
            other_width=_address(opened, is_narrow=not is_narrow),
            pods=view.chart.pods,
        )

    return [Route("/", overview), Route("/node", node)]


def _opened(text: str) -> frozenset[int]:
    """Parse a query such as ``3,5``; other texts open no NUMA node."""
    parts = text[:1000].split(",")
    return frozenset(int(part) for part in parts if part.isascii() and part.isdigit())


def _opening(opened: frozenset[int], *, is_narrow: bool) -> str:
    return _address(opened, is_narrow=is_narrow)


def _address(opened: frozenset[int], *, is_narrow: bool) -> str:
    width = f"&width={_NARROW}" if is_narrow else ""
    return f"?open={','.join(map(str, sorted(opened)))}{width}"


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
    return room.largest_pod(asked.node, asked.row)
