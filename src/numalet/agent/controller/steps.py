"""Turns the due steps of a pod's life into the next state and tasks for the runtime.

An attempt is on disk before the runtime starts it. A finished pod is released before its record is
removed. The worker does the tasks.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TypeAlias

from numalet.agent.controller import decisions
from numalet.agent.controller.node_state import NodeState
from numalet.core.model.pod import ContainerKey
from numalet.core.model.value import Value
from numalet.core.workload import folding, lifecycle
from numalet.core.workload.records import EventKind, PodRecord
from numalet.core.workload.spec import WorkloadSource
from numalet.wording import kubelet


class StartContainer(Value):
    """Start this attempt, which is already on disk."""

    key: ContainerKey
    attempt: int


class StopContainer(Value):
    """End the container; kill it after this time."""

    key: ContainerKey
    grace_seconds: float


class ForgetPod(Value):
    """Remove a deleted pod's remains."""

    pod_uid: str


class Settle(Value):
    """Apply changed allocations to running containers."""


class Resync(Value):
    """Restore the settings of all running containers, and audit them."""


Task: TypeAlias = StartContainer | StopContainer | ForgetPod | Settle | Resync


class NextSteps(Value):
    """The next state, its tasks, and when the next steps are due."""

    state: NodeState
    tasks: tuple[Task, ...] = ()
    due_again_at: datetime | None = None


def advance(state: NodeState, uid: str, now: datetime) -> NextSteps:
    """Take the due steps of a pod."""
    record = state.records[uid]
    ending = _still_ending(state, record)
    due = lifecycle.next_steps(record.workload, record.run, now, ending)
    tasks: list[Task] = [
        StopContainer(ContainerKey(uid, each.container), each.grace_seconds) for each in due.stop
    ]
    node, run = state.node, record.run
    for name in due.start:
        key = ContainerKey(uid, name)
        run = folding.starting(run, name)
        # A pod without an allocation (``unpromised``) is not active for the managers.
        if uid in node.snapshot.pods:
            node = node.container_started(key)
        tasks.append(StartContainer(key, run.of(name).attempt))
    if due.finished and _is_active(state, uid):
        node = node.remove(uid)
    ends_with_its_command = due.finished and record.workload.source is WorkloadSource.RUN
    if ends_with_its_command:
        # Its client has seen the command end, and will not delete the pod.
        run = folding.deletion_requested(run, now, 0.0)
    if due.forgettable or ends_with_its_command:
        tasks.append(ForgetPod(uid))
    # Stops repeat until the container ends, but the event is written once.
    news = [each.container for each in due.stop if not run.of(each.container).asked_to_end]
    run = folding.asked_to_end(run, news)
    after = state.at(node).with_run(uid, run)
    for name in news:
        after = _with_killing(after, record, name, now)
    # Once, at the first start: the kubelet reports evicted pods that outlast their grace period and
    # goes on.
    if due.start and not record.run.has_begun:
        after = _with_overdue(after, ending, now)
    return NextSteps(after, tuple(tasks), due.due_again_at)


def _still_ending(state: NodeState, record: PodRecord) -> tuple[str, ...]:
    """Evicted pods for this one that still run."""
    there = (state.records.get(each.uid) for each in record.run.evicted)
    return tuple(
        each.uid
        for each in there
        if each is not None and lifecycle.is_leaving(each.workload, each.run)
    )


def _with_overdue(state: NodeState, uids: Iterable[str], now: datetime) -> NodeState:
    """Add events for pods that are no longer waited for."""
    for uid in uids:
        pod = state.records[uid].workload.pod
        reason, message = kubelet.EXCEEDED_GRACE_PERIOD, kubelet.NOT_KILLED
        state = state.with_event(decisions.event_of(pod, EventKind.WARNING, reason, message, now))
    return state


def _with_killing(state: NodeState, record: PodRecord, name: str, now: datetime) -> NodeState:
    message = kubelet.killing(name)
    pod = record.workload.pod
    return state.with_event(
        decisions.event_of(pod, EventKind.NORMAL, kubelet.KILLING, message, now, name)
    )


def is_finished(record: PodRecord, now: datetime) -> bool:
    return lifecycle.next_steps(record.workload, record.run, now).finished


def _is_active(state: NodeState, uid: str) -> bool:
    snapshot = state.node.snapshot
    return uid in snapshot.pods or any(key.pod_uid == uid for key in snapshot.assumed)
