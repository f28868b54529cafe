"""The start page and the page with the drawing of the node."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any, Final
from urllib.parse import urlencode

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from numalet.core.model import value
from numalet.core.node.node import Node
from numalet.dashboard import overview, widths
from numalet.dashboard.answers import ShownSources
from numalet.dashboard.sources import Level
from numalet.dashboard.why import Explanations
from numalet.dashboard.widths import DrawnWidth
from numalet.drawing import node_drawing, room_drawing
from numalet.insight.explain import largest_pod
from numalet.insight.explain.largest_pod import LargestPod
from numalet.insight.maps import finding, room
from numalet.insight.maps.node_map import ColoursBy, NodeMap, Unheld
from numalet.pages import templating

_MOST_HOLDERS = 40
_MOST_ROOMS = 8
_MOST_LISTED = 5
_ROWS_PX = 1248
_LONGEST_WORDS: Final = 300
_POD: Final = ColoursBy.POD


def routes(shown: ShownSources) -> list[Route]:
    source = shown.node
    if source is None:
        return []

    explanations = Explanations()

    async def first(request: Request) -> Response:
        view = source.view()
        rejected = [*overview.rejected_rows(view)]
        shown_rejected = [view.rows[at] for at in rejected[:_MOST_LISTED]]
        notes = [note for note in view.notes if note.level is not Level.GOOD]
        troubled = overview.troubled_rows(view)
        health = overview.health(view, notes, troubled, len(rejected))
        most = room.roomiest(room.rooms(view.chart))
        width = widths.of_address(request.query_params)
        return shown.page(
            "overview.html",
            title=view.title,
            page="/",
            health=health,
            strip=overview.strip(view, health.level, len(notes), troubled),
            notes=sorted(notes, key=lambda note: overview.ORDER.index(note.level)),
            requests=room.requests_sentence(view.node),
            overlap=view.chart.pool.overlap if view.chart.cpus is Unheld.FREE else "",
            unheld_memory=view.chart.memory,
            most=most,
            largest=_largest_pod(_Asked(view.node)),
            holders=overview.largest_holders(view, _MOST_HOLDERS),
            holder_count=len(view.chart.pods),
            troubled=troubled[:_MOST_LISTED],
            troubled_count=len(troubled),
            rejected=shown_rejected,
            causes=await explanations.causes(view, shown_rejected),
            rejected_count=len(rejected),
            width=width,
            **_rooms(view.chart, None if most is None else most.row.node_id, width, shown.path),
        )

    async def node(request: Request) -> Response:
        view = source.view()
        chosen = _drawn(view.chart, request.query_params)
        pods, pool = view.chart.pods, view.chart.pool
        return shown.page(
            "node.html", title=view.title, page="/node", pods=pods, pool=pool, **chosen
        )

    return [Route("/", first), Route("/node", node)]


def _rooms(chart: NodeMap, best: int | None, width: DrawnWidth, path: str) -> dict[str, Any]:
    """Return the rows of the NUMA nodes: those with most room, the others, and empty ones."""
    tables = room.tables(room.rooms(chart), _MOST_ROOMS)
    drawn = {
        name: room_drawing.draw(
            chart,
            rows,
            link=lambda opened: f"{path}/node?open={','.join(map(str, opened))}",
            width_px=width.px if width.is_narrow else _ROWS_PX,
            prefix=f"{name}-",
            best=best,
        )
        for name, rows in (("room", tables.first), ("others", tables.others))
        if rows
    }
    return {
        "rooms": tables,
        "drawn": {name: templating.trusted(each) for name, each in drawn.items()},
    }


def _drawn(chart: NodeMap, query: QueryParams) -> dict[str, Any]:
    """Return the drawing as the address wants it, and what its form and links need."""
    opened = _opened(query.get("open", ""))
    words = query.get("find", "")[:_LONGEST_WORDS]
    colours_by = next((each for each in ColoursBy if each.value == query.get("colours")), _POD)
    width = widths.of_address(query)
    found = finding.find(chart, words)
    link = partial(_address, words=words, colours_by=colours_by, width=width.chosen)
    drawing = node_drawing.draw(
        value.replace(chart, colours_by=colours_by),
        width_px=width.px,
        opened=opened,
        link=link,
        found=found,
    )
    return {
        "drawing": templating.trusted(drawing),
        "width": width,
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
