"""The next state of a pod's run after an event.

For a late or repeated event, or one about an earlier attempt, the functions return the same object.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from numalet.core.enforcement.comparison import GuaranteeLevel
from numalet.core.model.value import replace
from numalet.core.workload.run import (
    Cause,
    ContainerPhase,
    ContainerRun,
    Deletion,
    Evicted,
    Exit,
    ExitReason,
    PodRun,
    Verdict,
)

FIRST_PAUSE_SECONDS: Final = 10.0
LONGEST_PAUSE_SECONDS: Final = 300.0
STEADY: Final = timedelta(minutes=10)
"""After a longer run than this, a container's back-off starts from 0 again."""

START_FAILED_CODE: Final = 128
KILLED_CODE: Final = 137

_UP: Final = (ContainerPhase.STARTING, ContainerPhase.RUNNING)


def decided(run: PodRun, verdict: Verdict, at: datetime) -> PodRun:
    """Record admission's verdict; a second one replaces the first."""
    return replace(run, verdict=verdict, decided_at=at)


def after_evicted(run: PodRun, evicted: Iterable[Evicted]) -> PodRun:
    """Record evicted pods that must end first; the latest entry of a pod wins."""
    evicted_by_uid = {each.uid: each for each in evicted}
    if not evicted_by_uid:
        return run
    before = tuple(each for each in run.evicted if each.uid not in evicted_by_uid)
    return replace(run, evicted=(*before, *evicted_by_uid.values()))


def starting(run: PodRun, name: str) -> PodRun:
    """Record the next attempt of this container.

    Raises ``ValueError`` if the previous attempt has not ended.
    """
    before = run.of(name)
    # Two processes of one container would share its CPUs and its records.
    if before.phase in _UP:
        raise ValueError(f"attempt {before.attempt} of {name!r} has not ended")
    return run.with_container(
        replace(
            before,
            phase=ContainerPhase.STARTING,
            attempt=before.attempt + 1,
            started_at=None,
            level=None,
            shortfalls=(),
            asked_to_end=False,
        )
    )


def asked_to_end(run: PodRun, names: Iterable[str]) -> PodRun:
    asked = {name: replace(run.of(name), asked_to_end=True) for name in names}
    return replace(run, containers={**run.containers, **asked}) if asked else run


def started(
    run: PodRun,
    name: str,
    attempt: int,
    at: datetime,
    level: GuaranteeLevel | None = None,
    shortfalls: tuple[str, ...] = (),
) -> PodRun:
    before = run.of(name)
    if before.phase is not ContainerPhase.STARTING or before.attempt != attempt:
        return run
    return run.with_container(
        replace(
            before,
            phase=ContainerPhase.RUNNING,
            started_at=at,
            level=level,
            shortfalls=shortfalls,
        )
    )


def not_started(
    run: PodRun, name: str, attempt: int, at: datetime, cause: Cause | None = None
) -> PodRun:
    failed = Exit(
        code=START_FAILED_CODE, reason=ExitReason.START_ERROR, finished_at=at, cause=cause
    )
    return ended(run, name, attempt, failed)


def start_withdrawn(run: PodRun, name: str) -> PodRun:
    """Remove an attempt that was recorded but never started."""
    before = run.of(name)
    if before.phase is not ContainerPhase.STARTING:
        return run
    phase = ContainerPhase.WAITING if before.last_exit is None else ContainerPhase.TERMINATED
    return run.with_container(replace(before, phase=phase, attempt=before.attempt - 1))


def ended(run: PodRun, name: str, attempt: int, exit_: Exit) -> PodRun:
    """Record the end of an attempt, with the back-off before the next one."""
    before = run.of(name)
    if before.phase not in _UP or before.attempt != attempt:
        return run
    if exit_.started_at is None and before.started_at is not None:
        exit_ = replace(exit_, started_at=before.started_at)
    return run.with_container(
        replace(
            before,
            phase=ContainerPhase.TERMINATED,
            started_at=None,
            last_exit=exit_,
            back_off_seconds=_pause(before, exit_),
            level=None,
            shortfalls=(),
            asked_to_end=False,
        )
    )


def lost(run: PodRun, name: str, at: datetime) -> PodRun:
    """Record a container that disappeared without an observed end."""
    gone = Exit(code=KILLED_CODE, reason=ExitReason.UNKNOWN, finished_at=at)
    return ended(run, name, run.of(name).attempt, gone)


def deletion_requested(run: PodRun, at: datetime, grace_seconds: float) -> PodRun:
    """Record a deletion of the pod; a second one can only shorten the grace period."""
    asked, before = Deletion(at, grace_seconds), run.deletion
    if before is not None and _deadline(before) <= _deadline(asked):
        return run
    return replace(run, deletion=asked)


def _deadline(deletion: Deletion) -> datetime:
    return deletion.requested_at + timedelta(seconds=deletion.grace_seconds)


def _pause(before: ContainerRun, exit_: Exit) -> float:
    """Return the back-off in seconds: 0 at first, then 10, 20, 40, up to 300."""
    if exit_.started_at is not None and exit_.finished_at - exit_.started_at > STEADY:
        return 0.0
    if before.attempt <= 1:
        return 0.0
    return min(max(2 * before.back_off_seconds, FIRST_PAUSE_SECONDS), LONGEST_PAUSE_SECONDS)
