"""How the controller drains its inbox: one message after the other, and no other client is held up.

What takes long is decided in a thread, what waits for a device plugin aside
(``plugin_decisions``); between messages others get the event loop.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Final

from numalet.agent.controller import requests
from numalet.agent.controller.batch import Batch
from numalet.agent.controller.dependencies import ControllerDependencies
from numalet.agent.controller.node_state import NodeState
from numalet.agent.controller.plugin_decisions import Aside, Asides, Rehearsed
from numalet.agent.controller.requests import FolderRead, Message
from numalet.core.managers.device.preference import NO_SAY

BUSY_SECONDS: Final = 0.02
"""So long the controller decides without letting others have the event loop."""


class Decider:
    """The part of a controller that decides; ``enqueue`` is how an aside comes back to it.

    ``group`` is where asides run; the controller sets it when its life begins.
    """

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
        """Whether no plugin is asked and nothing waits for one."""
        return self._asides.is_empty

    def undecided(self) -> list[Message]:
        """The messages that wait for a plugin, in order."""
        return self._asides.messages()

    def close(self) -> None:
        """Wait for no plugin any more."""
        for task in self._asking:
            task.cancel()
        self._asides.close()

    def batch(self, state: NodeState, folder: FolderRead | None) -> Batch:
        """A batch that begins with this state."""
        behaviour = state.node.rules.behaviour
        splits = self._asks_plugins and behaviour.a_plugin_holds_up_its_own_alone
        return Batch(state, folder, self._stopwatch, splits_folder=splits)

    async def decide_all(
        self, batch: Batch, messages: Iterable[Message | Rehearsed], now: datetime
    ) -> None:
        """Decide one after the other; clients that only read do not wait for it."""
        loop = asyncio.get_running_loop()
        last_pause = loop.time()
        line = deque(messages)
        while line:
            message = line.popleft()
            if isinstance(message, Rehearsed):
                line.extendleft(reversed(self._rehearsed(batch, message.aside, now)))
            else:
                await self._decide_one(batch, message, now)
            further, batch.further = batch.further, []
            line.extendleft(reversed(self._asides.new(further)))
            if loop.time() - last_pause > BUSY_SECONDS:
                await asyncio.sleep(0)
                last_pause = loop.time()

    async def _decide_one(self, batch: Batch, message: Message, now: datetime) -> None:
        if self._asides.holds_up(message, batch.state):
            return
        # A whole folder is only asked about where its pods have no messages of their own.
        is_split = isinstance(message, FolderRead) and batch.splits_folder
        if self._asks_plugins and requests.may_ask_a_plugin(message) and not is_split:
            self._ask(self._asides.begin(message, batch.state), batch, now)
        elif requests.is_large(message):
            await asyncio.to_thread(batch.decide, message, now)
        else:
            batch.decide(message, now)

    def _rehearsed(self, batch: Batch, aside: Aside, now: datetime) -> list[Message]:
        """Decide with the plugins' answers; what waited for it comes next."""
        if self._asides.decide(aside, batch, now):
            return self._asides.end(aside)
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
