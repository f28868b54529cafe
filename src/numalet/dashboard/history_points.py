"""Points of the history: made from two views, thinned with age, written and read."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from numalet.core.model import resources
from numalet.core.model.findings import WarningFinding
from numalet.core.model.value import replace
from numalet.core.workload.run import ExitReason
from numalet.dashboard.sources import (
    ELSEWHERE,
    Happened,
    HistoryEvent,
    HistoryPoint,
    Level,
    NodeView,
    PodRow,
)
from numalet.insight.maps import finding, room
from numalet.insight.maps.map_devices import DeviceUse
from numalet.wording import numbers


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
_MOST_WORDS: Final = 300
_ENDED: Final = ("Completed", "Succeeded")


def point(before: NodeView, after: NodeView, at: datetime) -> HistoryPoint:
    """Return the figures of ``after``, and what happened since ``before``."""
    new = new_rows(before, after)
    reasons = Counter(row.reason for row in new if row.is_rejected)
    amounts = _amounts(after)
    return HistoryPoint(
        at=at,
        admitted=len(new) - reasons.total(),
        rejected_by_reason=dict(reasons),
        used={key: used for key, (used, _) in amounts.items()},
        free={key: free for key, (_, free) in amounts.items()},
        misplaced_bytes=sum(
            each.misplaced_bytes or 0 for row in after.rows for each in row.containers
        ),
        events=tuple(_events(before, after, at)),
    )


def new_rows(before: NodeView, after: NodeView) -> list[PodRow]:
    """Return the rows of decisions since ``before``.

    A pod that is tried again has one uid and two outcomes, so both are compared.
    """
    known = {(row.pod.uid, row.is_rejected) for row in before.rows}
    return [row for row in after.rows if (row.pod.uid, row.is_rejected) not in known]


def _amounts(view: NodeView) -> dict[tuple[int, str], tuple[int, int]]:
    """Return used and free amounts of what is allocated per NUMA node, and of devices."""
    amounts: dict[tuple[int, str], tuple[int, int]] = {}
    for row in room.rooms(view.chart):
        if row.cpus and row.free_cpus is not None:
            used = row.cpus - row.free_cpus
            amounts[row.node_id, resources.CPU] = (1000 * used, 1000 * row.free_cpus)
        for bar in row.memory:
            used = bar.allocatable_bytes - bar.free_bytes
            amounts[row.node_id, bar.resource] = (used, bar.free_bytes)
    for device in view.chart.devices:
        key = (device.nodes[0] if len(device.nodes) == 1 else ELSEWHERE, device.resource)
        used, free = amounts.get(key, (0, 0))
        is_used, is_free = device.state is DeviceUse.IN_USE, device.state is DeviceUse.FREE
        amounts[key] = (used + is_used, free + is_free)
    return amounts


def _events(before: NodeView, after: NodeView, at: datetime) -> Iterator[HistoryEvent]:
    """Yield what happened, at the times that the pods have; ``at`` where they have none."""

    def event(when: datetime | None, what: Happened, pod: str, words: str = "") -> HistoryEvent:
        # A pod that was there before the dashboard's server began has an older time.
        is_between = when is not None and before.at <= when <= at
        return HistoryEvent(when if when and is_between else at, what, pod, words[:_MOST_WORDS])

    old = {row.pod.uid: row for row in before.rows}
    held = {pod.uid: pod for pod in after.chart.pods}
    for row in after.rows:
        was = old.pop(row.pod.uid, None)
        if row.is_rejected:
            if was is None or not was.is_rejected:
                words = f"{row.reason}: {row.cause or row.why or row.message}"
                yield event(row.created_at, Happened.REJECTED, row.title, words)
            continue
        if was is None or was.is_rejected:
            was = None
            has = held.get(row.pod.uid)
            words = "" if has is None else finding.holdings(after.chart, [has])
            yield event(row.created_at, Happened.ADMITTED, row.title, words)
        for when, what, words in _changes(was, row, before.at):
            yield event(when, what, row.title, words)
    for row in old.values():
        if not row.is_rejected:
            yield event(None, Happened.REMOVED, row.title)


def _changes(
    was: PodRow | None, row: PodRow, since: datetime
) -> Iterator[tuple[datetime | None, Happened, str]]:
    """Yield what became of an admitted pod, and when.

    The last end of a container shows crashes that no view had. What a new pod's container had
    before ``since`` is not new.
    """
    old = {} if was is None else {each.name: each for each in was.containers}
    has_crashed = False
    for each in row.containers:
        known, end = old.get(each.name), each.last_exit
        last, count = (None, 0) if known is None else (known.last_exit, known.restarts or 0)
        is_old = known is None and end is not None and end.finished_at < since
        new = None if is_old or end == last else end
        words = each.last_end or "has ended"
        if new is not None and new.reason is not ExitReason.COMPLETED:
            has_crashed = True
            yield new.finished_at, Happened.CRASHED, f"{each.name}: {words}"
            words = "after a crash"
        if (each.restarts or 0) > count and (new is not None or known is not None):
            began = each.started_at or (None if end is None else end.started_at)
            words = f"{each.name}: {words}; {numbers.counted(each.restarts or 0, 'restart')}"
            yield began, Happened.RESTARTED, words
    if was is not None and was.status == row.status:
        return
    ends = [each for each in row.containers if each.last_exit]
    words = "; ".join([row.status, *(f"{each.name}: {each.last_end}" for each in ends)])
    if row.level is Level.BAD and (was is None or was.level is not Level.BAD) and not has_crashed:
        yield None, Happened.CRASHED, words
    elif row.status in _ENDED:
        over = max((e.last_exit.finished_at for e in ends if e.last_exit), default=None)
        yield over, Happened.ENDED, words


def differs(first: HistoryPoint, second: HistoryPoint) -> bool:
    """Return whether something happened between the points, or a figure changed."""
    return bool(second.events) or (
        (first.used, first.free, first.misplaced_bytes)
        != (second.used, second.free, second.misplaced_bytes)
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
    """Return the second point with the counts and events of both."""
    return replace(
        second,
        admitted=first.admitted + second.admitted,
        rejected_by_reason=sums((first, second)),
        events=first.events + second.events,
    )


def sums(points: Iterable[HistoryPoint]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for each in points:
        for reason, count in each.rejected_by_reason.items():
            counts[reason] = counts.get(reason, 0) + count
    return counts


def written(of: HistoryPoint) -> str:
    figures = {
        "admitted": of.admitted,
        "refused": dict(of.rejected_by_reason),
        "reserved": _by_text(of.used),
        "free": _by_text(of.free),
        "misplaced": of.misplaced_bytes,
        "events": [
            (each.at.timestamp(), each.what.value, each.pod, each.words) for each in of.events
        ],
    }
    return json.dumps(figures, separators=(",", ":"))


def read(at: datetime, text: str) -> HistoryPoint:
    """Read a point. Raises ``ValueError`` if the text is invalid."""
    try:
        figures = json.loads(text)
        return HistoryPoint(
            at=at,
            admitted=int(figures["admitted"]),
            rejected_by_reason={str(name): int(n) for name, n in figures["refused"].items()},
            used=_by_key(figures["reserved"]),
            free=_by_key(figures["free"]),
            misplaced_bytes=int(figures["misplaced"]),
            # Points of earlier versions have no events, or call a rejected pod refused.
            events=tuple(
                HistoryEvent(
                    datetime.fromtimestamp(when, UTC),
                    Happened("rejected" if what == "refused" else what),
                    str(pod),
                    str(words),
                )
                for when, what, pod, words in figures.get("events", ())
            ),
        )
    except (
        ValueError, KeyError, TypeError, AttributeError,
        # JSON allows Infinity, and deep nesting exceeds the recursion limit.
        OverflowError, RecursionError, OSError,
    ) as error:  # fmt: skip
        raise ValueError(f"no point of a history: {error}") from None


def _by_text(amounts: Mapping[tuple[int, str], int]) -> dict[str, int]:
    return {f"{node} {resource}": size for (node, resource), size in amounts.items()}


def _by_key(sizes: Mapping[str, Any]) -> dict[tuple[int, str], int]:
    keys = {name: name.partition(" ") for name in sizes}
    return {(int(keys[name][0]), keys[name][2]): int(size) for name, size in sizes.items()}
