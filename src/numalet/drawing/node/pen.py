"""Shared state of the parts of a node drawing: value, colours, ids, lines of text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final
from xml.etree.ElementTree import Element

from numalet.core.model.value import Value
from numalet.drawing import letters, svg, text, tokens
from numalet.drawing.hues import Hues
from numalet.drawing.node.style import pattern
from numalet.insight.maps.node_map import MapPod, NodeMap

SMALL_PX: Final = tokens.TEXT_PX["small"]
LINE_PX: Final = 16
PAD_PX: Final = 8
BAR_PX: Final = 16

Link = Callable[[frozenset[int]], str]
"""Returns the address of the page with exactly these NUMA nodes opened."""


class Pen(Value, kw_only=True):
    """Draws the parts of a drawing. ``cells``: CPUs are few enough for cells."""

    chart: NodeMap
    colours: Hues
    pods: Mapping[str, MapPod]
    prefix: str
    opened: frozenset[int]
    link: Link | None
    cells: bool

    def pod_title(self, uid: str) -> str:
        pod = self.pods.get(uid)
        return uid if pod is None else pod.title

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
        shown = text.shortened(words, box.width, size, is_bold=bold)
        if not shown:
            return None
        baseline = box.top + (box.height + tokens.TEXT_PX[size] * 0.72) / 2
        more = {"data_pod": uid} if uid else {}
        mark = svg.add(parent, "text", shown, css_class=css_class, x=box.left, y=baseline, **more)
        if full or shown != words:
            svg.named(mark, full or words)
            mark.text, mark[0].tail = None, mark.text
        return mark

    def paragraph(self, parent: Element, words: str, box: Box, most: int = 3) -> float:
        """Draw text in at most ``most`` lines, the first in the box; return the lower end."""
        lines = text.lines(words, box.width, most, "small")
        whole = "" if " ".join(lines) == words else words
        for at, shown in enumerate(lines):
            below = Box(box.left, box.top + at * box.height, box.width, box.height)
            self.line(parent, shown, below, "figure", full=whole)
        return box.top + len(lines) * box.height

    def letter_in(self, parent: Element, css_class: str, box: Box) -> None:
        """Draw the letter of a colour in the middle of a mark, if it is large enough."""
        letters.mark(parent, css_class, box.left, box.top, box.width, box.height)


class Box(Value):
    """A place in a drawing, in px."""

    left: float
    top: float
    width: float
    height: float = LINE_PX
