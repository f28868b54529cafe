"""Shared state and style of the parts of a node drawing: value, colours, patterns, ids, lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeVar
from xml.etree.ElementTree import Element

from numalet.core.model.value import Value
from numalet.drawing import sheets, svg, tokens
from numalet.drawing.node import holders
from numalet.drawing.node.holders import Holder
from numalet.insight.maps.node_map import MapPod, NodeMap, Unheld

_SMALL: Final = tokens.TEXT_PX["small"]

# Each colour is accompanied by a pattern, a shape, a letter or a word.
STYLE: Final = (
    tokens.custom_properties() + "svg.node{max-width:100%;height:auto;print-color-adjust:exact;"
    "-webkit-print-color-adjust:exact}"
    f"svg.node text{{font:{tokens.TEXT_PX['body']}px/1 {tokens.FONT};fill:var(--ink);"
    "font-variant-numeric:tabular-nums}"
    f"svg.node text.small{{font-size:{_SMALL}px;fill:var(--ink-2)}}"
    f"svg.node text.figure{{font-size:{_SMALL}px}}"
    "svg.node text.heading{font-weight:600}"
    "svg.node a text{fill:var(--accent);text-decoration:underline}"
    "svg.node .block{fill:var(--surface);stroke:var(--line)}"
    "svg.node .section{fill:none;stroke:var(--line)}"
    "svg.node .grouped{stroke:var(--accent);stroke-width:2;stroke-dasharray:6 3}"
    "svg.node .run{fill:none;stroke:var(--ink);stroke-width:1.5;pointer-events:none}"
    "svg.node .seam{fill:none;stroke:var(--paper);stroke-opacity:.5;pointer-events:none}"
    "svg.node .cache{fill:none;stroke:var(--ink-2);stroke-dasharray:2 2}"
    "svg.node .chip{fill:var(--paper);stroke:var(--ink-2)}"
    "svg.node .free{fill:var(--free);stroke:var(--ink-2)}"
    "svg.node .bar{fill:none;stroke:var(--ink-2);pointer-events:none}"
    "svg.node .shared-ground{fill:var(--shared)}svg.node .shared-line{fill:var(--ink-2)}"
    "svg.node .kept-ground{fill:var(--kept)}svg.node .kept-line{stroke:var(--paper);fill:none}"
    "svg.node .joint-ground{fill:var(--holder)}"
    "svg.node .joint-line{stroke:var(--paper);stroke-width:2;fill:none}"
    "svg.node .holder{fill:var(--holder)}"
    + sheets.letter_style("svg.node")
    + "svg.node text.on-holder{fill:var(--on-holder)}"
    "svg.node .ok{fill:none;stroke:var(--good);stroke-width:1.5}"
    "svg.node .busy{fill:var(--ink)}"
    "svg.node .broken{fill:none;stroke:var(--bad);stroke-width:2}"
    "svg.node text.bad{fill:var(--bad)}"
    "svg.node .cell{fill:none;stroke:var(--line)}"
    "svg.node .found-ground{fill:none;stroke:var(--paper);stroke-width:6;pointer-events:none}"
    "svg.node .found{fill:none;stroke:var(--accent);stroke-width:4;pointer-events:none}"
    "svg.node .trap{fill:var(--paper);stroke:var(--bad);stroke-width:2;stroke-dasharray:4 2}"
    "svg.node .mini{fill:var(--paper);stroke:var(--line)}"
    "svg.node .own{fill:var(--shared);stroke:var(--line)}"
    ".some-lit svg.node [data-pod]:not(.lit){opacity:.3}"
    "svg.node .lit{stroke:var(--accent);stroke-width:2}"
    "svg.node .lit text,svg.node text.lit{stroke:none}"
    "@media (prefers-reduced-motion:no-preference){svg.node rect{transition:"
    + ",".join(
        f"{what} {tokens.MOVE_MS}ms" for what in ("x", "y", "width", "height", "fill", "opacity")
    )
    + "}}"
)


def add_patterns(picture: Element, prefix: str) -> None:
    """Add the fills of classes without a colour; ``fill`` names them."""
    definitions = svg.add(picture, "defs")
    kept = _stripes(definitions, f"{prefix}kept", "kept", 4)
    svg.add(kept, "path", css_class="kept-line", d="M-1 1l2-2M0 4l4-4M3 5l2-2")
    joint = _stripes(definitions, f"{prefix}joint", "joint", 8)
    svg.add(joint, "path", css_class="joint-line", d="M-2 -2l12 12M-2 6l4 4M6 -2l4 4")
    shared = svg.add(
        definitions, "pattern", id=f"{prefix}shared", width=1, height=1,
        patternContentUnits="objectBoundingBox",
    )  # fmt: skip
    svg.add(shared, "rect", css_class="shared-ground", width=1, height=1)
    svg.add(shared, "rect", css_class="shared-line", x=0.25, y=0.42, width=0.5, height=0.16)


def pattern(prefix: str, name: str) -> str:
    """Return ``fill`` for ``kept``, ``joint`` or ``shared``; empty for classes with a colour."""
    return f"url(#{prefix}{name})" if name in {"kept", "joint", "shared"} else ""


def _stripes(definitions: Element, name: str, css_class: str, size_px: int) -> Element:
    stripes = svg.add(
        definitions, "pattern", id=name, width=size_px, height=size_px,
        patternUnits="userSpaceOnUse",
    )  # fmt: skip
    svg.add(stripes, "rect", css_class=f"{css_class}-ground", width=size_px, height=size_px)
    return stripes


SMALL_PX: Final = tokens.TEXT_PX["small"]
LINE_PX: Final = 16
PAD_PX: Final = 8
BAR_PX: Final = 16

P = TypeVar("P")
Link = Callable[[frozenset[int]], str]
"""Returns the address of the page with exactly these NUMA nodes opened."""


def unheld_class(unheld: Unheld) -> str:
    """Return the CSS class: white if it is free or there is no kubelet, else a dash."""
    return "shared" if unheld in (Unheld.SHARED, Unheld.NOT_HELD) else "free"


class Pen(Value, kw_only=True):
    """Draws the parts of a drawing. ``cells``: CPUs are few enough for cells."""

    chart: NodeMap
    holders: Mapping[str, Holder]
    pods: Mapping[str, MapPod]
    prefix: str
    opened: frozenset[int]
    link: Link | None
    cells: bool

    def pod_title(self, uid: str) -> str:
        pod = self.pods.get(uid)
        return uid if pod is None else pod.title

    @property
    def refused_devices(self) -> frozenset[str]:
        """The device resources that a rejected pod asks for."""
        return frozenset[str]().union(*(each.devices for each in self.chart.refused))

    def holder(self, uid: str) -> Holder:
        return self.holders.get(uid, holders.UNKNOWN)

    def by_letter(self, parts: Iterable[P], uid_of: Callable[[P], str]) -> list[P]:
        """Return the parts of a bar in the order of their pods' letters; those without, last."""
        ranks = {uid: at for at, uid in enumerate(self.holders)}
        return sorted(parts, key=lambda part: ranks.get(uid_of(part), len(ranks)))

    def rect(
        self, parent: Element, box: Box, css_class: str, words: str, *,
        uid: str = "", mark_id: str = "", **more: str,
    ) -> Element:  # fmt: skip
        """Draw a rectangle with its text alternative, in its colour or pattern."""
        attributes = dict(more)
        if mark_id:
            attributes["id"] = f"{self.prefix}{mark_id}"
        if uid:
            attributes["data_pod"] = uid
        if fill := pattern(self.prefix, css_class):
            attributes["fill"] = fill
        mark = svg.add(
            parent, "rect", css_class=css_class, x=box.left, y=box.top, width=box.width,
            height=box.height, **attributes,
        )  # fmt: skip
        return svg.named(mark, words)

    def line(
        self, parent: Element, words: str, box: Box, css_class: str = "small", *, uid: str = "",
        full: str = "",
    ) -> Element | None:  # fmt: skip
        """Draw a line of text that fits into a box; if it is cut, its title has the whole."""
        bold = css_class in {"heading", "letter"}
        size = "body" if css_class == "heading" else "small"
        shown = svg.shortened_text(words, box.width, size, is_bold=bold)
        if not shown:
            return None
        baseline = box.top + (box.height + tokens.TEXT_PX[size] * 0.72) / 2
        more = {"data_pod": uid} if uid else {}
        mark = svg.add(parent, "text", shown, css_class=css_class, x=box.left, y=baseline, **more)
        if full or shown != words:
            svg.named(mark, full or words)
            mark.text, mark[0].tail = None, mark.text
        return mark

    def paragraph(
        self, parent: Element, words: str, box: Box, most: int = 3, *, css_class: str = ""
    ) -> float:
        """Draw text in at most ``most`` lines, the first in the box; return the lower end."""
        lines = svg.text_lines(words, box.width, most, "small")
        whole = "" if " ".join(lines) == words else words
        for at, shown in enumerate(lines):
            below = Box(box.left, box.top + at * box.height, box.width, box.height)
            self.line(parent, shown, below, f"figure {css_class}".rstrip(), full=whole)
        return box.top + len(lines) * box.height

    def label_in(self, parent: Element, uid: str, box: Box) -> None:
        """Draw the letter of a holder in a mark, and its name, if the mark has room for them."""
        holder = self.holder(uid)
        for shown in (holder.label, holder.letter) if uid else ():
            wide_px = max(svg.text_width_px(shown, "small", is_bold=True) + 2, sheets.SMALLEST_PX)
            if shown and wide_px <= box.width and box.height >= sheets.SMALLEST_PX:
                svg.add(
                    parent, "text", shown, css_class=f"letter on-{holder.css_class}",
                    x=box.left + box.width / 2, y=box.top + (box.height + SMALL_PX * 0.72) / 2,
                    text_anchor="middle", aria_hidden="true", data_pod=uid,
                )  # fmt: skip
                return


class Box(Value):
    """A place in a drawing, in px."""

    left: float
    top: float
    width: float
    height: float = LINE_PX
