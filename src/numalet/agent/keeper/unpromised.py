"""Pods that run although the books no longer promise them what they run with.

After a machine has changed a promise may not fit any more, and nothing that runs is ended for
that. What was lost is an event of the pod; a pod that was refused when it asked again is marked in
its record, so that a later start, with more room, can admit it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from numalet.agent.keeper import decisions
from numalet.agent.keeper.books import Books
from numalet.agent.keeper.decisions import Decided
from numalet.agent.telemetry.metric_definitions import RECORDS_LOST
from numalet.core.workload.record import EventKind, PodRecord
from numalet.core.workload.run import ContainerPhase
from numalet.insight.state.rebase import Lost
from numalet.wording import english, kubelet_events

_UP = (ContainerPhase.STARTING, ContainerPhase.RUNNING)


def with_lost(books: Books, lost: Sequence[Lost], now: datetime) -> Books:
    """The books that count what rebasing lost, each an event of its pod if there is one."""
    for each in lost:
        books = books.counted(RECORDS_LOST, (("file", each.file),))
        key = each.key
        if key.pod_uid not in books.records:
            continue
        reason = kubelet_events.PROMISE_LOST
        message = kubelet_events.promise_lost(each.file, english.of_finding(each.why))
        books = _with_event(
            books, key.pod_uid, EventKind.WARNING, reason, message, now, key.container
        )
    return books


def goes_on(books: Books, record: PodRecord) -> bool:
    """Whether a pod that is refused at a start of the agent is kept."""
    is_up = any(each.phase in _UP for each in record.run.containers.values())
    return is_up and books.node.rules.behaviour.state_follows_the_machine


def kept(books: Books, decided: Decided, record: PodRecord, now: datetime) -> Books:
    """The books in which a pod that was refused goes on with what they still hold for it.

    ``books`` are those before it asked; of what was decided only the counts are taken.
    """
    verdict = decisions.verdict_of(decided.heard[0].decision.rejection)
    books = replace(books, counts=decided.books.counts)
    books = books.at(books.node.keep_active(record.workload.pod))
    if record.run.unpromised == verdict.message:
        return books
    books = books.with_run(record.uid, replace(record.run, unpromised=verdict.message))
    reason = kubelet_events.UNPROMISED
    message = kubelet_events.unpromised(verdict.reason, verdict.message)
    return _with_event(books, record.uid, EventKind.WARNING, reason, message, now)


def admitted(books: Books, before: PodRecord, moved: Sequence[str], now: datetime) -> Books:
    """The books after a running pod got its promise again, perhaps in another place."""
    uid = before.uid
    if before.run.unpromised:
        books = books.with_run(uid, replace(books.records[uid].run, unpromised=""))
    for name in moved:
        reason, message = kubelet_events.PROMISED_ANEW, kubelet_events.promised_anew(name)
        books = _with_event(books, uid, EventKind.NORMAL, reason, message, now, name)
    return books


def _with_event(
    books: Books,
    uid: str,
    kind: EventKind,
    reason: str,
    message: str,
    now: datetime,
    container: str = "",
) -> Books:
    pod = books.records[uid].workload.pod
    return books.with_event(decisions.event_of(pod, kind, reason, message, now, container))
