"""A batch: what was decided since the books were last written, and is not written yet.

Messages come in one after the other and each finds the books as those before it left them. Who
asked is answered, and what is to be done is begun, when the whole batch is on the disk.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from numalet.agent import decisions, facts, requests, steps
from numalet.agent.books import Books
from numalet.agent.decisions import Heard, Stopwatch
from numalet.agent.requests import FolderRead, Forgotten, KubeletSeen, Looked, Message, Request
from numalet.agent.tasks import Settle, Task
from numalet.enforcement.audit import Audit
from numalet.model.pod import ContainerKey
from numalet.servers.door import Refused
from numalet.workload.record import PodRecord


@dataclass(slots=True)
class Batch:
    """Decisions over ``books``; ``folder`` is the manifest folder as it was last read."""

    books: Books
    folder: FolderRead | None
    stopwatch: Stopwatch
    answers: list[tuple[Request, PodRecord | Refused]] = field(default_factory=list)
    heard: list[Heard] = field(default_factory=list)
    tasks: list[Task] = field(default_factory=list)
    audits: dict[ContainerKey, Audit] | None = None

    def may_ask_a_plugin(self, message: Message) -> bool:
        """Whether deciding may wait for somebody else."""
        if isinstance(message, Forgotten) and self.folder is not None:
            # When a pod went the folder is followed again.
            return requests.may_ask_a_plugin(self.folder)
        return requests.may_ask_a_plugin(message)

    def is_large(self, before: Books) -> bool:
        """Whether the next steps of what changed are so many that others would notice it."""
        return any(
            len(record.workload.containers) > requests.LARGE
            for uid, record in self.books.records.items()
            if before.records.get(uid) is not record
        )

    def decide(self, message: Message, now: datetime) -> None:
        """Let the books be what they are after this message."""
        before = self.books
        match message:
            case requests.Create() | requests.Revise() | requests.Delete():
                decided = decisions.of_request(before, message, now, self.stopwatch)
                self.books = decided.books
                self.heard += decided.heard
                self.answers.append((message, decided.answer))
            case FolderRead():
                self.folder = message
                self._follow(message, now)
            case Looked() | KubeletSeen():
                self.audits = dict(message.audits)
                self.books = facts.told(before, message, now)
            case _:
                self.books = facts.told(before, message, now)
                if self.folder is not None and before.records.keys() - self.books.records.keys():
                    # Whoever waits for the place of a pod that kept its uid may come now.
                    self._follow(replace(self.folder, broken={}), now)

    def _follow(self, read: FolderRead, now: datetime) -> None:
        followed = decisions.follow(self.books, read, now, self.stopwatch)
        self.books = followed.books
        self.heard += followed.heard

    def advance(
        self, before: Books, wakes: Mapping[str, datetime], now: datetime
    ) -> dict[str, datetime]:
        """Let every pod that changed, or whose time has come, take its next steps.

        ``before`` are the books that are written; returns when which pod is to be looked at.
        """
        later = {uid: at for uid, at in wakes.items() if at > now}
        due = [
            uid
            for uid, record in self.books.records.items()
            if (uid not in later and uid in wakes)
            or before.records.get(uid) is not record
            or (record.run.evicted and self._concerns(record, before))
        ]
        for uid in due:
            taken = steps.take(self.books, uid, now)
            self.books = taken.books
            self.tasks += taken.tasks
            later.pop(uid, None)
            if taken.look_again_at is not None:
                later[uid] = max(taken.look_again_at, now + timedelta(milliseconds=1))
        old, new = before.node.snapshot, self.books.node.snapshot
        if new.cpu is not old.cpu or new.memory is not old.memory:
            self.tasks.append(Settle())
        return later

    def _concerns(self, record: PodRecord, before: Books) -> bool:
        """Whether something became of a pod for whose end this one may wait."""
        return any(
            self.books.records.get(each.uid) is not before.records.get(each.uid)
            for each in record.run.evicted
        )
