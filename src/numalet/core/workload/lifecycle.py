"""The next step of a pod, and its phase.

The step follows from the specification and the history, never from earlier answers, so it is the
same after an event, at the periodic resync and after a crash. The order is the kubelet's
(``computePodActions``, v1.32):

1. Init containers run one after the other, each until it succeeds. A sidecar has had its turn as
soon as it runs, and always restarts.
2. Then all app containers start. One that ended restarts according to the policy.
3. When no app container runs or will run, or an init container failed for good, the sidecars end
one by one, the last one first.
4. A deleted or rejected pod starts nothing. Its containers get a signal to end, app containers
first; the agent kills them after the grace period.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Container, Iterable
from datetime import datetime, timedelta
from enum import Enum
from typing import Final

from numalet.core.model.pod import ContainerKind
from numalet.core.model.value import Value
from numalet.core.workload.run import EVICTED, ContainerPhase, ContainerRun, Evicted, PodRun
from numalet.core.workload.spec import ContainerSpec, RestartPolicy, Workload

LAST_WORDS: Final = timedelta(seconds=2)
"""Extra time of a sidecar after the grace period, which app containers may have used up."""

_LEAST_PATIENCE_SECONDS: Final = 10

_ACTIVE: Final = (ContainerPhase.STARTING, ContainerPhase.RUNNING)


class Stop(Value):
    """A container that has to end; the agent kills it after the grace period."""

    container: str
    grace_seconds: float


class Steps(Value, kw_only=True):
    """The steps of a pod at this moment.

    ``start``: containers whose next attempt the caller records and starts. ``under_way``:
    containers with a recorded start and an unknown outcome. After a crash the caller starts the
    same attempt again, or withdraws it if the pod is over (``folding.start_withdrawn``). ``stop``
    may repeat a container until it has ended. ``due_again_at`` is the next moment, after now, at
    which the answer may change without an event. ``finished``: nothing runs or will run, so the
    pod's resources may be released. ``forgettable``: its deletion was also requested, so its record
    may be deleted too.
    """

    start: tuple[str, ...] = ()
    under_way: tuple[str, ...] = ()
    stop: tuple[Stop, ...] = ()
    due_again_at: datetime | None = None
    finished: bool = False
    forgettable: bool = False


def next_steps(
    workload: Workload, run: PodRun, now: datetime, still_ending: Container[str] = frozenset()
) -> Steps:
    """``still_ending`` are uids of rejected pods with running processes."""
    deadline = _ending_by(workload, run)
    if deadline is not None:
        # If the clock was set back, the grace period still never exceeds its length.
        return _end(workload, run, min(deadline, now + _grace(workload, run)), now)
    if run.verdict is None:
        return Steps()
    # Evicted pods have to end, or be impossible to end, before this pod starts anything.
    ahead = held_up(run, now, still_ending)
    if ahead:
        return Steps(due_again_at=max(each.until for each in ahead))
    wanted = _wanted(workload, run)
    pauses = {c.name: _pause_ends_at(run.of(c.name), now) for c in wanted if not _is_active(run, c)}
    later = [at for at in pauses.values() if at is not None and at > now]
    return Steps(
        start=tuple(name for name, at in pauses.items() if at is None or at <= now),
        under_way=_under_way(run),
        due_again_at=min(later, default=None),
    )


def held_up(run: PodRun, now: datetime, still_ending: Container[str]) -> tuple[Evicted, ...]:
    """Return the evicted pods whose end this pod's first start waits for.

    Kubelet: ``evictPodsToFreeRequests``, which blocks in ``killPodNow``, v1.32. There the pods end
    one after the other, and the kubelet decides nothing else meanwhile.
    """
    if run.has_begun:
        return ()
    return tuple(each for each in run.evicted if each.uid in still_ending and each.until > now)


def kill_patience_seconds(grace_seconds: float) -> float:
    """Return how long the kubelet waits for the end of an evicted pod. ``killPodNow``, v1.32."""
    return max(_LEAST_PATIENCE_SECONDS, math.floor(grace_seconds) * 3 // 2)


def will_restart(workload: Workload, container: ContainerSpec, run: ContainerRun) -> bool:
    """Return whether an ended container restarts while its pod is not over."""
    if container.kind is ContainerKind.SIDECAR:
        return True
    failed = run.last_exit is None or run.last_exit.code != 0
    if workload.restart_policy is RestartPolicy.ALWAYS:
        return failed or container.kind is ContainerKind.APP
    return failed and workload.restart_policy is RestartPolicy.ON_FAILURE


def _pause_ends_at(run: ContainerRun, now: datetime) -> datetime | None:
    """Return when an ended container may restart, if it has a back-off."""
    if run.last_exit is None or not run.back_off_seconds or run.last_exit.finished_at > now:
        return None
    return run.last_exit.finished_at + timedelta(seconds=run.back_off_seconds)


def is_initialized(workload: Workload, run: PodRun) -> bool:
    """Return whether every init container had its turn, so that app containers may run."""
    return _turn(workload, run) is None


def is_ending(workload: Workload, run: PodRun) -> bool:
    """Return whether the pod is over: it starts nothing more, but may still run."""
    return _ending_by(workload, run) is not None


def has_ended(workload: Workload, run: PodRun) -> bool:
    return is_ending(workload, run) and not any(_is_active(run, c) for c in workload.containers)


def _ending_by(workload: Workload, run: PodRun) -> datetime | None:
    if run.deletion is not None:
        return run.deletion.requested_at + _grace(workload, run)
    grace = _grace(workload, run)
    if run.verdict is not None and not run.verdict.admitted:
        return (run.decided_at or run.accepted_at) + grace
    apps = ContainerKind.APP
    if all(_is_done(workload, run, each) for each in workload.containers if each.kind is apps):
        return _last_end(run, _of_kinds(workload, apps)) + grace
    # Init containers precede the app containers, which can be very many: stop at the first one.
    before = itertools.takewhile(lambda each: each.kind is not apps, workload.containers)
    failed = [
        each
        for each in before
        if each.kind is ContainerKind.INIT
        and _is_done(workload, run, each)
        and not _succeeded(run, each)
    ]
    return _last_end(run, failed) + grace if failed else None


def _grace(workload: Workload, run: PodRun) -> timedelta:
    asked = None if run.deletion is None else run.deletion.grace_seconds
    return timedelta(seconds=workload.grace_period_seconds if asked is None else asked)


def _last_end(run: PodRun, containers: Iterable[ContainerSpec]) -> datetime:
    exits = (run.of(each.name).last_exit for each in containers)
    return max((exit_.finished_at for exit_ in exits if exit_ is not None), default=run.accepted_at)


def _is_done(workload: Workload, run: PodRun, container: ContainerSpec) -> bool:
    of = run.of(container.name)
    return of.phase is ContainerPhase.TERMINATED and not will_restart(workload, container, of)


def _succeeded(run: PodRun, container: ContainerSpec) -> bool:
    of = run.of(container.name)
    code = None if of.last_exit is None else of.last_exit.code
    return of.phase is ContainerPhase.TERMINATED and code == 0


def _wanted(workload: Workload, run: PodRun) -> list[ContainerSpec]:
    before = _of_kinds(workload, ContainerKind.INIT, ContainerKind.SIDECAR)
    turn = _turn(workload, run)
    at = len(before) if turn is None else before.index(turn)
    wanted = [each for each in before[:at] if each.kind is ContainerKind.SIDECAR]
    if turn is not None:
        return [*wanted, turn]
    apps = _of_kinds(workload, ContainerKind.APP)
    return wanted + [each for each in apps if not _is_done(workload, run, each)]


def _turn(workload: Workload, run: PodRun) -> ContainerSpec | None:
    """Return the init container whose turn it is, if any is left."""
    if any(run.of(each.name).attempt for each in _of_kinds(workload, ContainerKind.APP)):
        return None
    before = _of_kinds(workload, ContainerKind.INIT, ContainerKind.SIDECAR)
    # A container before one that was ever started had its turn, so a sidecar that is down now
    # does not block later containers.
    begun = [at for at, each in enumerate(before) if run.of(each.name).attempt]
    at = begun[-1] if begun else 0
    if begun and _had_its_turn(run, before[at]):
        at += 1
    return before[at] if at < len(before) else None


def _had_its_turn(run: PodRun, container: ContainerSpec) -> bool:
    if container.kind is ContainerKind.SIDECAR:
        return run.of(container.name).phase is ContainerPhase.RUNNING
    return _succeeded(run, container)


def _end(workload: Workload, run: PodRun, deadline: datetime, now: datetime) -> Steps:
    active = [each for each in workload.containers if _is_active(run, each)]
    if not active:
        return Steps(finished=True, forgettable=run.deletion is not None)
    sidecars = [each for each in active if each.kind is ContainerKind.SIDECAR]
    turn = [each for each in active if each.kind is not ContainerKind.SIDECAR] or sidecars[-1:]
    if now >= deadline:
        turn = active
    stops = [
        Stop(each.name, max(0.0, (_must_end_by(run, each, deadline) - now).total_seconds()))
        for each in turn
        if run.of(each.name).phase is ContainerPhase.RUNNING
    ]
    waiting = len(turn) < len(active)
    return Steps(
        under_way=_under_way(run),
        stop=tuple(stops),
        due_again_at=deadline if waiting else None,
    )


def _must_end_by(run: PodRun, container: ContainerSpec, deadline: datetime) -> datetime:
    at_once = run.deletion is not None and not run.deletion.grace_seconds
    if container.kind is not ContainerKind.SIDECAR or at_once:
        return deadline
    return deadline + LAST_WORDS


def _under_way(run: PodRun) -> tuple[str, ...]:
    return tuple(name for name, of in run.containers.items() if of.phase is ContainerPhase.STARTING)


def _is_active(run: PodRun, container: ContainerSpec) -> bool:
    return run.of(container.name).phase in _ACTIVE


def _of_kinds(workload: Workload, *kinds: ContainerKind) -> list[ContainerSpec]:
    return [each for each in workload.containers if each.kind in kinds]


def is_leaving(workload: Workload, run: PodRun) -> bool:
    """Whether a pod was evicted for another one and something of it may still run."""
    is_evicted = run.verdict is not None and run.verdict.cause == EVICTED
    return is_evicted and not has_ended(workload, run)


# The phase is Kubernetes' summary of the containers. Kubelet: ``getPhase`` and, for a pod that is
# being deleted, ``SyncTerminatedPod``, v1.32.


class PodPhase(Enum):
    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


def phase(workload: Workload, run: PodRun) -> PodPhase:
    """Return the phase of the whole pod.

    A pod that is over succeeded if all containers except sidecars succeeded; until its last
    container ended it is Running.
    """
    if run.verdict is None:
        return PodPhase.PENDING
    if not run.verdict.admitted:
        return PodPhase.FAILED
    began = any(
        run.of(each.name).attempt for each in workload.containers if each.kind is ContainerKind.APP
    )
    if not is_ending(workload, run):
        return PodPhase.RUNNING if began and _all_began(workload, run) else PodPhase.PENDING
    if any(_is_up(run, each.name) for each in workload.containers):
        return PodPhase.RUNNING if began else PodPhase.PENDING
    return PodPhase.SUCCEEDED if _ended_well(workload, run) else PodPhase.FAILED


def _all_began(workload: Workload, run: PodRun) -> bool:
    runs = [run.of(each.name) for each in workload.containers if each.kind is ContainerKind.APP]
    return all(of.phase is ContainerPhase.RUNNING or of.last_exit is not None for of in runs)


def _is_up(run: PodRun, name: str) -> bool:
    return run.of(name).phase in (ContainerPhase.STARTING, ContainerPhase.RUNNING)


def _ended_well(workload: Workload, run: PodRun) -> bool:
    for each in workload.containers:
        last = run.of(each.name).last_exit
        if each.kind is not ContainerKind.SIDECAR and (last is None or last.code):
            return False
    return True
