"""The keeper: the node's control loop, the one task that changes its state.

It drains its inbox, decides one message after the other in memory, writes once for all of them
in a thread while further messages gather, and then, and not before, publishes the new view,
answers, and gives the worker its tasks. If the node state can not be written the decisions are
dropped and their requests refused; facts are kept and tried again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Final, TypeAlias

from numalet.agent.keeper import changes, cordon, decisions, journal, viewing
from numalet.agent.keeper.batch import Batch
from numalet.agent.keeper.changes import History
from numalet.agent.keeper.deciding import Decider
from numalet.agent.keeper.decisions import Decided
from numalet.agent.keeper.dependencies import KeeperDependencies
from numalet.agent.keeper.node_state import NodeState
from numalet.agent.keeper.performer import Performer
from numalet.agent.keeper.plugin_decisions import Rehearsed
from numalet.agent.keeper.requests import (
    Answer,
    Create,
    Delete,
    Fact,
    FolderRead,
    Message,
    Request,
    Revise,
)
from numalet.agent.keeper.store import StorageFailed, problem_of
from numalet.agent.keeper.tasks import Resync, Task
from numalet.agent.keeper.viewing import Condition
from numalet.agent.servers.door import (
    AgentView,
    ChangeKind,
    EventChange,
    Foreseen,
    OwnershipMode,
    PodChange,
    RequestRefusal,
    RequestRefused,
)
from numalet.agent.telemetry.metrics import Counts
from numalet.core.model.findings import BadInput
from numalet.core.model.pod import ContainerKey
from numalet.core.workload.record import PodRecord
from numalet.core.workload.spec import Workload

RETRY_SECONDS: Final = 1.0
"""Pause before the node state, which could not be written, is written again."""
_Decide: TypeAlias = Callable[[NodeState, datetime], Decided]


class Keeper:
    """Implements the ``Door`` of ``servers``; ``run`` is its life."""

    def __init__(self, state: NodeState, around: KeeperDependencies) -> None:
        self._state = state
        self._around = around
        self._condition = Condition(started_at=around.clock(), unschedulable=around.unschedulable)
        self._inbox: asyncio.Queue[Message | Rehearsed] = asyncio.Queue()
        self._decider = Decider(around, self._inbox.put_nowait)
        self._held: list[Fact] = []
        self._pods: History[PodChange] = History(self.view, state.resource_version)
        self._events: History[EventChange] = History(self.view, state.resource_version)
        self._wakes: dict[str, datetime] = dict.fromkeys(state.records, self._condition.started_at)
        self._busy = asyncio.Lock()
        self._has_stopped = False
        self._folder: FolderRead | None = None
        self._performer = Performer(
            around.runtime,
            around.wanted,
            lambda: self._state,
            self.enqueue,
            around.clock,
            around.handing,
            around.start_patience_seconds,
        )
        self._news = asyncio.Event()
        self._view = self._viewed()

    # The door.

    def view(self) -> AgentView:
        """The agent as it is now, as far as its state is safe on disk."""
        return self._view

    def counts(self) -> Counts:
        """Everything that is counted, by the agent and by its other servers."""
        return self._view.counts.and_also(each() for each in self._around.also_counted)

    async def create(self, workload: Workload) -> PodRecord | RequestRefused:
        """Decide about a pod; returns after the decision is on disk, admitted or not."""
        if not cordon.lets_in(workload, self._condition):
            return RequestRefused(RequestRefusal.CORDONED)
        return await self._answered(lambda answer: Create(workload, answer))

    async def revise(
        self, before: Workload, after: Workload, *, version: int | None = None
    ) -> PodRecord | RequestRefused:
        """Let a pod be described otherwise; returns after it is on disk."""
        return await self._answered(
            lambda answer: Revise(before=before, after=after, version=version, answer=answer)
        )

    async def delete(
        self, namespace: str, name: str, *, grace_seconds: float | None, uid: str | None = None
    ) -> PodRecord | RequestRefused:
        """Ask for a pod to end and go. ``grace_seconds`` None means the pod's own period."""
        return await self._answered(
            lambda answer: Delete(
                namespace=namespace,
                name=name,
                grace_seconds=grace_seconds,
                uid=uid,
                answer=answer,
            )
        )

    def foresee_create(self, workload: Workload) -> Foreseen | RequestRefused:
        """What ``create`` would come to now. Nothing is kept, and no plugin is asked."""
        if not cordon.lets_in(workload, self._condition):
            return RequestRefused(RequestRefusal.CORDONED)
        return self._foreseen(
            lambda state, now: decisions.create(state, workload, now, self._around.stopwatch)
        )

    def foresee_alone(self, workload: Workload) -> Foreseen | RequestRefused:
        """What ``create`` would come to if there were no other pod."""
        return self._foreseen(
            lambda old, now: decisions.create(old.emptied(), workload, now, self._around.stopwatch)
        )

    def foresee_delete(
        self, namespace: str, name: str, *, grace_seconds: float | None, uid: str | None = None
    ) -> Foreseen | RequestRefused:
        """What ``delete`` would come to now. Nothing is kept."""
        return self._foreseen(
            lambda state, now: decisions.delete(
                state, namespace, name, grace_seconds=grace_seconds, uid=uid, now=now
            )
        )

    def _foreseen(self, decide: _Decide) -> Foreseen | RequestRefused:
        closed = self._closed()
        if closed is not None:
            return closed
        state = self._state.at(self._state.node.asking_nobody())
        decided = decide(state, self._around.clock())
        if isinstance(decided.answer, RequestRefused):
            return decided.answer
        return Foreseen(decided.answer, decided.state.node)

    async def cordon(self, *, unschedulable: bool) -> RequestRefused | None:
        """Take no more pods from the API, or take them again; returns after it is on disk."""
        if (closed := self._closed()) is not None:
            return closed
        async with self._busy:
            try:
                await asyncio.to_thread(self._around.keep_cordon, unschedulable)
            except BadInput as bad:
                return RequestRefused(RequestRefusal.STORAGE, {"problem": problem_of(bad)})
            self._condition.unschedulable = unschedulable
            self._state = self._state.renumbered()
            self._show()
        return None

    async def _answered(self, asked: Callable[[Answer], Request]) -> PodRecord | RequestRefused:
        closed = self._closed()
        if closed is not None:
            return closed
        request = asked(asyncio.get_running_loop().create_future())
        self._inbox.put_nowait(request)
        return await request.answer

    def pod_changes(self, since: int) -> AsyncIterator[PodChange] | RequestRefused:
        """All changes after this resource version, then those to come."""
        return self._pods.since(since)

    def event_changes(self, since: int) -> AsyncIterator[EventChange] | RequestRefused:
        """All events after this resource version, then those to come."""
        return self._events.since(since)

    def past_pod_changes(self, since: int) -> Sequence[PodChange] | RequestRefused:
        """The changes between this resource version and now, oldest first."""
        return self._pods.past(since)

    def past_event_changes(self, since: int) -> Sequence[EventChange] | RequestRefused:
        """The changes of events between this resource version and now, oldest first."""
        return self._events.past(since)

    def log_path(self, key: ContainerKey, *, previous: bool = False) -> Path | None:
        """Where the output of a container's latest (or previous) attempt is kept."""
        record = self._state.records.get(key.pod_uid)
        attempt = 0 if record is None else record.run.of(key.container).attempt
        attempt -= previous
        return self._around.runtime.log_path(key, attempt) if attempt > 0 else None

    def _closed(self) -> RequestRefused | None:
        if self._around.standing is OwnershipMode.OBSERVING:
            return RequestRefused(RequestRefusal.OBSERVING)
        return RequestRefused(RequestRefusal.STOPPING) if self._condition.stopping else None

    # The work.

    def enqueue(self, fact: Fact) -> None:
        """Let the keeper know of something that happened."""
        self._inbox.put_nowait(fact)

    async def changed(self) -> None:
        """Wait until there is another view."""
        await self._news.wait()

    def resync(self) -> None:
        """Compare what runs with what is wanted now, and mend it."""
        self._performer.enqueue([Resync()])

    def begin(self, tasks: Iterable[Task]) -> None:
        """What a recovery left to do."""
        self._performer.enqueue(tasks)

    async def stop(self) -> None:
        """Take no more requests, and return when what is being written is written.

        What is asked of a plugin now comes to nothing: who waits for it is told that we stop.
        """
        self._condition.stopping = True
        self._show()
        if not self._has_stopped:
            self._has_stopped = True
            await self._busy.acquire()
            self._state = self._state.renumbered()
            self._show()

    async def settled(self) -> None:
        """Wait until nothing that is known now is left to do. For tests and a clean stop."""
        while True:
            await self._inbox.join()
            await self._performer.idle()
            if self._busy.locked() and not self._has_stopped:
                # What a clock asked for is written without a message that could be waited for,
                # and what is not written after all brings no other view.
                async with self._busy:
                    continue
            if self._held or not self._decider.is_idle:
                await self.changed()
            elif self._inbox.empty():
                return

    async def run(self) -> None:
        """Keep the node until cancelled. Whatever runs goes on running."""
        try:
            async with asyncio.TaskGroup() as group:
                self._decider.group = group
                if self._around.standing is OwnershipMode.ENFORCING:
                    group.create_task(self._performer.run())
                    group.create_task(self._listen())
                    group.create_task(self._resync_periodically())
                group.create_task(self._keep())
        finally:
            self._decider.close()
            self._condition.stopping = True
            self._pods.close()
            self._events.close()
            self._turn_away()

    async def _listen(self) -> None:
        async for each in self._around.runtime.news():
            self.enqueue(each)

    async def _resync_periodically(self) -> None:
        while True:
            self.resync()
            await asyncio.sleep(self._around.resync_seconds)

    async def _keep(self) -> None:
        while True:
            messages = await self._next_messages()
            try:
                async with self._busy:
                    await self._handle(messages)
            finally:
                for _ in messages:
                    self._inbox.task_done()

    async def _next_messages(self) -> list[Message | Rehearsed]:
        """Everything that waits, at least one message or a pod whose time has come."""
        try:
            async with asyncio.timeout(self._patience()):
                messages = [await self._inbox.get()]
        except TimeoutError:
            return []
        while not self._inbox.empty():
            messages.append(self._inbox.get_nowait())
        return messages

    def _patience(self) -> float | None:
        """How long nothing has to be looked at."""
        if self._held or self._condition.problem:
            return RETRY_SECONDS
        if not self._wakes or self._around.standing is OwnershipMode.OBSERVING:
            return None
        wait = min(self._wakes.values()) - self._around.clock()
        return max(0.0, wait.total_seconds())

    async def _handle(self, messages: list[Message | Rehearsed]) -> None:
        now = self._around.clock()
        held, self._held = self._held, []
        batch = self._decider.batch(self._state, self._folder)
        await self._decider.decide_all(batch, (*held, *messages), now)
        self._folder = batch.folder
        if batch.is_large(self._state):
            wakes = await asyncio.to_thread(batch.advance, self._state, self._wakes, now)
        else:
            wakes = batch.advance(self._state, self._wakes, now)
        try:
            await self._write(batch)
        except StorageFailed as failed:
            if not self._condition.problem:
                self._state = self._state.renumbered()
            self._condition.problem = failed.problem
            self._held = batch.facts
            refused = RequestRefused(RequestRefusal.STORAGE, {"problem": failed.problem})
            self._answer([(request, refused) for request, _ in batch.answers])
            self._show()
            return
        if self._condition.problem:
            self._condition.problem = ""
            batch.state = batch.state.renumbered()
        self._wakes = wakes
        self._publish(batch)

    async def _write(self, batch: Batch) -> None:
        """Put the batch on the disk, unless nothing in it belongs there."""
        before, after = self._state, batch.state
        if after is before and not self._condition.problem:
            return
        if self._around.standing is OwnershipMode.OBSERVING:
            return
        fresh = changes.of_events(before, after)
        lines = [
            journal.line_of(each.event) for each in fresh if each.kind is not ChangeKind.DELETED
        ]
        now = self._around.clock()
        for decision in (each.decision for each in batch.traces):
            verdict = decisions.verdict_of(decision.rejection)
            lines.append(journal.verdict_line(decision.pod, verdict, now))
        await asyncio.to_thread(self._around.store.commit, before, after, lines)

    def _publish(self, batch: Batch) -> None:
        before, after = self._state, batch.state
        self._state = replace(after, gone={}) if after.gone else after
        if batch.audits is not None:
            self._condition.audits = batch.audits
        self._show()
        self._pods.publish(changes.of_pods(before, after))
        self._events.publish(changes.of_events(before, after))
        self._answer([(request, self._current(answer)) for request, answer in batch.answers])
        self._performer.enqueue(batch.tasks)
        for traced in batch.traces:
            self._around.on_decision(traced)

    def _current(self, answer: PodRecord | RequestRefused) -> PodRecord | RequestRefused:
        """A record as it is after the whole batch."""
        if isinstance(answer, RequestRefused):
            return answer
        return self._state.records.get(answer.uid, answer)

    def _answer(self, answers: list[tuple[Request, PodRecord | RequestRefused]]) -> None:
        for request, answer in answers:
            # Who asked may have gone away meanwhile.
            if not request.answer.done():
                request.answer.set_result(answer)

    def _turn_away(self) -> None:
        for waiting in self._decider.undecided():
            if isinstance(waiting, Request):
                self._answer([(waiting, RequestRefused(RequestRefusal.STOPPING))])
        while not self._inbox.empty():
            message = self._inbox.get_nowait()
            if isinstance(message, Request):
                self._answer([(message, RequestRefused(RequestRefusal.STOPPING))])
            self._inbox.task_done()

    def _show(self) -> None:
        """Publish the state as it is now."""
        self._view = self._viewed()
        news, self._news = self._news, asyncio.Event()
        news.set()

    def _viewed(self) -> AgentView:
        return viewing.view(self._around, self._state, self._condition, self._performer)
