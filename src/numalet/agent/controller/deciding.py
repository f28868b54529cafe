"""Decides on messages in order without blocking the event loop.

Large decisions run in a thread. A decision that calls device plugins is made twice. First in a
thread, on a copy of the state: plugins are called and their answers recorded. Then by the
controller, on its present state with the recorded answers. If that needs other answers, it repeats.
In exact mode all later pods wait, as in the kubelet; in native mode
(``a_plugin_holds_up_its_own_alone``) only those that need the same resource.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeAlias

from numalet.agent.controller import requests
from numalet.agent.controller.batch import Batch
from numalet.agent.controller.dependencies import ControllerDependencies
from numalet.agent.controller.node_state import NodeState
from numalet.agent.controller.requests import Create, FolderPod, FolderRead, Message, resources_of
from numalet.core.managers.device.preference import (
    NO_SAY,
    AllocateAnswer,
    CallFailed,
    PreferenceQuestion,
    Preferred,
    PreferredDevices,
)
from numalet.core.model.pod import ContainerKey
from numalet.core.model.value import Mutable, Value, field

MOST_AT_ONCE: Final = 32
"""Concurrent calls; each may last until its deadline."""
MOST_TRIES: Final = 3
"""After this many attempts, the controller calls the plugins itself, and all messages wait."""

_Allocation: TypeAlias = tuple[ContainerKey, str, tuple[str, ...]]
_EVERY: Final = frozenset({"*"})
"""Exact mode: a resource that all pods need."""


class Transcript(Mutable):
    """Replays recorded answers; calls ``live`` plugins for new questions.

    Without ``live``, ``is_complete`` says whether all answers were recorded.
    """

    live: PreferredDevices | None
    preferences: dict[PreferenceQuestion, Preferred | CallFailed] = field(default_factory=dict)
    allocations: dict[_Allocation, AllocateAnswer] = field(default_factory=dict)
    is_complete: bool = True

    def preferred(self, question: PreferenceQuestion) -> Preferred | CallFailed:
        if question not in self.preferences:
            if self.live is None:
                self.is_complete = False
                return Preferred()
            # Recorded per question: an equal question of the second run gets the same answer.
            self.preferences[question] = self.live.preferred(question)
        return self.preferences[question]

    def allocate(
        self, container: ContainerKey, resource: str, device_ids: tuple[str, ...]
    ) -> AllocateAnswer:
        key = (container, resource, device_ids)
        if key not in self.allocations:
            if self.live is None:
                self.is_complete = False
                return CallFailed("")
            self.allocations[key] = self.live.allocate(container, resource, device_ids)
        return self.allocations[key]


@dataclass(slots=True, eq=False)
class Aside:
    """A message whose decision calls plugins, with the recorded answers."""

    message: Message
    resources: frozenset[str]
    """Other messages that need these resources wait."""
    transcript: Transcript
    """Written by a thread during a call, read by the controller afterwards."""
    tries: int = 0
    """Each decision may need an answer that the previous one did not."""


class Rehearsed(Value, eq=False):
    """The answers are recorded; the controller can decide."""

    aside: Aside


class Asides:
    """Running calls of plugins and waiting messages of one controller."""

    def __init__(self, plugins: PreferredDevices) -> None:
        self._plugins = plugins
        self._executor = ThreadPoolExecutor(MOST_AT_ONCE, thread_name_prefix="plugins")
        """One thread per running decision."""
        self._asked: list[Aside] = []
        """From ``begin`` to ``end``, in order of arrival."""
        self._waiting: list[tuple[Message, frozenset[str]]] = []
        """Messages to decide later, with the resources that they need."""

    @property
    def is_empty(self) -> bool:
        return not self._asked and not self._waiting

    def messages(self) -> list[Message]:
        """Undecided messages in order."""
        return [*(each.message for each in self._asked), *(each for each, _ in self._waiting)]

    def holds_up(self, message: Message, state: NodeState) -> bool:
        """Queue the message if its resources are in use; True if queued."""
        wanted = _wanted(message, state)
        if not wanted & self._busy():
            return False
        self._waiting.append((message, wanted))
        return True

    def begin(self, message: Message, state: NodeState) -> Aside:
        """Create an aside; ``ask`` follows."""
        aside = Aside(message, _wanted(message, state), Transcript(self._plugins))
        self._asked.append(aside)
        return aside

    def ask(self, aside: Aside, batch: Batch, now: datetime) -> Awaitable[Rehearsed]:
        """Decide on a copy of the state and record the answers."""
        aside.tries += 1
        aside.transcript.live = self._plugins
        scratch = batch.apart(aside.transcript)

        async def asked() -> Rehearsed:
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(self._executor, scratch.decide, aside.message, now)
            return Rehearsed(aside)

        return asked()

    def decide(self, aside: Aside, batch: Batch, now: datetime) -> bool:
        """Decide with the recorded answers; False if an answer is missing."""
        again = aside.transcript
        again.live, again.is_complete = None, True
        # Else a node that keeps changing could postpone the decision forever.
        if aside.tries >= MOST_TRIES:
            again.live = self._plugins
        # On a copy again: if an answer is missing, the half-made decision must not reach the batch.
        scratch = batch.apart(again)
        scratch.decide(aside.message, now)
        if again.is_complete:
            batch.merge(scratch)
        return again.is_complete

    def end(self, aside: Aside) -> list[Message]:
        """Finish; return waiting messages. Some may have to wait again."""
        self._asked.remove(aside)
        # All of them, because each may wait for several resources; ``holds_up`` sorts out those
        # that have to wait on.
        waited, self._waiting = self._waiting, []
        return [message for message, _ in waited]

    def new(self, messages: Iterable[Message]) -> list[Message]:
        """Messages that are not queued already."""
        # Every reading of the folder yields its undecided pods again.
        known = [each for each in self.messages() if isinstance(each, FolderPod)]
        return [each for each in messages if each not in known]

    def close(self) -> None:
        """Stop waiting for plugins."""
        self._executor.shutdown(wait=False, cancel_futures=True)

    def _busy(self) -> frozenset[str]:
        """Return the resources of all undecided messages.

        Those of waiting messages are included: otherwise a later pod for the same resource could
        be decided before them.
        """
        asked = (each.resources for each in self._asked)
        return frozenset().union(*asked, *(wanted for _, wanted in self._waiting))


def _wanted(message: Message, state: NodeState) -> frozenset[str]:
    """The resources that a message needs; empty if it needs no plugin."""
    if not state.node.rules.behaviour.a_plugin_holds_up_its_own_alone:
        return _EVERY if isinstance(message, Create | FolderRead) else frozenset()
    match message:
        case Create(workload):
            return resources_of(workload)
        case FolderPod(workload):
            return resources_of(workload)
        case _:
            return frozenset()


BUSY_SECONDS: Final = 0.02
"""How long to decide before other tasks get the event loop."""


class Decider:
    """``enqueue`` returns an aside to the controller; its loop sets ``group``, where asides run."""

    def __init__(
        self, dependencies: ControllerDependencies, enqueue: Callable[[Rehearsed], None]
    ) -> None:
        self.group: asyncio.TaskGroup | None = None
        self._stopwatch = dependencies.stopwatch
        self._asks_plugins = dependencies.plugins is not NO_SAY
        self._enqueue = enqueue
        self._asides = Asides(dependencies.plugins)
        self._asking: set[asyncio.Task[None]] = set()

    @property
    def is_idle(self) -> bool:
        """Whether no plugin is being called."""
        return self._asides.is_empty

    def undecided(self) -> list[Message]:
        """Messages that wait for a plugin, in order."""
        return self._asides.messages()

    def close(self) -> None:
        """Stop waiting for plugins."""
        for task in self._asking:
            task.cancel()
        self._asides.close()

    def batch(self, state: NodeState, folder: FolderRead | None) -> Batch:
        behaviour = state.node.rules.behaviour
        splits = self._asks_plugins and behaviour.a_plugin_holds_up_its_own_alone
        return Batch(state, folder, self._stopwatch, splits_folder=splits)

    async def decide_all(
        self, batch: Batch, messages: Iterable[Message | Rehearsed], now: datetime
    ) -> None:
        """Decide on the messages in order, with pauses for other tasks."""
        loop = asyncio.get_running_loop()
        last_pause = loop.time()
        line = deque(messages)
        while line:
            message = line.popleft()
            if isinstance(message, Rehearsed):
                # Messages that waited for the plugin are older than the rest, so decide on them
                # first.
                line.extendleft(reversed(self._rehearsed(batch, message.aside, now)))
            else:
                await self._decide_one(batch, message, now)
            further, batch.further = batch.further, []
            line.extendleft(reversed(self._asides.new(further)))
            # Other clients get the event loop between messages.
            if loop.time() - last_pause > BUSY_SECONDS:
                await asyncio.sleep(0)
                last_pause = loop.time()

    async def _decide_one(self, batch: Batch, message: Message, now: datetime) -> None:
        # The message must wait for an earlier one that waits for a plugin.
        if self._asides.holds_up(message, batch.state):
            return
        # A split folder has a message for each pod, so only those call plugins.
        is_split = isinstance(message, FolderRead) and batch.splits_folder
        if self._asks_plugins and requests.may_ask_a_plugin(message) and not is_split:
            self._ask(self._asides.begin(message, batch.state), batch, now)
        # A pod with many containers takes long enough to delay watches and probes.
        elif requests.is_large(message):
            await asyncio.to_thread(batch.decide, message, now)
        else:
            batch.decide(message, now)

    def _rehearsed(self, batch: Batch, aside: Aside, now: datetime) -> list[Message]:
        """Decide with the plugins' answers; return messages that waited for them."""
        if self._asides.decide(aside, batch, now):
            return self._asides.end(aside)
        # The state has changed so that other answers are needed: call again.
        self._ask(aside, batch, now)
        return []

    def _ask(self, aside: Aside, batch: Batch, now: datetime) -> None:
        asked = self._asides.ask(aside, batch, now)

        async def answered() -> None:
            self._enqueue(await asked)

        assert self.group is not None
        task = self.group.create_task(answered())
        self._asking.add(task)
        task.add_done_callback(self._asking.discard)
