"""The start page: free resources, the largest allocations, and the drawing. Sizes are in bytes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, partial
from typing import Any, Final
from urllib.parse import urlencode

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from numalet.core.model import value
from numalet.core.node.node import Node
from numalet.dashboard.answers import ShownSources
from numalet.dashboard.sources import Level, NodeView, Note, PodRow, SourceKind
from numalet.dashboard.why import Explanations
from numalet.drawing import node_drawing
from numalet.insight.explain import largest_pod
from numalet.insight.explain.largest_pod import LargestPod
from numalet.insight.maps import finding, room
from numalet.insight.maps.node_map import ColoursBy, MapPod, NodeMap
from numalet.pages import templating
from numalet.wording import numbers


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


def troubled_rows(view: NodeView) -> list[PodRow]:
    """Return the pods that crash, have failed or wait, in this order; without rejected ones."""
    rows = [row for row in view.rows if row.level is not Level.GOOD and not row.is_rejected]
    return sorted(rows, key=lambda row: _ORDER.index(row.level))


_MOST_HOLDERS = 8
_MOST_ROOMS = 8
_MOST_REFUSED = 5
_NARROW_PX = 364
"""The width on a telephone of 400 px, without margins."""
_WIDE_PX = 960
_NARROW = "narrow"
_WIDE = "wide"
"""Chosen by the reader: a script chooses the narrow one for a narrow screen."""
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
        rows = room.rooms(view.chart)
        refused = list(refusals(view))
        shown_refused = [view.rows[at] for at in refused[:_MOST_REFUSED]]
        notes = [note for note in view.notes if note.level is not Level.GOOD]
        troubled = troubled_rows(view)
        return shown.page(
            "overview.html",
            title=view.title,
            page="/",
            health=_health(view, notes, troubled, len(refused)),
            notes=sorted(notes, key=lambda note: _ORDER.index(note.level)),
            rooms=room.tables(rows, _MOST_ROOMS),
            has_huge_pages=any(bar.resource != "memory" for row in rows for bar in row.memory),
            has_devices=any(row.devices for row in rows),
            unheld_cpus=view.chart.cpus,
            unheld_memory=view.chart.memory,
            requests=room.requests_sentence(view.node),
            most=room.roomiest(rows),
            largest=_largest_pod(_Asked(view.node)),
            holders=largest_holders(view, _MOST_HOLDERS),
            holder_count=len(view.chart.pods),
            troubled=troubled[:_MOST_REFUSED],
            troubled_count=len(troubled),
            refused=shown_refused,
            causes=await explanations.causes(view, shown_refused),
            refused_count=len(refused),
        )

    async def node(request: Request) -> Response:
        view = source.view()
        chosen = _drawn(view.chart, request.query_params)
        pods, pool = view.chart.pods, view.chart.pool
        return shown.page(
            "node.html", title=view.title, page="/node", pods=pods, pool=pool, **chosen
        )

    return [Route("/", overview), Route("/node", node)]


def _drawn(chart: NodeMap, query: QueryParams) -> dict[str, Any]:
    """Return the drawing as the address wants it, and what its form and links need."""
    opened = _opened(query.get("open", ""))
    words = query.get("find", "")[:_LONGEST_WORDS]
    colours_by = next((each for each in ColoursBy if each.value == query.get("colours")), _POD)
    width = next((each for each in (_NARROW, _WIDE) if each == query.get("width")), "")
    is_narrow = width == _NARROW
    found = finding.find(chart, words)
    link = partial(_address, words=words, colours_by=colours_by, width=width)
    drawing = node_drawing.draw(
        value.replace(chart, colours_by=colours_by),
        width_px=_NARROW_PX if is_narrow else _WIDE_PX,
        opened=opened,
        link=link,
        found=found,
    )
    return {
        "drawing": templating.trusted(drawing),
        "is_narrow": is_narrow,
        "width": width,
        "other_width": link(opened, width=_WIDE if is_narrow else _NARROW),
        "found": found.sentence,
        "words": words,
        "colours_by": colours_by.value,
        "opened": ",".join(map(str, sorted(opened))),
    }


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


def _health(view: NodeView, notes: list[Note], troubled: list[PodRow], refused: int) -> Note:
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
    bad = sum(row.level is Level.BAD for row in troubled)
    counts = (
        (bad, "crashed or failed"), (len(troubled) - bad, "waiting"), (refused, "refused")
    )  # fmt: skip
    listed = [f"{numbers.counted(count, 'pod')} {words}" for count, words in counts if count]
    listed += [needs] if notes else []
    if not listed:
        return Note(worst, "", "The node is ready, and nothing needs attention.")
    level = Level.WARNING if worst is Level.GOOD and (bad or refused) else worst
    return Note(level, "", f"The node is ready; {', '.join(listed)}.")


class _Asked:
    """A cache key that is equal while the node's snapshot is the same object."""

    def __init__(self, node: Node) -> None:
        self.node = node

    def __hash__(self) -> int:
        # By identity: hashing a snapshot would cost more than the answer.
        return id(self.node.snapshot)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Asked) and self.node.snapshot is other.node.snapshot


@lru_cache(maxsize=8)
def _largest_pod(asked: _Asked) -> LargestPod | None:
    return largest_pod.largest_pod(asked.node)
