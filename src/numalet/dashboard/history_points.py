"""Points of the history: made from two views, thinned with age, written and read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from numalet.core.model.findings import WarningFinding
from numalet.core.model.value import replace
from numalet.dashboard.sources import HistoryPoint, NodeView
from numalet.insight.maps.node_map import Unheld


class DashboardHistoryStopped(WarningFinding):
    sentence = "the history is not kept: {problem}"
    problem: str
    why = "what happens meanwhile is missing in the charts; the node is served as before"
    fix = "make room, or make the file writable: the next figures are tried within seconds"


class DashboardHistorySetAside(WarningFinding):
    sentence = (
        "could not read the history, so a new one begins: {problem}; the old file is now {path}"
    )
    problem: str
    path: str
    why = "the charts lack the points of the old file"
    fix = "delete the file that was set aside when it is of no more use"


KEPT: Final = timedelta(hours=48)
WHOLE: Final = timedelta(hours=2)
"""Older points are thinned to one for each ``THINNED``."""

THINNED: Final = timedelta(minutes=1)


def point(before: NodeView, after: NodeView, at: datetime) -> HistoryPoint:
    """Return the figures of ``after``, and the decisions since ``before``."""
    # A pod that is tried again has one uid and two outcomes, so both are compared.
    known = {(row.pod.uid, row.is_rejected) for row in before.rows}
    refused: dict[str, int] = {}
    admitted = 0
    for row in after.rows:
        if (row.pod.uid, row.is_rejected) in known:
            continue
        if row.is_rejected:
            refused[row.reason] = refused.get(row.reason, 0) + 1
        else:
            admitted += 1
    # Without a manager there is no amount per NUMA node.
    nodes = after.chart.nodes if after.chart.memory is Unheld.FREE else ()
    bars = {(node.node_id, bar.resource): bar for node in nodes for bar in node.memory}
    return HistoryPoint(
        at=at,
        admitted=admitted,
        refused_by_reason=refused,
        reserved_bytes={key: bar.allocatable_bytes - bar.free_bytes for key, bar in bars.items()},
        free_bytes={key: bar.free_bytes for key, bar in bars.items()},
        misplaced_bytes=sum(
            each.misplaced_bytes or 0 for row in after.rows for each in row.containers
        ),
    )


def differs(first: HistoryPoint, second: HistoryPoint) -> bool:
    """Return whether a pod was decided on between the points, or a figure changed."""
    return bool(second.admitted or second.refused_by_reason) or (
        (first.reserved_bytes, first.free_bytes, first.misplaced_bytes)
        != (second.reserved_bytes, second.free_bytes, second.misplaced_bytes)
    )


def thinned(points: Sequence[HistoryPoint], now: datetime) -> list[HistoryPoint]:
    """Return the points to keep, oldest first; the points of an old minute become one."""
    kept: list[HistoryPoint] = []
    minute = -1
    for each in points:
        if now - each.at > KEPT:
            continue
        of = int(each.at.timestamp() // THINNED.total_seconds())
        if kept and of == minute and now - each.at > WHOLE:
            kept[-1] = _together(kept[-1], each)
        else:
            kept.append(each)
        minute = of
    return kept


def _together(first: HistoryPoint, second: HistoryPoint) -> HistoryPoint:
    """Return the second point with the counts of both."""
    return replace(
        second,
        admitted=first.admitted + second.admitted,
        refused_by_reason=sums((first, second)),
    )


def sums(points: Iterable[HistoryPoint]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for each in points:
        for reason, count in each.refused_by_reason.items():
            counts[reason] = counts.get(reason, 0) + count
    return counts


def written(of: HistoryPoint) -> str:
    figures = {
        "admitted": of.admitted,
        "refused": dict(of.refused_by_reason),
        "reserved": _by_text(of.reserved_bytes),
        "free": _by_text(of.free_bytes),
        "misplaced": of.misplaced_bytes,
    }
    return json.dumps(figures, separators=(",", ":"))


def read(at: datetime, text: str) -> HistoryPoint:
    """Read a point. Raises ``ValueError`` if the text is invalid."""
    try:
        figures = json.loads(text)
        return HistoryPoint(
            at=at,
            admitted=int(figures["admitted"]),
            refused_by_reason={str(name): int(n) for name, n in figures["refused"].items()},
            reserved_bytes=_by_key(figures["reserved"]),
            free_bytes=_by_key(figures["free"]),
            misplaced_bytes=int(figures["misplaced"]),
        )
    except (
        ValueError, KeyError, TypeError, AttributeError,
        # JSON allows Infinity, and deep nesting exceeds the recursion limit.
        OverflowError, RecursionError,
    ) as error:  # fmt: skip
        raise ValueError(f"no point of a history: {error}") from None


def _by_text(sizes: Mapping[tuple[int, str], int]) -> dict[str, int]:
    return {f"{node} {resource}": size for (node, resource), size in sizes.items()}


def _by_key(sizes: Mapping[str, Any]) -> dict[tuple[int, str], int]:
    keys = {name: name.partition(" ") for name in sizes}
    return {(int(keys[name][0]), keys[name][2]): int(size) for name, size in sizes.items()}
