"""When an object is written: a pure function of times, so that a cluster's writes are bounded.

A change is written within a second, but never sooner after the write before than the interval. At
thousands of nodes the same moment must not be that of all: every wait has a random part. What has
not changed is written once an hour, so that readers know that its writer lives.
Times are seconds of a clock that never goes back; a fraction is a random number from 0 up to 1.
"""

from __future__ import annotations

from typing import Final

from numalet.core.model.value import Value, replace

_JITTER: Final = 0.1
_SPREAD_SECONDS: Final = 0.25
"""Over how long the writes are spread of nodes on which something changes at the same moment."""
_FIRST_FAILURE_SECONDS: Final = 1.0
_LONGEST_REFUSAL_SECONDS: Final = 60.0
_LONGEST_ABSENCE_SECONDS: Final = 3.0
_MOST_DOUBLINGS: Final = 16


class WriteInterval(Value, kw_only=True):
    """How often one object is written at most, and at least."""

    at_most_every_seconds: float
    refresh_seconds: float = 3600.0


class WriteTimes(Value, kw_only=True):
    """What has happened to one object. ``changed_at`` is None while what is there is written.

    ``due_at`` is when it is to be written next: because it changed, or because of the refresh.
    ``failures`` are all in a row, ``refusals`` those of them since an answer came again.
    """

    written_at: float | None = None
    changed_at: float | None = None
    due_at: float
    failures: int = 0
    refusals: int = 0


def begun() -> WriteTimes:
    """Nothing was written yet, and there is nothing to write: so nothing is due."""
    return WriteTimes(due_at=float("inf"))


def changed(times: WriteTimes, interval: WriteInterval, now: float, fraction: float) -> WriteTimes:
    """The times after the content changed; further changes before the write change nothing."""
    if times.changed_at is not None:
        return times
    soonest = now + _SPREAD_SECONDS * fraction
    if times.written_at is not None:
        pause = interval.at_most_every_seconds * (1 + _JITTER * fraction)
        soonest = max(soonest, times.written_at + pause)
    # After a failure the server is not asked sooner because there is more to write.
    due_at = max(soonest, times.due_at) if times.failures else soonest
    return replace(times, changed_at=now, due_at=due_at)


def reverted(times: WriteTimes, interval: WriteInterval, fraction: float) -> WriteTimes:
    """The times after the content became again what was written last, before it was written."""
    if times.written_at is None or times.failures:
        # A write that failed may have been carried out, so it is repeated with what is true now.
        return times
    return written(interval, times.written_at, fraction)


def written(interval: WriteInterval, began_at: float, fraction: float) -> WriteTimes:
    """The times after a successful write that began then; nothing changed since."""
    refresh = interval.refresh_seconds * (1 - _JITTER * fraction)
    return WriteTimes(written_at=began_at, due_at=began_at + refresh)


def refused(
    times: WriteTimes, now: float, fraction: float, retry_after_seconds: float | None = None
) -> WriteTimes:
    """The times after the server refused a write: it is repeated later and later, up to a minute.

    Where the server says when it may be asked again, that is waited for, and a little more.
    """
    wait = _FIRST_FAILURE_SECONDS * 2 ** min(times.refusals, _MOST_DOUBLINGS)
    wait = min(wait, _LONGEST_REFUSAL_SECONDS)
    if retry_after_seconds is not None:
        wait = max(wait, retry_after_seconds)
    failed = replace(times, failures=times.failures + 1, refusals=times.refusals + 1)
    return _after(failed, now, wait, fraction)


def unreachable(times: WriteTimes, now: float, fraction: float) -> WriteTimes:
    """The times after no answer came: a server that is back is asked again within 5 seconds."""
    wait = _FIRST_FAILURE_SECONDS * 2 ** min(times.failures, _MOST_DOUBLINGS)
    failed = replace(times, failures=times.failures + 1, refusals=0)
    return _after(failed, now, min(wait, _LONGEST_ABSENCE_SECONDS), fraction)


def _after(times: WriteTimes, now: float, wait: float, fraction: float) -> WriteTimes:
    # Up to half of it is added at random, never subtracted: the server's wish is a minimum.
    return replace(times, due_at=now + wait * (1 + fraction / 2))
