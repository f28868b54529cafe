"""The node's control loop: the only task that changes the node state.

It takes all messages from its inbox, decides on them in memory and writes once, in a thread. Only
then it publishes the view, answers and starts tasks. After a failed write, decisions are dropped
and their requests refused; facts are kept and tried again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Final

from numalet.agent.controller import changes, journal, reads
from numalet.agent.controller.batch import Batch
from numalet.agent.controller.deciding import Decider, Rehearsed
from numalet.agent.controller.dependencies import ControllerDependencies
from numalet.agent.controller.node_state import NodeState
from numalet.agent.controller.reads import ControllerReads, admits
from numalet.agent.controller.requests import (
    Answer,
    Create,
    Delete,
    Fact,
    FolderRead,
    Message,
    Request,
    Revise,
)
from numalet.agent.controller.steps import Resync, Task
from numalet.agent.controller.store import StorageFailed
from numalet.agent.controller.worker import Worker
from numalet.agent.servers.door import (
    AgentView,
    ChangeKind,
    EventChange,
    OwnershipMode,
    RequestRefusal,
    RequestRefused,
)
from numalet.core.model.findings import BadInput
from numalet.core.model.value import replace
from numalet.core.workload.records import PodRecord
from numalet.core.workload.spec import Workload
from numalet.io import os_problem
from numalet.wording import kubelet

RETRY_SECONDS: Final = 1.0
"""Pause after a failed write: a retry costs a write of the whole batch."""


class Controller(ControllerReads):
    """Implements the ``Door`` of ``servers``; ``run`` is the control loop."""

    def __init__(self, state: NodeState, dependencies: ControllerDependencies) -> None:
        super().__init__(state, dependencies)
        self._inbox: asyncio.Queue[Message | Rehearsed] = asyncio.Queue()
        """Requests and facts. Any task may put; only the loop gets."""
        self._decider = Decider(dependencies, self._inbox.put_nowait)
        self._unwritten: list[Fact] = []
        """Facts whose write failed. They happened, so the next batch starts with them."""
        self._due_at: dict[str, datetime] = dict.fromkeys(state.records, self._condition.started_at)
        """When each pod is due by the clock, by uid."""
        self._writing = asyncio.Lock()
        """Held during a write; after ``stop``, forever."""
        self._has_stopped = False
        """Lets a second ``stop`` skip the lock."""
        self._folder: FolderRead | None = None
        self._worker = Worker(
            dependencies.runtime,
            dependencies.desired,
            lambda: self._state,
            self.enqueue,
            dependencies.clock,
            dependencies.devices,
            dependencies.log,
            dependencies.start_patience_seconds,
        )
        """Gets tasks after each write; answers with facts."""
        self._changed = asyncio.Event()
        """Set and replaced with every new view."""
        self._view = self._viewed()

    async def create(self, workload: Workload) -> PodRecord | RequestRefused:
        if not admits(workload, self._condition):
            return RequestRefused(RequestRefusal.CORDONED)
        return await self._answered(lambda answer: Create(workload, answer))

    async def revise(
        self, before: Workload, after: Workload, *, version: int | None = None
    ) -> PodRecord | RequestRefused:
        return await self._answered(
            lambda answer: Revise(before=before, after=after, version=version, answer=answer)
        )

    async def delete(
        self, namespace: str, name: str, *, grace_seconds: float | None, uid: str | None = None
    ) -> PodRecord | RequestRefused:
        return await self._answered(
            lambda answer: Delete(
                namespace=namespace,
                name=name,
                grace_seconds=grace_seconds,
                uid=uid,
                answer=answer,
            )
        )

    async def cordon(self, *, unschedulable: bool) -> RequestRefused | None:
        if (closed := self._closed()) is not None:
            return closed
        async with self._writing:
            try:
                # In the lock: no batch may be written while the cordon is.
                await asyncio.to_thread(self._dependencies.keep_cordon, unschedulable)
            except BadInput as bad:
                return RequestRefused(RequestRefusal.STORAGE, {"problem": os_problem.text(bad)})
            self._condition.unschedulable = unschedulable
            self._state = self._state.renumbered()
            self._publish_view()
        return None

    async def _answered(self, asked: Callable[[Answer], Request]) -> PodRecord | RequestRefused:
        closed = self._closed()
        if closed is not None:
            return closed
        request = asked(asyncio.get_running_loop().create_future())
        self._inbox.put_nowait(request)
        return await request.answer

    # The work.

    def enqueue(self, fact: Fact) -> None:
        self._inbox.put_nowait(fact)

    async def changed(self) -> None:
        await self._changed.wait()

    def resync(self) -> None:
        """Compare desired and observed state now."""
        self._worker.enqueue([Resync()])

    def begin(self, tasks: Iterable[Task]) -> None:
        """Give the worker the tasks of a recovery."""
        self._worker.enqueue(tasks)

    async def stop(self) -> None:
        """Refuse new requests; return when the present write has finished.

        Requests that wait for a plugin are refused with ``STOPPING``.
        """
        self._condition.stopping = True
        self._publish_view()
        if not self._has_stopped:
            self._has_stopped = True
            # Never released: nothing is written after ``stop``.
            await self._writing.acquire()
            self._state = self._state.renumbered()
            self._publish_view()

    async def settled(self) -> None:
        """Wait until nothing is left to do. For tests and a clean stop."""
        while True:
            await self._inbox.join()
            await self._worker.idle()
            if self._writing.locked() and not self._has_stopped:
                # A step that is due by the clock has no message to wait for, and a failed write
                # publishes no view.
                async with self._writing:
                    continue
            if self._unwritten or not self._decider.is_idle:
                await self.changed()
            elif self._inbox.empty():
                return

    async def run(self) -> None:
        """Run until cancelled; programs continue."""
        try:
            async with asyncio.TaskGroup() as group:
                self._decider.group = group
                if self._dependencies.standing is OwnershipMode.ENFORCING:
                    group.create_task(self._worker.run())
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
        async for each in self._dependencies.runtime.news():
            self.enqueue(each)

    async def _resync_periodically(self) -> None:
        while True:
            self.resync()
            await asyncio.sleep(self._dependencies.resync_seconds)

    async def _keep(self) -> None:
        while True:
            messages = await self._next_messages()
            try:
                async with self._writing:
                    await self._handle(messages)
            finally:
                for _ in messages:
                    self._inbox.task_done()

    async def _next_messages(self) -> list[Message | Rehearsed]:
        """All waiting messages; empty if a pod is due first."""
        messages: list[Message | Rehearsed] = []
        if self._inbox.empty():
            try:
                async with asyncio.timeout(self._patience()):
                    messages.append(await self._inbox.get())
            except TimeoutError:
                return []
        # Take everything that has arrived: one write then serves all of it.
        while not self._inbox.empty():
            messages.append(self._inbox.get_nowait())
        return messages

    def _patience(self) -> float | None:
        """Seconds until the next step is due, if any is."""
        if self._unwritten or self._condition.problem:
            return RETRY_SECONDS
        if not self._due_at or self._dependencies.standing is OwnershipMode.OBSERVING:
            return None
        wait = min(self._due_at.values()) - self._dependencies.clock()
        return max(0.0, wait.total_seconds())

    async def _handle(self, messages: list[Message | Rehearsed]) -> None:
        now = self._dependencies.clock()
        # Facts of a failed batch come first, so that order is kept.
        unwritten, self._unwritten = self._unwritten, []
        batch = self._decider.batch(self._state, self._folder)
        await self._decider.decide_all(batch, (*unwritten, *messages), now)
        self._folder = batch.folder
        if batch.is_large(self._state):
            wakes = await asyncio.to_thread(batch.advance, self._state, self._due_at, now)
        else:
            wakes = batch.advance(self._state, self._due_at, now)
        events = changes.of_events(self._state, batch.state)
        try:
            await self._write(batch, events)
        except StorageFailed as failed:
            # The disk has the old state, so keep it and drop the decisions.
            if not self._condition.problem:
                self._state = self._state.renumbered()
            self._condition.problem = failed.problem
            self._unwritten = batch.facts
            refused = RequestRefused(RequestRefusal.STORAGE, {"problem": failed.problem})
            self._answer([(request, refused) for request, _ in batch.answers])
            self._publish_view()
            return
        if self._condition.problem:
            self._condition.problem = ""
            batch.state = batch.state.renumbered()
        self._due_at = wakes
        self._publish(batch, events)

    async def _write(self, batch: Batch, events: Iterable[EventChange]) -> None:
        """Write the batch, unless nothing changed."""
        before, after = self._state, batch.state
        if after is before and not self._condition.problem:
            return
        if self._dependencies.standing is OwnershipMode.OBSERVING:
            return
        lines = [
            journal.line_of(each.event) for each in events if each.kind is not ChangeKind.DELETED
        ]
        now = self._dependencies.clock()
        for decision in (each.decision for each in batch.traces):
            verdict = kubelet.verdict(decision.rejection)
            lines.append(journal.verdict_line(decision.pod, verdict, now))
        await asyncio.to_thread(self._dependencies.store.commit, before, after, lines)

    def _publish(self, batch: Batch, events: Iterable[EventChange]) -> None:
        before, after = self._state, batch.state
        # Publish before answering: a client that reads after its answer must see the change.
        self._state = replace(after, gone={}) if after.gone else after
        if batch.audits is not None:
            self._condition.audits = batch.audits
        # The view first: a watch event must not be newer than the view.
        self._publish_view()
        self._pods.publish(changes.of_pods(before, after))
        self._events.publish(events)
        self._answer([(request, self._current(answer)) for request, answer in batch.answers])
        self._worker.enqueue(batch.tasks)
        for traced in batch.traces:
            self._dependencies.on_decision(traced)

    def _current(self, answer: PodRecord | RequestRefused) -> PodRecord | RequestRefused:
        """The record after the whole batch."""
        if isinstance(answer, RequestRefused):
            return answer
        return self._state.records.get(answer.uid, answer)

    def _answer(self, answers: list[tuple[Request, PodRecord | RequestRefused]]) -> None:
        for request, answer in answers:
            # The client may have disconnected.
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

    def _publish_view(self) -> None:
        self._view = self._viewed()
        published, self._changed = self._changed, asyncio.Event()
        published.set()

    def _viewed(self) -> AgentView:
        return reads.make_view(self._dependencies, self._state, self._condition, self._worker)
