"""A whole node over time: whatever happens in which order, nothing is lost, doubled or leaked.

A crash is an exception that nothing catches, thrown at one of the points at which the agent
touches the world; what is on the disk by then is all that the next agent has.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import event, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from numalet.agent.controller.wiring import RUNS, Hooks
from numalet.agent.host.runtime.fake import FakeRuntime
from numalet.agent.servers.door import RequestRefused
from numalet.core.enforcement.cgroup_settings import CgroupSettings
from running import agent_laws, agents, faults
from running.faults import Moment

T = TypeVar("T")
NAMES = st.sampled_from([f"pod-{number}" for number in range(6)])
HOOKS = Hooks(resync_seconds=3600)


PATIENCE_SECONDS = 200.0


class Crashed(BaseException):
    """The agent was killed."""


class Hangs(BaseException):
    """The agent does not answer. No smaller example is searched: each would take as long."""


class CrashAt:
    """Kills at the given passage of any point, and whoever comes after it."""

    def __init__(self, passage: int) -> None:
        self._left = passage
        self.dead = False

    def __call__(self, name: str, moment: Moment) -> None:
        self._left -= 1
        if self._left <= 0:
            self.dead = True
            raise Crashed(f"{moment.value} {name}")


class NodeOverTime(RuleBasedStateMachine):
    """Pods come and go, programs end, settings drift, the agent is killed and starts again."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix="node-"))
        self.loop = asyncio.new_event_loop()
        self.promised: dict[str, str] = {}
        self.attempts: dict[str, int] = {}
        self.count = 0

    @initialize()
    def begin(self) -> None:
        """The first start."""
        self._start()

    @rule(name=NAMES, cpus=st.sampled_from(["1", "2", "3", "500m"]), memory=st.integers(1, 12))
    def admit(self, name: str, cpus: str, memory: int) -> None:
        """Somebody wants a pod."""
        self._run(self._create(name, cpus, memory))

    @rule(name=NAMES)
    def remove(self, name: str) -> None:
        """Somebody wants a pod gone."""
        self._run(self._delete(name))

    @precondition(lambda self: self.promised)
    @rule(data=st.data(), code=st.integers(0, 1))
    def program_ends(self, data: st.DataObject, code: int) -> None:
        """A program ends by itself."""
        running = sorted(self.agent.runtime.running())
        if running:
            key = data.draw(st.sampled_from(running))
            self._run(self._call(lambda: self.agent.runtime.end(key, code)))

    @precondition(lambda self: self.promised)
    @rule(data=st.data())
    def settings_drift(self, data: st.DataObject) -> None:
        """Somebody else writes into a cgroup, and the next look fixes it."""
        running = sorted(self.agent.runtime.running())
        if running:
            key = data.draw(st.sampled_from(running))
            self.agent.runtime.drift(key, CgroupSettings(memory_nodes=(0, 1)))
            self._run(self._call(self.agent.controller.resync))

    @rule()
    def restart(self) -> None:
        """The agent stops cleanly and starts again; nothing that runs is touched."""
        before = dict(self.agent.runtime.running())
        self._stop()
        self._start()
        assert before == self.agent.runtime.running()

    @rule(name=NAMES, passage=st.integers(1, 24), again=st.integers(0, 12), goes=st.booleans())
    def crash(self, name: str, passage: int, again: int, goes: bool) -> None:
        """The agent is killed while it works, and perhaps once more while it recovers."""
        hook = CrashAt(passage)
        self.is_answered = False
        faults.install(hook)
        try:
            with suppress(Crashed, BaseExceptionGroup, asyncio.CancelledError, TimeoutError):
                self._run(self._delete(name) if goes else self._create(name, "2", 3))
            if hook.dead:
                self._abandon()
        finally:
            faults.install(None)
        if not hook.dead:
            return
        if again:
            faults.install(CrashAt(again))
            try:
                with suppress(Crashed, BaseExceptionGroup):
                    self._start()
                    self._stop()
                self._abandon()
            finally:
                faults.install(None)
        self._start()
        event("killed, and once more" if again else "killed")
        if not self.is_answered:
            self._take_what_came_of(name)

    @invariant()
    def nothing_is_lost_doubled_or_leaked(self) -> None:
        """The laws of ``agent_laws``, and every answered pod is there."""
        if not hasattr(self, "agent"):
            return
        assert agent_laws.broken(self.root, self.agent.controller, self.agent.runtime) == []
        there = {r.workload.pod.name: r.uid for r in self.agent.controller.view().records.values()}
        assert self.promised == there

    def teardown(self) -> None:
        """Stop, and leave nothing behind."""
        faults.install(None)
        with suppress(BaseException):
            self._stop()
        with suppress(BaseException):
            self._abandon()
        self.loop.close()
        shutil.rmtree(self.root)

    async def _create(self, name: str, cpus: str, memory: int) -> None:
        self.count += 1
        value = agents.manifest(name, cpus, f"{memory}Gi")
        work = asyncio.ensure_future(
            self.agent.controller.create(agents.workload(value, f"uid-{self.count}"))
        )
        answer = await self._unless_dead(work)
        self.is_answered = True
        if not isinstance(answer, RequestRefused):
            self.promised[name] = answer.uid
        await self._unless_dead(asyncio.ensure_future(self.agent.controller.settled()))

    async def _delete(self, name: str) -> None:
        work = asyncio.ensure_future(self.agent.controller.delete("default", name, grace_seconds=0))
        answer = await self._unless_dead(work)
        self.is_answered = True
        if not isinstance(answer, RequestRefused):
            self.promised.pop(name, None)
        await self._unless_dead(asyncio.ensure_future(self.agent.controller.settled()))

    async def _call(self, what: Any) -> None:
        what()
        # What the runtime tells comes over a queue of its own.
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await self._unless_dead(asyncio.ensure_future(self.agent.controller.settled()))

    async def _unless_dead(self, work: asyncio.Future[T]) -> T:
        await self._first_of(work, self.life)
        if work.done():
            return work.result()
        work.cancel()
        self.life.result()
        raise AssertionError("the agent ended by itself")

    async def _first_of(self, *either: asyncio.Future[Any]) -> None:
        first = asyncio.FIRST_COMPLETED
        done, _ = await asyncio.wait(either, return_when=first, timeout=PATIENCE_SECONDS)
        if not done:
            raise Hangs([str(each) for each in asyncio.all_tasks()])

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        self.loop.run_until_complete(work)

    def _start(self) -> None:
        self.stopped = asyncio.Event()
        self.threads = ThreadPoolExecutor()
        self.loop.set_default_executor(self.threads)
        begun: asyncio.Future[agents.Agent] = self.loop.create_future()

        async def life() -> None:
            runtime = FakeRuntime(self.root / RUNS)
            given = agents.settings(self.root)
            async with agents.running(given, runtime, replace(HOOKS)) as agent:
                begun.set_result(agent)
                await self.stopped.wait()

        self.life = self.loop.create_task(life())

        async def wait() -> None:
            await self._first_of(begun, self.life)
            if not begun.done():
                self.life.result()
            self.agent = begun.result()
            await self._unless_dead(asyncio.ensure_future(self.agent.controller.settled()))

        self.loop.run_until_complete(wait())

    def _stop(self) -> None:
        self.stopped.set()
        self.loop.run_until_complete(self._first_of(self.life))
        self.life.result()
        self.threads.shutdown()

    def _abandon(self) -> None:
        """What is left of an agent that was killed: its threads do nothing any more either."""
        left: set[asyncio.Task[Any]] = {self.life, *asyncio.all_tasks(self.loop)}
        for task in left:
            task.cancel()
        self.loop.run_until_complete(asyncio.wait(left, timeout=PATIENCE_SECONDS))
        for task in left:
            if task.done() and not task.cancelled():
                # An exception that nobody asks for is printed when the task is collected, at any
                # moment; printing parses source, and Python 3.11 can not do so while it parses.
                task.exception()
        self.threads.shutdown()

    def _take_what_came_of(self, name: str) -> None:
        """A request that was not answered may have come to something or to nothing."""
        there = {r.workload.pod.name: r.uid for r in self.agent.controller.view().records.values()}
        if name in there:
            self.promised[name] = there[name]
        else:
            self.promised.pop(name, None)


NodeOverTime.TestCase.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)
TestNodeOverTime = pytest.mark.property(NodeOverTime.TestCase)
