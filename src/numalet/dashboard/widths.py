"""The width of the drawing of a node: a script asks for the narrow one on a narrow screen.

The reader can choose the other one. The choice is part of the address.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlencode

from numalet.core.model.value import Value
from numalet.drawing import node_drawing
from numalet.insight.maps.node_map import NodeMap
from numalet.pages import templating

_NARROW: Final = "narrow"
_PX: Final = {_NARROW: 364, "wide": 960}
"""A telephone has 400 px, with margins."""


class DrawnWidth(Value):
    """``chosen`` is empty without a choice; ``other`` is the address of the other width."""

    chosen: str = ""
    other: str = ""

    @property
    def is_narrow(self) -> bool:
        return self.chosen == _NARROW

    @property
    def px(self) -> int:
        return _PX[self.chosen or "wide"]


def drawn(chart: NodeMap, query: Mapping[str, str]) -> dict[str, Any]:
    """Return the drawing in the width of this query, and the width."""
    width = of_address(query)
    drawing = node_drawing.draw(chart, width_px=width.px)
    return {"width": width, "drawing": templating.trusted(drawing)}


def of_address(query: Mapping[str, str]) -> DrawnWidth:
    """Return the choice of this query; other values than ``narrow`` and ``wide`` are none."""
    chosen = query.get("width", "")
    other = "wide" if chosen == _NARROW else _NARROW
    address = "?" + urlencode({**query, "width": other}, safe=",")
    return DrawnWidth(chosen if chosen in _PX else "", address)
