"""Decides on messages in order without blocking the event loop.

Large decisions run in a thread, calls of device plugins aside (``plugin_decisions``).
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
    # Whether no plugin is being called.
    def is_idle(self) -> bool:
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
