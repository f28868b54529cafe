"""The next state after a request. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import TypeAlias, assert_never

from numalet.agent.controller.node_state import NodeState
from numalet.agent.controller.requests import Create, Delete, FolderRead, Request, Revise
from numalet.agent.findings import events
from numalet.agent.findings.events import EventManifestRemarks, Message
from numalet.agent.servers.door import RequestRefusal, RequestRefused
from numalet.agent.telemetry import admission_counts
from numalet.core.admission.decision import Collector, Decision, Event
from numalet.core.config.rules import NodeRules
from numalet.core.model.findings import Severity
from numalet.core.model.pod import Pod
from numalet.core.model.value import Value, replace
from numalet.core.workload import folding, lifecycle
from numalet.core.workload import records as records
from numalet.core.workload.records import EventKind, NodeEvent, PodRecord
from numalet.core.workload.run import Cause, Evicted, PodRun
from numalet.core.workload.spec import Workload, WorkloadSource
from numalet.wording import foreign_texts, kubelet

Stopwatch: TypeAlias = Callable[[], float]
"""Seconds since any moment, to measure decisions."""


class TracedDecision(Value):
    """A decision with its recording and duration."""

    rules: NodeRules
    decision: Decision
    recording: tuple[Event, ...]
    seconds: float


class Decided(Value):
    """The state after a request, the answer, and decisions."""

    state: NodeState
    answer: PodRecord | RequestRefused
    traces: tuple[TracedDecision, ...] = ()


def create(state: NodeState, workload: Workload, now: datetime, stopwatch: Stopwatch) -> Decided:
    """Admit or reject a pod; either way it gets a record."""
    pod = workload.pod
    there = state.named(pod.namespace, pod.name)
    # A changed manifest file replaces its pod under the same name while the old one still ends; the
    # API refuses that, like an API server.
    leaves = there is not None and there.run.deletion is not None
    if there is not None and not (leaves and workload.source is WorkloadSource.FILE):
        fields = {"namespace": pod.namespace, "name": pod.name, "uid": there.uid}
        return Decided(state, RequestRefused(RequestRefusal.ALREADY_EXISTS, fields))
    if pod.uid in state.records:
        other = state.records[pod.uid].workload.pod
        fields = {"uid": pod.uid, "namespace": other.namespace, "name": other.name}
        return Decided(state, RequestRefused(RequestRefusal.CONFLICT, fields))
    if there is not None:
        # Clients see the old pod go before the new one appears, each with its own version.
        state = state.renumbered()
    decided = _decided(state, PodRecord(workload, PodRun(accepted_at=now)), now, stopwatch)
    return replace(decided, state=with_counted_rejection(decided.state, pod.uid))


def with_counted_rejection(state: NodeState, uid: str) -> NodeState:
    """Count the rejection of this pod, if it was rejected.

    The kubelet counts pods that are new to it; after its restart all of them are
    (``HandlePodAdditions``, v1.37).
    """
    verdict = state.records[uid].run.verdict
    if verdict is None or verdict.admitted:
        return state
    return replace(state, counts=admission_counts.after_rejection(state.counts, verdict.reason))


def readmit(state: NodeState, record: PodRecord, now: datetime, stopwatch: Stopwatch) -> Decided:
    """Admit a known pod again, as after every restart."""
    return _decided(state, record, now, stopwatch)


def _decided(state: NodeState, record: PodRecord, now: datetime, stopwatch: Stopwatch) -> Decided:
    pod = record.workload.pod
    collector = Collector()
    began = stopwatch()
    node, decision = state.node.admit(pod, collector)
    traced = TracedDecision(node.rules, decision, tuple(collector.events), stopwatch() - began)
    verdict = kubelet.verdict(decision.rejection)
    run = record.run
    if verdict != run.verdict:
        run = folding.decided(run, verdict, now)
    state = _with_evictions(state, decision.evicted, now)
    # The containers of a critical pod start only after the evicted pods have ended, as the kubelet
    # kills these synchronously before it admits the pod.
    may_evict = node.rules.behaviour.critical_pods_evict
    if may_evict and verdict.admitted and not run.has_begun:
        run = folding.after_evicted(run, _leaving(state))
    counts = admission_counts.after_admission(
        state.counts, node.rules, decision, traced.recording, traced.seconds
    )
    after = replace(state.at(node), counts=counts)
    # Only now the QoS class is known: the release decides whether pod-level resources count.
    workload = record.workload
    if decision.pod is not pod:
        workload = replace(workload, pod=decision.pod)
    is_other = record.run is not run or workload is not record.workload
    if is_other or pod.uid not in state.records:
        after = after.with_record(replace(record, run=run, workload=workload))
    if not verdict.admitted:
        after = after.with_event(
            event_of(pod, EventKind.WARNING, verdict.reason, verdict.message, now)
        )
    return Decided(after, after.records[pod.uid], (traced,))


def _with_evictions(state: NodeState, uids: Sequence[str], now: datetime) -> NodeState:
    verdict = kubelet.EVICTED
    for uid in uids:
        record = state.records[uid]
        state = state.with_run(uid, folding.decided(record.run, verdict, now))
        state = state.with_event(
            event_of(record.workload.pod, EventKind.WARNING, verdict.reason, verdict.message, now)
        )
    return state


def _leaving(state: NodeState) -> Iterator[Evicted]:
    """Evicted pods that may still run, and how long to wait for each."""
    for record in state.records.values():
        evicted_at = record.run.decided_at
        if evicted_at is not None and lifecycle.is_leaving(record.workload, record.run):
            patience = lifecycle.kill_patience_seconds(record.workload.grace_period_seconds)
            until = evicted_at + timedelta(seconds=patience)
            yield Evicted(record.uid, str(record.workload.pod), until)


def delete(
    state: NodeState,
    namespace: str,
    name: str,
    *,
    grace_seconds: float | None,
    uid: str | None,
    now: datetime,
) -> Decided:
    """Request the end of a pod; a repeated request may shorten the grace period."""
    record = state.named(namespace, name)
    fields = {"namespace": namespace, "name": name}
    if record is None:
        return Decided(state, RequestRefused(RequestRefusal.NOT_FOUND, fields))
    if uid is not None and uid != record.uid:
        return Decided(
            state, RequestRefused(RequestRefusal.CONFLICT, fields | {"uid": uid, "is": record.uid})
        )
    # A manifest file would bring the pod back, so its file has to be removed instead.
    if record.workload.source is WorkloadSource.FILE:
        origin = record.workload.origin
        return Decided(state, RequestRefused(RequestRefusal.CONFLICT, fields | {"origin": origin}))
    after = with_deletion(state, record.uid, grace_seconds, now)
    return Decided(after, after.records[record.uid])


def revise(state: NodeState, before: Workload, after: Workload, version: int | None) -> Decided:
    """Change the manifest of a pod, not its decision or programs."""
    pod = before.pod
    fields = {"namespace": pod.namespace, "name": pod.name}
    record = state.records.get(pod.uid)
    if record is None:
        return Decided(state, RequestRefused(RequestRefusal.NOT_FOUND, fields))
    # The caller merged its change into ``before``. If another request was faster, the client has to
    # read and merge again (409).
    if record.workload is not before or version not in (None, record.resource_version):
        return Decided(state, RequestRefused(RequestRefusal.CONFLICT, fields))
    changed = state.with_record(replace(record, workload=after))
    return Decided(changed, changed.records[pod.uid])


def of_request(state: NodeState, request: Request, now: datetime, stopwatch: Stopwatch) -> Decided:
    match request:
        case Create(workload):
            return create(state, workload, now, stopwatch)
        case Revise(before=before, after=after, version=version):
            return revise(state, before, after, version)
        case Delete():
            return delete(
                state,
                request.namespace,
                request.name,
                grace_seconds=request.grace_seconds,
                uid=request.uid,
                now=now,
            )
        case _:
            assert_never(request)


def with_deletion(
    state: NodeState, uid: str, grace_seconds: float | None, now: datetime
) -> NodeState:
    record = state.records[uid]
    grace = record.workload.grace_period_seconds if grace_seconds is None else grace_seconds
    return state.with_run(uid, folding.deletion_requested(record.run, now, grace))


def event_of(
    pod: Pod,
    kind: EventKind,
    reason: str,
    message: str | Message,
    now: datetime,
    container: str = "",
) -> NodeEvent:
    """An event about a pod; a plain text is the kubelet's."""
    said = message if isinstance(message, Message) else Message(message)
    return records.event_about(pod, kind, reason, said.text, now, container, said.causes)


class Followed(Value):
    """The state after a reading of the manifest folder, with decisions."""

    state: NodeState
    traces: tuple[TracedDecision, ...]


def follow(
    state: NodeState,
    read: FolderRead,
    now: datetime,
    stopwatch: Stopwatch,
    later: frozenset[str] = frozenset(),
) -> Followed:
    """Delete pods of removed files, then admit pods of new files.

    New pods in ``later`` are left to ``admit_from_folder``. A pod with a changed file and the same
    uid is deleted and returns with a later reading.
    """
    wanted = {workload.uid: workload for workload in read.workloads}
    for uid, record in state.records.items():
        workload = record.workload
        if workload.source is not WorkloadSource.FILE or record.run.deletion is not None:
            continue
        if uid in wanted and _same_content(wanted[uid], workload):
            continue
        # An unreadable file may be half-written, so keep its pod.
        if uid not in wanted and not read.unreadable.isdisjoint(_places(workload.origin)):
            continue
        state = with_deletion(state, uid, None, now)
        if not state.node.rules.behaviour.release_at_once:
            # The kubelet's pod manager forgets the pod while its containers still stop.
            state = state.at(state.node.remove(uid))
    traces: list[TracedDecision] = []
    for uid, workload in wanted.items():
        if uid in state.records or uid in later:
            continue
        followed = admit_from_folder(state, read, workload, now, stopwatch)
        state = followed.state
        traces += followed.traces
    # The pod of a broken file keeps running, so this event is the only sign of the error.
    for path, findings in read.broken.items():
        message = foreign_texts.sentences(findings)
        state = state.with_event(
            NodeEvent(
                kind=EventKind.WARNING,
                reason=kubelet.INVALID_MANIFEST,
                message=kubelet.invalid_manifest(path, message),
                at=now,
                resource_version=0,
            )
        )
    return Followed(state, tuple(traces))


def admit_from_folder(
    state: NodeState, read: FolderRead, workload: Workload, now: datetime, stopwatch: Stopwatch
) -> Followed:
    decided = create(state, workload, now, stopwatch)
    return Followed(_with_remarks(decided.state, workload, read, now), decided.traces)


def _places(origin: str) -> tuple[str, str]:
    """The path of a manifest and its folder."""
    return origin, origin.rpartition("/")[0]


def _with_remarks(
    state: NodeState, workload: Workload, read: FolderRead, now: datetime
) -> NodeState:
    """Add an event with remarks on a manifest file."""
    remarks = read.remarks.get(workload.uid, ())
    if not remarks or workload.uid not in state.records:
        return state
    is_warning = any(each.severity is not Severity.NOTE for each in remarks)
    kind = EventKind.WARNING if is_warning else EventKind.NORMAL
    text = "; ".join(str(each) for each in remarks)
    finding = EventManifestRemarks(path=workload.origin, cause=text)
    message = events.message(finding, map(Cause.of, remarks))
    return state.with_event(event_of(workload.pod, kind, kubelet.MANIFEST_REMARKS, message, now))


def _same_content(one: Workload, other: Workload) -> bool:
    return (one.pod, one.containers, one.restart_policy, one.grace_period_seconds) == (
        other.pod,
        other.containers,
        other.restart_policy,
        other.grace_period_seconds,
    )
