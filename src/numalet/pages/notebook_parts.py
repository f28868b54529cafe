"""Notebook output from parts of pages, with a style sheet limited to it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from numalet.core.admission.decision import Decision
from numalet.drawing import fleet_drawing, node_drawing, tokens
from numalet.insight.fleet.heat import FleetMap
from numalet.insight.maps.node_map import NodeMap
from numalet.pages import bodies, templating, what_if_page
from numalet.pages.templating import TextTable

_MOST_ROWS: Final = 20
_FRAME: Final = "numalet-shown"
_STYLE: Final = (
    f".{_FRAME}{{overflow-x:auto}}"
    f".{_FRAME} table{{border-collapse:collapse;font:13px/20px {tokens.FONT};margin:8px 0}}"
    f".{_FRAME} caption{{text-align:left;font-weight:600;white-space:pre-line}}"
    f".{_FRAME} th,.{_FRAME} td{{text-align:left;vertical-align:top;padding:4px 16px 4px 4px}}"
    f".{_FRAME} .why{{display:block;max-width:72ch}}"
)


def framed(markup: str) -> str:
    return f'<style>{_STYLE}</style><div class="{_FRAME}">{markup}</div>'


def drawn(chart: NodeMap) -> str:
    # Ids of several drawings in one notebook must differ, so they begin with a digest of the
    # content.
    digest = hashlib.sha256(node_drawing.draw(chart).encode()).hexdigest()
    return node_drawing.draw(chart, prefix=f"drawn-{digest[:12]}-")


def fleet(nodes: FleetMap) -> str:
    text = fleet_drawing.draw(nodes)
    digest = hashlib.sha256(text.encode()).hexdigest()
    return text.replace("numalet-unknown", f"unknown-{digest[:12]}")


def pods(chart: NodeMap) -> str:
    """Return the pods of a node as a table; empty without pods."""
    return _pods_table(bodies.pod_lines_of(chart), "Pods") if chart.pods else ""


def decision(decided: Decision) -> str:
    """Return one decision: the allocation, or why the pod was rejected."""
    return _pods_table((bodies.decision_line(decided),), "Decision")


def figures(matrix: Sequence[dict[str, Any]]) -> str:
    return _text_table(what_if_page.figures_table(matrix))


def rows(title: str, given: Sequence[Mapping[str, Any]]) -> str:
    if not given:
        return _text_table(TextTable(title, ("",), (("none",),)))
    columns = tuple(name.replace("_", " ") for name in given[0])
    cells = tuple(
        tuple("" if value is None else str(value) for value in row.values())
        for row in given[:_MOST_ROWS]
    )
    if len(given) > _MOST_ROWS:
        title = f"{title}\nThe first {_MOST_ROWS} of {len(given)} rows; to_rows() has all."
    return _text_table(TextTable(title, columns, cells))


def _pods_table(lines: Sequence[bodies.PodLine], title: str) -> str:
    return templating.page("bodies/pods.html", lines=lines, title=title)


def _text_table(table: TextTable) -> str:
    return templating.page("bodies/table.html", table=table)
