"""When to write an object: a pure function of times, which bounds the writes of a cluster.

A change is written within a second, but not before the interval since the last write. Unchanged
objects are refreshed hourly to show that the writer is alive. Times are monotonic seconds; a
fraction is random in [0, 1).
"""

from __future__ import annotations

from typing import Final

from numalet.core.model.value import Value, replace

_JITTER: Final = 0.1
_SPREAD_SECONDS: Final = 0.25
"""Spreads the writes of nodes that change at the same moment."""
_FIRST_FAILURE_SECONDS: Final = 1.0
_LONGEST_REFUSAL_SECONDS: Final = 60.0
_LONGEST_ABSENCE_SECONDS: Final = 3.0
_MOST_DOUBLINGS: Final = 16


class WriteInterval(Value, kw_only=True):
    """Minimum and maximum time between two writes of an object."""

    at_most_every_seconds: float
    refresh_seconds: float = 3600.0


class WriteTimes(Value, kw_only=True):
    """The write history of one object. ``changed_at`` is unset while the stored content is current.

    ``due_at`` is the next write. ``failures`` in a row; ``refusals`` since the last connection
    error.
    """

    written_at: float | None = None
    changed_at: float | None = None
    due_at: float
    failures: int = 0
    refusals: int = 0


def begun() -> WriteTimes:
    """Nothing written and nothing due."""
    return WriteTimes(due_at=float("inf"))


def changed(times: WriteTimes, interval: WriteInterval, now: float, fraction: float) -> WriteTimes:
    """The content changed; further changes before the write have no effect."""
    if times.changed_at is not None:
        return times
    soonest = now + _SPREAD_SECONDS * fraction
    if times.written_at is not None:
        pause = interval.at_most_every_seconds * (1 + _JITTER * fraction)
        soonest = max(soonest, times.written_at + pause)
    # After a failure, a new change must not shorten the wait.
    due_at = max(soonest, times.due_at) if times.failures else soonest
    return replace(times, changed_at=now, due_at=due_at)


def reverted(times: WriteTimes, interval: WriteInterval, fraction: float) -> WriteTimes:
    """The content returned to its stored value before a write."""
    if times.written_at is None or times.failures:
        # A failed write may have succeeded on the server, so repeat it with the present content.
        return times
    return written(interval, times.written_at, fraction)


def written(interval: WriteInterval, began_at: float, fraction: float) -> WriteTimes:
    """A write that began at this time succeeded, without changes since."""
    refresh = interval.refresh_seconds * (1 - _JITTER * fraction)
    return WriteTimes(written_at=began_at, due_at=began_at + refresh)


def refused(
    times: WriteTimes, now: float, fraction: float, retry_after_seconds: float | None = None
) -> WriteTimes:
    """The server refused a write: double the wait, up to a minute.

    The server's Retry-After is a minimum.
    """
    wait = _FIRST_FAILURE_SECONDS * 2 ** min(times.refusals, _MOST_DOUBLINGS)
    wait = min(wait, _LONGEST_REFUSAL_SECONDS)
    if retry_after_seconds is not None:
        wait = max(wait, retry_after_seconds)
    failed = replace(times, failures=times.failures + 1, refusals=times.refusals + 1)
    return _after(failed, now, wait, fraction)


def unreachable(times: WriteTimes, now: float, fraction: float) -> WriteTimes:
    """The server is unreachable: retry within 5 seconds after it returns."""
    wait = _FIRST_FAILURE_SECONDS * 2 ** min(times.failures, _MOST_DOUBLINGS)
    # An outage restarts the doubling of refusals.
    failed = replace(times, failures=times.failures + 1, refusals=0)
    return _after(failed, now, min(wait, _LONGEST_ABSENCE_SECONDS), fraction)


def _after(times: WriteTimes, now: float, wait: float, fraction: float) -> WriteTimes:
    # Only add to the wait: the server's Retry-After is a minimum.
    return replace(times, due_at=now + wait * (1 + fraction / 2))
