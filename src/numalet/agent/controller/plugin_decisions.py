"""Decisions that wait for a device plugin, made aside while the controller goes on.

A decision is made twice. First aside, in a thread, on a copy of the state that is thrown away:
there the plugins are asked, for as long as their deadlines permit, and what they answer is written
down. Then by the controller, on the state as it is by then, with those answers and without
waiting. If the state became so different that a plugin would be asked something else, it is asked
aside again.

What waits meanwhile is a matter of the mode (``a_plugin_holds_up_its_own_alone``). A kubelet
admits one pod after the other, so all further pods wait; ends, deletions and news of plugins do
not. Natively only those wait that ask for a resource about which a plugin is being asked, so that
its devices are held back, and everybody else is decided.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeAlias

from numalet.agent.controller.batch import Batch
from numalet.agent.controller.node_state import NodeState
from numalet.agent.controller.requests import Create, FolderPod, FolderRead, Message, resources_of
from numalet.core.managers.device.preference import (
    AllocateAnswer,
    CallFailed,
    PreferenceQuestion,
    Preferred,
    PreferredDevices,
)
from numalet.core.model.pod import ContainerKey
from numalet.core.model.value import Mutable, Value, field

MOST_AT_ONCE: Final = 32
"""Plugins that are asked at the same time; each may take all of its deadline."""
MOST_TRIES: Final = 3
"""So often a decision is made aside; then the plugins are asked while everybody waits."""

_Allocation: TypeAlias = tuple[ContainerKey, str, tuple[str, ...]]
_EVERY: Final = frozenset({"*"})
"""In exact mode: what all pods wait for."""


class Transcript(Mutable):
    """Plugins that answer what they answered before, and are asked for what is new.

    Without ``live`` plugins none can be asked; ``is_complete`` then says whether it mattered.
    """

    live: PreferredDevices | None
    preferences: dict[PreferenceQuestion, Preferred | CallFailed] = field(default_factory=dict)
    allocations: dict[_Allocation, AllocateAnswer] = field(default_factory=dict)
    is_complete: bool = True

    def preferred(self, question: PreferenceQuestion) -> Preferred | CallFailed:
        """The devices that the plugin prefers or preferred."""
        if question not in self.preferences:
            if self.live is None:
                self.is_complete = False
                return Preferred()
            self.preferences[question] = self.live.preferred(question)
        return self.preferences[question]

    def allocate(
        self, container: ContainerKey, resource: str, device_ids: tuple[str, ...]
    ) -> AllocateAnswer:
        """Whether the plugin accepts or accepted the chosen devices."""
        key = (container, resource, device_ids)
        if key not in self.allocations:
            if self.live is None:
                self.is_complete = False
                return CallFailed("")
            self.allocations[key] = self.live.allocate(container, resource, device_ids)
        return self.allocations[key]


@dataclass(slots=True, eq=False)
class Aside:
    """A message about which plugins are asked, and what they have answered so far."""

    message: Message
    resources: frozenset[str]
    """What it may get devices of; no other message about these is decided meanwhile."""
    transcript: Transcript
    """Written by a thread of the executor while it is asked, read by the controller afterwards."""
    tries: int = 0
    """How often it was asked; each decision may need an answer that the last one did not."""


class Rehearsed(Value, eq=False):
    """The plugins have answered; now the controller can decide."""

    aside: Aside


class Asides:
    """What is being asked of plugins, and what waits for that. One controller's."""

    def __init__(self, plugins: PreferredDevices) -> None:
        self._plugins = plugins
        """Asked from the executor's threads alone, but for a message that was tried too often."""
        self._executor = ThreadPoolExecutor(MOST_AT_ONCE, thread_name_prefix="plugins")
        """Ours; each decision that asks plugins has a thread of it as long as it takes."""
        self._asked: list[Aside] = []
        """From ``begin`` to ``end``, in order of arrival."""
        self._waiting: list[tuple[Message, frozenset[str]]] = []
        """What has to be decided after these, with the resources that it is about."""

    @property
    def is_empty(self) -> bool:
        """Whether no plugin is asked and nothing waits."""
        return not self._asked and not self._waiting

    def messages(self) -> list[Message]:
        """Everything that is not decided yet, in order."""
        return [*(each.message for each in self._asked), *(each for each, _ in self._waiting)]

    def holds_up(self, message: Message, state: NodeState) -> bool:
        """Whether a message has to wait; then it does, behind those that wait already."""
        wanted = _wanted(message, state)
        if not wanted & self._busy():
            return False
        self._waiting.append((message, wanted))
        return True

    def begin(self, message: Message, state: NodeState) -> Aside:
        """An aside for this message; ``ask`` is to follow."""
        aside = Aside(message, _wanted(message, state), Transcript(self._plugins))
        self._asked.append(aside)
        return aside

    def ask(self, aside: Aside, batch: Batch, now: datetime) -> Awaitable[Rehearsed]:
        """Decide aside on the state of this batch, and write down the plugins' answers."""
        aside.tries += 1
        aside.transcript.live = self._plugins
        scratch = batch.apart(aside.transcript)

        async def asked() -> Rehearsed:
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(self._executor, scratch.decide, aside.message, now)
            return Rehearsed(aside)

        return asked()

    def decide(self, aside: Aside, batch: Batch, now: datetime) -> bool:
        """Decide with the plugins' answers; False if they have to be asked once more."""
        again = aside.transcript
        again.live, again.is_complete = None, True
        if aside.tries >= MOST_TRIES:
            again.live = self._plugins
        scratch = batch.apart(again)
        scratch.decide(aside.message, now)
        if again.is_complete:
            batch.merge(scratch)
        return again.is_complete

    def end(self, aside: Aside) -> list[Message]:
        """What waited and may be decided now, in order; it may have to wait for others still."""
        self._asked.remove(aside)
        waited, self._waiting = self._waiting, []
        return [message for message, _ in waited]

    def new(self, messages: Iterable[Message]) -> list[Message]:
        """Those of these that are not here already."""
        known = [each for each in self.messages() if isinstance(each, FolderPod)]
        return [each for each in messages if each not in known]

    def close(self) -> None:
        """Wait for no plugin any more."""
        self._executor.shutdown(wait=False, cancel_futures=True)

    def _busy(self) -> frozenset[str]:
        """The resources that a message waits for."""
        asked = (each.resources for each in self._asked)
        return frozenset().union(*asked, *(wanted for _, wanted in self._waiting))


def _wanted(message: Message, state: NodeState) -> frozenset[str]:
    """What a message waits for; nothing if it needs no plugin."""
    if not state.node.rules.behaviour.a_plugin_holds_up_its_own_alone:
        return _EVERY if isinstance(message, Create | FolderRead) else frozenset()
    match message:
        case Create(workload):
            return resources_of(workload)
        case FolderPod(workload):
            return resources_of(workload)
        case _:
            return frozenset()
