"""The next state after a fact. Pure.

Late, repeated or unknown facts have no effect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final, assert_never

from numalet.agent.controller import decisions
from numalet.agent.controller.node_state import NodeState
from numalet.agent.controller.requests import (
    Began,
    Delayed,
    Fact,
    FolderPod,
    FolderRead,
    Forgotten,
    KubeletSeen,
    PluginExpired,
    PluginReported,
    PluginStopped,
    ResyncResult,
    SourcesReady,
    StartWithdrawn,
)
from numalet.agent.findings import events
from numalet.agent.findings.events import (
    EventDriftCorrected,
    EventDriftNotCorrected,
    EventStartDelayed,
    EventStartFailed,
    Message,
)
from numalet.agent.host.runtime.port import Answered, Ended, NotStarted, Observed, Started
from numalet.agent.kubelet import observed as observed_kubelet
from numalet.agent.kubelet.observed import KubeletObservation, KubeletProblem, PodName
from numalet.agent.telemetry.metrics import DRIFT_CORRECTED, KUBELET_STATE_CHANGES, STARTS_DELAYED
from numalet.core.managers.device.inventory import Device
from numalet.core.model.findings import Finding
from numalet.core.model.pod import ContainerKey
from numalet.core.model.value import replace
from numalet.core.node.node import Node
from numalet.core.snapshot import placement
from numalet.core.workload import folding, lifecycle
from numalet.core.workload.records import EventKind, NodeEvent
from numalet.core.workload.run import Cause, ContainerPhase, PodRun
from numalet.io.findings.devices import DevicesIdMissing
from numalet.wording import kubelet


def after_fact(state: NodeState, fact: Fact, now: datetime) -> NodeState:
    """Apply a fact that needs no decision."""
    match fact:
        case Began(key, attempt, result) | Answered(key, attempt, result):
            return _began(state, key, attempt, result, now)
        case Ended(key, attempt, exit_):
            return _ended(state, Ended(key, attempt, exit_), now)
        case Delayed(key, why):
            return _delayed(state, key, why, now)
        case StartWithdrawn(key):
            return _with_run(state, key, lambda run: folding.start_withdrawn(run, key.container))
        case Forgotten(pod_uid):
            record = state.records.get(pod_uid)
            is_to_go = record is not None and record.run.deletion is not None
            # A pod with the same uid may have been created since the removal began.
            return state.without(pod_uid) if is_to_go else state
        case ResyncResult():
            return _resynced(state, fact, now)
        case KubeletSeen():
            return _kubelet_seen(state, fact, now)
        case SourcesReady():
            return sources_are_ready(state)
        case PluginReported(resource, devices):
            return _devices_reported(state, resource, devices, now)
        case PluginStopped(resource):
            return _of_node(state, state.node.plugin_stopped(resource))
        case PluginExpired(resource):
            return _of_node(state, state.node.resource_expired(resource))
        case FolderRead() | FolderPod():
            return state
        case _:
            assert_never(fact)


def _devices_reported(
    state: NodeState, resource: str, devices: Sequence[Device], now: datetime
) -> NodeState:
    """Apply a plugin's list; devices without an id cannot be requested or reported."""
    named = tuple(each for each in devices if each.device_id.strip())
    after = _of_node(state, state.node.devices_reported({resource: named}))
    if len(named) == len(devices):
        return after
    finding = DevicesIdMissing(resource=resource)
    reason = kubelet.DEVICE_WITHOUT_ID
    return after.with_event(_node_event(EventKind.WARNING, reason, finding, now))


def _of_node(state: NodeState, node: Node) -> NodeState:
    """Replace the node with a new version, because its capacity may differ."""
    return state if node is state.node else state.at(node).renumbered()


def sources_are_ready(state: NodeState) -> NodeState:
    """Record that all sources are ready; allocations of unknown pods may be released."""
    if state.node.snapshot.sources_ready:
        return state
    node = state.node.sources_ready()
    released = node.release_stale() if node.rules.behaviour.release_at_once else node
    return _of_node(state, released)


def with_observed(state: NodeState, observed: Iterable[Observed], now: datetime) -> NodeState:
    """Add the programs that the runtime reports after a start."""
    by_key = {each.key: each for each in observed}
    for uid, record in state.records.items():
        run = record.run
        for name in record.run.containers:
            run = _adopted(run, name, by_key.get(ContainerKey(uid, name)), now)
        state = state.with_run(uid, run)
    return state


def _adopted(run: PodRun, name: str, seen: Observed | None, now: datetime) -> PodRun:
    of = run.of(name)
    # An older attempt at the runtime means that the latest start was not carried out.
    if seen is None or seen.attempt != of.attempt:
        # The runtime has no trace of it: it never started, or ended while no agent ran.
        return folding.lost(run, name, now) if of.phase is ContainerPhase.RUNNING else run
    if seen.exit is not None:
        return folding.ended(run, name, seen.attempt, seen.exit)
    return folding.started(run, name, seen.attempt, seen.started_at or now, seen.level)


def _began(
    state: NodeState, key: ContainerKey, attempt: int, result: Started | NotStarted, now: datetime
) -> NodeState:
    name = key.container
    message: str | Message
    match result:
        case Started(at, _, level, shortfalls):
            after = _with_run(
                state, key, lambda run: folding.started(run, name, attempt, at, level, shortfalls)
            )
            kind, reason, message = (
                EventKind.NORMAL,
                kubelet.STARTED,
                kubelet.started(name),
            )
        case NotStarted(why):
            cause = Cause.of(why)
            after = _with_run(
                state, key, lambda run: folding.not_started(run, name, attempt, now, cause)
            )
            kind, reason, message = (
                EventKind.WARNING,
                kubelet.FAILED,
                events.message(EventStartFailed(cause=str(why)), [cause]),
            )
        case _:
            assert_never(result)
    # A late or repeated report leaves no events.
    if after is state:
        return state
    if kind is EventKind.NORMAL:
        text = kubelet.created(name)
        # The kubelet emits Created and Started; the runtime here does both in one step.
        after = _with_event(after, key, kind, kubelet.CREATED, text, now)
    return _with_event(after, key, kind, reason, message, now)


def _delayed(state: NodeState, key: ContainerKey, why: NotStarted, now: datetime) -> NodeState:
    counted = state.counted(STARTS_DELAYED)
    if key.pod_uid not in state.records:
        return counted
    message = events.message(EventStartDelayed(cause=str(why.why)), [Cause.of(why.why)])
    reason = kubelet.START_DELAYED
    return _with_event(counted, key, EventKind.WARNING, reason, message, now)


def _ended(state: NodeState, end: Ended, now: datetime) -> NodeState:
    key, name = end.key, end.key.container
    after = _with_run(state, key, lambda run: folding.ended(run, name, end.attempt, end.exit))
    if after is state:
        return state
    record = after.records[key.pod_uid]
    run = record.run.of(name)
    again = lifecycle.will_restart(record.workload, record.workload.container(name), run)
    # The kubelet reports a back-off only while the container will be restarted.
    if not run.back_off_seconds or not again or lifecycle.is_ending(record.workload, record.run):
        return after
    pod = record.workload.pod
    message = kubelet.back_off(name, pod.name, pod.namespace, pod.uid)
    return _with_event(after, key, EventKind.WARNING, kubelet.BACK_OFF, message, now)


def _resynced(state: NodeState, result: ResyncResult, now: datetime) -> NodeState:
    for key, settings in result.corrected.items():
        for setting in settings:
            state = state.counted(DRIFT_CORRECTED, (("setting", setting),))
        if key.pod_uid in state.records:
            message = events.message(EventDriftCorrected(settings=", ".join(settings)))
            state = _with_event(
                state, key, EventKind.WARNING, kubelet.DRIFT_CORRECTED, message, now
            )
    for key, refusal in result.not_held.items():
        if key.pod_uid in state.records:
            message = events.message(
                EventDriftNotCorrected(cause=str(refusal.why)), [Cause.of(refusal.why)]
            )
            state = _with_event(state, key, EventKind.WARNING, kubelet.NOT_HELD, message, now)
    return state


def _kubelet_seen(state: NodeState, seen: KubeletSeen, now: datetime) -> NodeState:
    observation = seen.observation
    after = replace(state, kubelet=observation)
    if seen.node is not None:
        # The kubelet's allocations are not stale, although its pods are unknown here.
        node = seen.node.assume_running(placement.of_all(seen.node.snapshot))
        node = node.sources_ready() if state.node.snapshot.sources_ready else node
        after = _of_node(after, node)
    for name in (*observation.changed, *observation.removed):
        after = after.counted(KUBELET_STATE_CHANGES, (("file", name),))
    for note in observation.notes:
        after = after.with_event(_node_event(EventKind.NORMAL, kubelet.KUBELET_STARTED, note, now))
    for problem in observation.news:
        after = after.with_event(_problem_event(observation, problem, now))
    return after


_REASONS: Final[Mapping[str, str]] = {
    observed_kubelet.NOT_RUNNING: kubelet.KUBELET_NOT_RUNNING,
    observed_kubelet.KEEPS_RESTARTING: kubelet.KUBELET_KEEPS_RESTARTING,
}


def _node_event(kind: EventKind, reason: str, finding: Finding, now: datetime) -> NodeEvent:
    """An event about the node."""
    message = events.located(finding)
    return NodeEvent(
        kind=kind,
        reason=reason,
        message=message.text,
        causes=message.causes,
        at=now,
        resource_version=0,
    )


def _problem_event(
    observation: KubeletObservation, problem: KubeletProblem, now: datetime
) -> NodeEvent:
    """An event about a kubelet's container, or the node."""
    key = problem.key
    if key is None:
        reason = _REASONS.get(problem.finding.code, kubelet.STATE_IN_DOUBT)
        return _node_event(EventKind.WARNING, reason, problem.finding, now)
    name = observation.evidence.pods.get(key.pod_uid, PodName("", key.pod_uid))
    message = events.located(problem.finding)
    return NodeEvent(
        kind=EventKind.WARNING,
        reason=kubelet.NOT_AS_PROMISED,
        message=message.text,
        causes=message.causes,
        at=now,
        resource_version=0,
        pod_uid=key.pod_uid,
        pod_name=name.name,
        namespace=name.namespace,
        container=key.container,
    )


def _with_run(state: NodeState, key: ContainerKey, fold: Callable[[PodRun], PodRun]) -> NodeState:
    record = state.records.get(key.pod_uid)
    if record is None:
        return state
    run = fold(record.run)
    return state if run is record.run else state.with_run(key.pod_uid, run)


def _with_event(
    state: NodeState,
    key: ContainerKey,
    kind: EventKind,
    reason: str,
    message: str | Message,
    now: datetime,
) -> NodeState:
    pod = state.records[key.pod_uid].workload.pod
    return state.with_event(decisions.event_of(pod, kind, reason, message, now, key.container))
