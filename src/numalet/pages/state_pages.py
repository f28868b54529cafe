"""Pages of state files: their node, and two sets compared."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from numalet.core.model import resources
from numalet.drawing import node_drawing
from numalet.insight.maps.node_map import NodeMap
from numalet.insight.state.state_diff import StateDifference
from numalet.pages import pod_lines, templating
from numalet.pages.values import PageOrigin, TextTable
from numalet.wording import numbers

_HALF_PX: Final = 640


def shown(
    chart: NodeMap, origin: PageOrigin, notes: Iterable[str], contradictions: Iterable[str] = ()
) -> Any:
    """Return the body of the page of one set of state files, as markup.

    ``notes`` are about unreadable files, ``contradictions`` about differences from the machine.
    """
    return templating.part(
        "bodies/state.html",
        origin=origin,
        drawing=templating.trusted(node_drawing.draw(chart)),
        lines=pod_lines.of_chart(chart),
        notes=[*notes],
        contradictions=[*contradictions],
    )


def compared(
    before: NodeMap,
    after: NodeMap,
    differences: Sequence[StateDifference],
    origin: PageOrigin,
    notes: Iterable[str],
    contradictions: Iterable[str] = (),
) -> Any:
    both = [
        (chart.title, templating.trusted(node_drawing.draw(chart, width_px=_HALF_PX, prefix=mark)))
        for mark, chart in (("before-", before), ("after-", after))
    ]
    return templating.part(
        "bodies/states.html",
        origin=origin,
        both=both,
        differences=TextTable(
            "What differs",
            ("File", "Of what", "What", "Before", "After"),
            tuple(
                (
                    each.file,
                    each.subject,
                    each.what,
                    _text(each.before, each.what),
                    _text(each.after, each.what),
                )
                for each in differences
            ),
        ),
        notes=[*notes],
        contradictions=[*contradictions],
    )


def _text(value: int | str | None, what: str) -> str:
    if value is None:
        return "-"
    is_size = isinstance(value, int) and resources.is_memory_type(what.partition(" ")[0])
    return numbers.size(int(value)) if is_size else str(value)
