"""From the steps that a pod's life asks for to books and tasks.

An attempt is in the books, and on the disk, before the runtime hears of it. What a finished pod
held is let go before its record goes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from numalet.agent.keeper import decisions
from numalet.agent.keeper.books import Books
from numalet.agent.keeper.tasks import ForgetPod, StartContainer, StopContainer, Task
from numalet.core.model.pod import ContainerKey
from numalet.core.workload import folding, lifecycle
from numalet.core.workload.record import EventKind, PodRecord
from numalet.core.workload.spec import WorkloadSource
from numalet.wording import kubelet_events


@dataclass(frozen=True, slots=True)
class NextSteps:
    """The books after a pod's next steps, what is to be done, and when to look again."""

    books: Books
    tasks: tuple[Task, ...] = ()
    look_again_at: datetime | None = None


def take(books: Books, uid: str, now: datetime) -> NextSteps:
    """Let a pod take the steps that are due."""
    record = books.records[uid]
    ending = _still_ending(books, record)
    due = lifecycle.next_steps(record.workload, record.run, now, ending)
    tasks: list[Task] = [
        StopContainer(ContainerKey(uid, each.container), each.grace_seconds) for each in due.stop
    ]
    node, run = books.node, record.run
    for name in due.start:
        key = ContainerKey(uid, name)
        run = folding.starting(run, name)
        if uid in node.snapshot.pods:
            node = node.container_started(key)
        tasks.append(StartContainer(key, run.of(name).attempt))
    if due.finished and _is_active(books, uid):
        node = node.remove(uid)
    ends_with_its_command = due.finished and record.workload.source is WorkloadSource.RUN
    if ends_with_its_command:
        # Nobody else will ask: whoever wanted the command has seen its end.
        run = folding.deletion_requested(run, now, 0.0)
    if due.forgettable or ends_with_its_command:
        tasks.append(ForgetPod(uid))
    # Asked again and again until it ends, and told once.
    news = [each.container for each in due.stop if not run.of(each.container).asked_to_end]
    run = folding.asked_to_end(run, news)
    after = books.at(node).with_run(uid, run)
    for name in news:
        after = _with_killing(after, record, name, now)
    if due.start and not record.run.has_begun:
        after = _with_overdue(after, ending, now)
    return NextSteps(after, tuple(tasks), due.look_again_at)


def _still_ending(books: Books, record: PodRecord) -> tuple[str, ...]:
    """Which of those that were evicted for a pod are not finished."""
    there = (books.records.get(each.uid) for each in record.run.evicted)
    return tuple(each.uid for each in there if each is not None and decisions.is_leaving(each))


def _with_overdue(books: Books, uids: Iterable[str], now: datetime) -> Books:
    """The books that say that these pods were not waited for any longer."""
    for uid in uids:
        pod = books.records[uid].workload.pod
        reason, message = kubelet_events.EXCEEDED_GRACE_PERIOD, kubelet_events.NOT_KILLED
        books = books.with_event(decisions.event_of(pod, EventKind.WARNING, reason, message, now))
    return books


def _with_killing(books: Books, record: PodRecord, name: str, now: datetime) -> Books:
    """The books that say that this container is asked to end."""
    message = kubelet_events.killing(name)
    pod = record.workload.pod
    return books.with_event(
        decisions.event_of(pod, EventKind.NORMAL, kubelet_events.KILLING, message, now, name)
    )


def is_finished(record: PodRecord, now: datetime) -> bool:
    """Whether nothing of a pod runs or will run."""
    return lifecycle.next_steps(record.workload, record.run, now).finished


def _is_active(books: Books, uid: str) -> bool:
    snapshot = books.node.snapshot
    return uid in snapshot.pods or any(key.pod_uid == uid for key in snapshot.assumed)
