"""What becomes of the books when a pod is asked for, or is to go. Pure: books in, books out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, TypeAlias, assert_never

from numalet.agent.keeper.books import Books
from numalet.agent.keeper.requests import Create, Delete, FolderRead, Request, Revise
from numalet.agent.servers.door import RequestRefusal, RequestRefused
from numalet.agent.telemetry import admission_counts
from numalet.core.admission.collector import Collector, Event
from numalet.core.admission.decision import Decision
from numalet.core.admission.reasons import Rejection
from numalet.core.config.rules import NodeRules
from numalet.core.model.findings import Severity
from numalet.core.model.pod import Pod
from numalet.core.workload import folding, lifecycle
from numalet.core.workload.record import EventKind, NodeEvent, PodRecord
from numalet.core.workload.run import Evicted, PodRun, Verdict
from numalet.core.workload.spec import Workload, WorkloadSource
from numalet.wording import english, kubelet, kubelet_events, unquoted

EVICTED: Final = "admission/preempted"
"""The cause in the verdict on a pod that was told to end for another one."""

Stopwatch: TypeAlias = Callable[[], float]
"""Seconds since some moment; for measuring how long a decision takes."""


@dataclass(frozen=True, slots=True)
class TracedDecision:
    """A decision, everything that was recorded while it was made, and how long it took."""

    rules: NodeRules
    decision: Decision
    recording: tuple[Event, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class Decided:
    """The books after a request, the answer, and what was decided if anything was."""

    books: Books
    answer: PodRecord | RequestRefused
    heard: tuple[TracedDecision, ...] = ()


def create(books: Books, workload: Workload, now: datetime, stopwatch: Stopwatch) -> Decided:
    """The pod is admitted or rejected; either way it has a record from now on."""
    pod = workload.pod
    there = books.named(pod.namespace, pod.name)
    leaves = there is not None and there.run.deletion is not None
    if there is not None and not (leaves and workload.source is WorkloadSource.FILE):
        fields = {"namespace": pod.namespace, "name": pod.name, "uid": there.uid}
        return Decided(books, RequestRefused(RequestRefusal.ALREADY_EXISTS, fields))
    if pod.uid in books.records:
        other = books.records[pod.uid].workload.pod
        fields = {"uid": pod.uid, "namespace": other.namespace, "name": other.name}
        return Decided(books, RequestRefused(RequestRefusal.CONFLICT, fields))
    if there is not None:
        # For clients the one that ends goes before this one comes, each at a version of its own.
        books = books.renumbered()
    decided = _decided(books, PodRecord(workload, PodRun(accepted_at=now)), now, stopwatch)
    run = decided.books.records[pod.uid].run
    if run.verdict is None or run.verdict.admitted:
        return decided
    counts = admission_counts.after_rejection(decided.books.counts, run.verdict.reason)
    return replace(decided, books=replace(decided.books, counts=counts))


def readmit(books: Books, record: PodRecord, now: datetime, stopwatch: Stopwatch) -> Decided:
    """A pod that is known asks again, as every pod does after a start."""
    return _decided(books, record, now, stopwatch)


def _decided(books: Books, record: PodRecord, now: datetime, stopwatch: Stopwatch) -> Decided:
    pod = record.workload.pod
    collector = Collector()
    began = stopwatch()
    node, decision = books.node.admit(pod, collector)
    heard = TracedDecision(node.rules, decision, tuple(collector.events), stopwatch() - began)
    verdict = verdict_of(decision.rejection)
    run = record.run
    if verdict != run.verdict:
        run = folding.decided(run, verdict, now)
    books = _with_evictions(books, decision.evicted, now)
    may_evict = node.rules.behaviour.critical_pods_evict
    if may_evict and verdict.admitted and not run.has_begun:
        run = folding.after_evicted(run, _leaving(books))
    counts = admission_counts.after_admission(
        books.counts, node.rules, decision, heard.recording, heard.seconds
    )
    after = replace(books.at(node), counts=counts)
    if record.run is not run or pod.uid not in books.records:
        after = after.with_record(replace(record, run=run))
    if not verdict.admitted:
        after = after.with_event(
            event_of(pod, EventKind.WARNING, verdict.reason, verdict.message, now)
        )
    return Decided(after, after.records[pod.uid], (heard,))


def _with_evictions(books: Books, uids: Sequence[str], now: datetime) -> Books:
    """The books in which these pods are over, for the sake of another one."""
    verdict = Verdict(False, kubelet.PREEMPTING, kubelet.PREEMPTED, EVICTED)
    for uid in uids:
        record = books.records[uid]
        books = books.with_run(uid, folding.decided(record.run, verdict, now))
        books = books.with_event(
            event_of(record.workload.pod, EventKind.WARNING, verdict.reason, verdict.message, now)
        )
    return books


def is_leaving(record: PodRecord) -> bool:
    """Whether a pod was told to end for another one and something of it may still run."""
    verdict = record.run.verdict
    is_evicted = verdict is not None and verdict.cause == EVICTED
    return is_evicted and not lifecycle.has_ended(record.workload, record.run)


def _leaving(books: Books) -> Iterator[Evicted]:
    """Every evicted pod of which something may still run, and how long it is waited for."""
    for record in books.records.values():
        told_at = record.run.decided_at
        if told_at is not None and is_leaving(record):
            patience = lifecycle.kill_patience_seconds(record.workload.grace_period_seconds)
            until = told_at + timedelta(seconds=patience)
            yield Evicted(record.uid, str(record.workload.pod), until)


def verdict_of(rejection: Rejection | None) -> Verdict:
    """What admission said, in the kubelet's words."""
    if rejection is None:
        return Verdict(True)
    return Verdict(False, kubelet.reason(rejection), kubelet.message(rejection), rejection.code)


def delete(
    books: Books,
    namespace: str,
    name: str,
    *,
    grace_seconds: float | None,
    uid: str | None,
    now: datetime,
) -> Decided:
    """The pod is to end and go. Asked again with a shorter period, it has less time."""
    record = books.named(namespace, name)
    fields = {"namespace": namespace, "name": name}
    if record is None:
        return Decided(books, RequestRefused(RequestRefusal.NOT_FOUND, fields))
    if uid is not None and uid != record.uid:
        return Decided(
            books, RequestRefused(RequestRefusal.CONFLICT, fields | {"uid": uid, "is": record.uid})
        )
    if record.workload.source is WorkloadSource.FILE:
        origin = record.workload.origin
        return Decided(books, RequestRefused(RequestRefusal.CONFLICT, fields | {"origin": origin}))
    after = with_deletion(books, record.uid, grace_seconds, now)
    return Decided(after, after.records[record.uid])


def revise(books: Books, before: Workload, after: Workload, version: int | None) -> Decided:
    """The pod is described otherwise; what is decided and what runs stays as it is."""
    pod = before.pod
    fields = {"namespace": pod.namespace, "name": pod.name}
    record = books.records.get(pod.uid)
    if record is None:
        return Decided(books, RequestRefused(RequestRefusal.NOT_FOUND, fields))
    if record.workload is not before or version not in (None, record.resource_version):
        return Decided(books, RequestRefused(RequestRefusal.CONFLICT, fields))
    changed = books.with_record(replace(record, workload=after))
    return Decided(changed, changed.records[pod.uid])


def of_request(books: Books, request: Request, now: datetime, stopwatch: Stopwatch) -> Decided:
    """What a request comes to."""
    match request:
        case Create(workload):
            return create(books, workload, now, stopwatch)
        case Revise(before=before, after=after, version=version):
            return revise(books, before, after, version)
        case Delete():
            return delete(
                books,
                request.namespace,
                request.name,
                grace_seconds=request.grace_seconds,
                uid=request.uid,
                now=now,
            )
        case _:
            assert_never(request)


def with_deletion(books: Books, uid: str, grace_seconds: float | None, now: datetime) -> Books:
    """The books in which this pod is to go."""
    record = books.records[uid]
    grace = record.workload.grace_period_seconds if grace_seconds is None else grace_seconds
    return books.with_run(uid, folding.deletion_requested(record.run, now, grace))


def event_of(
    pod: Pod, kind: EventKind, reason: str, message: str, now: datetime, container: str = ""
) -> NodeEvent:
    """An event about a pod; the books give it its version."""
    return NodeEvent(
        kind=kind,
        reason=reason,
        message=message,
        at=now,
        resource_version=0,
        pod_uid=pod.uid,
        pod_name=pod.name,
        namespace=pod.namespace,
        container=container,
    )


@dataclass(frozen=True, slots=True)
class Followed:
    """The books after the manifest folder was read, and what was decided."""

    books: Books
    heard: tuple[TracedDecision, ...]


def follow(
    books: Books,
    read: FolderRead,
    now: datetime,
    stopwatch: Stopwatch,
    later: frozenset[str] = frozenset(),
) -> Followed:
    """Pods whose files went are to go, pods of new files are decided upon; first the former.

    The pods with the uids ``later`` are left to ``take_from_folder`` if they are new.

    A pod that keeps its uid while its file says something else goes first, and comes back when
    the folder is read after that.
    """
    wanted = {workload.uid: workload for workload in read.workloads}
    for uid, record in books.records.items():
        workload = record.workload
        if workload.source is not WorkloadSource.FILE or record.run.deletion is not None:
            continue
        if uid in wanted and _same_content(wanted[uid], workload):
            continue
        if uid not in wanted and not read.unreadable.isdisjoint(_places(workload.origin)):
            continue
        books = with_deletion(books, uid, None, now)
        if not books.node.rules.behaviour.release_at_once:
            # The kubelet's pod manager lets go of it while its containers still stop.
            books = books.at(books.node.remove(uid))
    heard: list[TracedDecision] = []
    for uid, workload in wanted.items():
        if uid in books.records or uid in later:
            continue
        taken = take_from_folder(books, read, workload, now, stopwatch)
        books = taken.books
        heard += taken.heard
    for path, findings in read.broken.items():
        message = unquoted.sentences(findings)
        books = books.with_event(
            NodeEvent(
                kind=EventKind.WARNING,
                reason=kubelet_events.INVALID_MANIFEST,
                message=kubelet_events.invalid_manifest(path, message),
                at=now,
                resource_version=0,
            )
        )
    return Followed(books, tuple(heard))


def take_from_folder(
    books: Books, read: FolderRead, workload: Workload, now: datetime, stopwatch: Stopwatch
) -> Followed:
    """The books after a pod of the folder was decided upon."""
    decided = create(books, workload, now, stopwatch)
    return Followed(_with_remarks(decided.books, workload, read, now), decided.heard)


def _places(origin: str) -> tuple[str, str]:
    """The path of a manifest, and that of the folder it is in."""
    return origin, origin.rpartition("/")[0]


def _with_remarks(books: Books, workload: Workload, read: FolderRead, now: datetime) -> Books:
    """The books that say what is remarkable about a file whose pod was taken."""
    remarks = read.remarks.get(workload.uid, ())
    if not remarks or workload.uid not in books.records:
        return books
    is_warning = any(each.severity is not Severity.NOTE for each in remarks)
    kind = EventKind.WARNING if is_warning else EventKind.NORMAL
    text = "; ".join(english.of_finding(each) for each in remarks)
    message = kubelet_events.manifest_remarks(workload.origin, text)
    return books.with_event(
        event_of(workload.pod, kind, kubelet_events.MANIFEST_REMARKS, message, now)
    )


def _same_content(one: Workload, other: Workload) -> bool:
    """Whether two readings of a file mean the same, whenever they were."""
    return (one.pod, one.containers, one.restart_policy, one.grace_period_seconds) == (
        other.pod,
        other.containers,
        other.restart_policy,
        other.grace_period_seconds,
    )
