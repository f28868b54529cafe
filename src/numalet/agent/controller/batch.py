"""A batch of decisions that are not on disk yet.

Each message sees the state after the previous one. Requests are answered and tasks start after the
whole batch is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from numalet.agent.controller import decisions, requests, steps, transitions
from numalet.agent.controller.decisions import Stopwatch, TracedDecision
from numalet.agent.controller.node_state import NodeState
from numalet.agent.controller.requests import (
    Fact,
    FolderPod,
    FolderRead,
    KubeletSeen,
    Message,
    Request,
    ResyncResult,
)
from numalet.agent.controller.steps import Settle, Task
from numalet.agent.servers.door import RequestRefused
from numalet.core.enforcement.comparison import Audit
from numalet.core.managers.device.preference import PreferredDevices
from numalet.core.model.pod import ContainerKey
from numalet.core.model.value import Mutable, field, replace
from numalet.core.workload.records import PodRecord
from numalet.core.workload.spec import Workload


class Batch(Mutable):
    """Decisions on ``state``; ``folder`` is the last reading of the manifest folder.

    ``facts`` are decided messages without an answer. With ``splits_folder``, new pods of the folder
    that need a plugin become separate messages. ``further`` are resulting messages.
    """

    state: NodeState
    folder: FolderRead | None
    stopwatch: Stopwatch
    answers: list[tuple[Request, PodRecord | RequestRefused]] = field(default_factory=list)
    traces: list[TracedDecision] = field(default_factory=list)
    tasks: list[Task] = field(default_factory=list)
    audits: dict[ContainerKey, Audit] | None = None
    facts: list[Fact] = field(default_factory=list)
    splits_folder: bool = False
    further: list[Message] = field(default_factory=list)

    def apart(self, plugins: PreferredDevices) -> Batch:
        """A copy on the same state that calls these plugins."""
        state = self.state.at(self.state.node.asking(plugins))
        return Batch(state, self.folder, self.stopwatch, splits_folder=self.splits_folder)

    def merge(self, other: Batch) -> None:
        """Continue with the decisions of an ``apart`` batch, but with this one's plugins."""
        node = replace(other.state.node, roster=self.state.node.roster)
        self.state, self.folder = other.state.at(node), other.folder
        self.answers += other.answers
        self.traces += other.traces
        self.facts += other.facts
        self.further += other.further

    def is_large(self, before: NodeState) -> bool:
        """Whether ``advance`` would block the event loop noticeably."""
        return any(
            len(self.state.records[uid].workload.containers) > requests.LARGE
            for uid in self.state.records.changed_since(before.records)
        )

    def decide(self, message: Message, now: datetime) -> None:
        """Apply one message to the state."""
        before = self.state
        if not isinstance(message, Request):
            self.facts.append(message)
        match message:
            case requests.Create() | requests.Revise() | requests.Delete():
                decided = decisions.of_request(before, message, now, self.stopwatch)
                self.state = decided.state
                self.traces += decided.traces
                self.answers.append((message, decided.answer))
            case FolderRead():
                self.folder = message
                self._follow(message, now)
            case FolderPod(workload):
                self._admit_from_folder(workload, now)
            case ResyncResult() | KubeletSeen():
                self.audits = dict(message.audits)
                self.state = transitions.after_fact(before, message, now)
            case _:
                self.state = transitions.after_fact(before, message, now)
                if self.folder is not None and before.records.keys() - self.state.records.keys():
                    # A changed file whose pod has the same uid may have waited for the old pod's
                    # end.
                    self.further.append(replace(self.folder, broken={}))

    def _follow(self, read: FolderRead, now: datetime) -> None:
        apart = (
            [each for each in read.workloads if requests.resources_of(each)]
            if self.splits_folder
            else []
        )
        later = frozenset(each.uid for each in apart)
        followed = decisions.follow(self.state, read, now, self.stopwatch, later)
        self.state = followed.state
        self.traces += followed.traces
        self.further += [FolderPod(each) for each in apart if each.uid not in self.state.records]

    def _admit_from_folder(self, workload: Workload, now: datetime) -> None:
        """Decide on a pod of the folder, unless it has changed or is already known."""
        read = self.folder
        if read is None or workload.uid in self.state.records or workload not in read.workloads:
            return
        followed = decisions.admit_from_folder(self.state, read, workload, now, self.stopwatch)
        self.state = followed.state
        self.traces += followed.traces

    def advance(
        self, before: NodeState, wakes: Mapping[str, datetime], now: datetime
    ) -> dict[str, datetime]:
        """Advance every pod that changed or is due; return the new due times.

        ``before`` is the state on disk.
        """
        later = {uid: at for uid, at in wakes.items() if at > now}
        woken = {*self.state.records.changed_since(before.records), *wakes.keys() - later.keys()}
        due = [
            uid
            for uid, record in self.state.records.items()
            if uid in woken or (record.run.evicted and self._concerns(record, before))
        ]
        for uid in due:
            advanced = steps.advance(self.state, uid, now)
            self.state = advanced.state
            self.tasks += advanced.tasks
            later.pop(uid, None)
            if advanced.due_again_at is not None:
                # Never due in the past, which would make the loop spin.
                later[uid] = max(advanced.due_again_at, now + timedelta(milliseconds=1))
        old, new = before.node.snapshot, self.state.node.snapshot
        # Running containers in the shared pool must follow.
        if new.cpu is not old.cpu or new.memory is not old.memory:
            self.tasks.append(Settle())
        return later

    def _concerns(self, record: PodRecord, before: NodeState) -> bool:
        """Whether a pod that this one waits for has changed."""
        return any(
            self.state.records.get(each.uid) is not before.records.get(each.uid)
            for each in record.run.evicted
        )
