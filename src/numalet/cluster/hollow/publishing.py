"""Publishes the state of many hollow nodes as their NumaNode objects, each at its own pace.

A node is written when its state has changed, at once after a quiet time and then no more often
than every two seconds; and hourly, so that readers see that it is alive. Nothing that is published
is ever read back here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from numalet.agent.publish import objects
from numalet.agent.publish.objects import NodeObjects, NodeOwner
from numalet.agent.publish.writer import ClassWriter
from numalet.cluster.hollow.kinds import NodeKind
from numalet.cluster.hollow.members import Member
from numalet.io.documents import numa_node
from numalet.io.documents.numa_node import NumaNodeSpec
from numalet.io.kube_api.answers import ApiRefused, ApiUnreachable
from numalet.io.kube_api.client import ApiClient
from numalet.io.tasks import together

MANAGER: Final = "numalet-hollow"
BETWEEN_SECONDS: Final = 2.0
"""Between two writes of one node."""
ALIVE_SECONDS: Final = 3600.0
AGAIN_SECONDS: Final = 1.0


class HollowPublisher:
    """Keeps the NumaNode objects of these nodes current."""

    def __init__(
        self,
        api: ApiClient,
        members: Mapping[str, Member],
        refused: Callable[[ApiRefused], None] = lambda refused: None,
        *,
        writers: int = 4,
        between_seconds: float = BETWEEN_SECONDS,
    ) -> None:
        self.written = 0
        self._refused = refused
        self._api = api
        self._members = members
        self._writers = writers
        self._between_seconds = between_seconds
        self._due: asyncio.Queue[str] = asyncio.Queue()
        self._waiting: set[str] = set()
        """Nodes that are in the queue, or have a timer."""
        self._under_way: set[str] = set()
        self._written_at: dict[str, float] = {}
        self._specs: dict[str, NumaNodeSpec] = {}
        self._classes = ClassWriter(api)
        self._class_of_kind: dict[str, Mapping[str, Any]] = {}

    @property
    def is_idle(self) -> bool:
        """Whether everything is published."""
        return not (self._waiting or self._under_way)

    def changed(self, name: str) -> None:
        """The state of this node is to be published."""
        if name in self._waiting:
            return
        self._waiting.add(name)
        loop = asyncio.get_running_loop()
        before = self._written_at.get(name)
        wait = 0.0 if before is None else before + self._between_seconds - loop.time()
        if wait <= 0:
            self._due.put_nowait(name)
        else:
            loop.call_later(wait, self._due.put_nowait, name)

    async def work(self) -> None:
        """Publish without end."""
        async with together() as group:
            group.create_task(self._stay_alive())
            for _ in range(self._writers):
                group.create_task(self._write_each())

    async def _write_each(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            name = await self._due.get()
            if name in self._under_way:
                # One write of a node at a time, so that the later state stays.
                loop.call_later(AGAIN_SECONDS, self._due.put_nowait, name)
                continue
            # What changes from here on is to be written again.
            self._waiting.discard(name)
            self._under_way.add(name)
            self._written_at[name] = loop.time()
            is_done = await self._written(name)
            self._under_way.discard(name)
            if not is_done and name not in self._waiting:
                self._waiting.add(name)
                loop.call_later(AGAIN_SECONDS, self._due.put_nowait, name)

    async def _written(self, name: str) -> bool:
        """Publish a node that has another state than was published; False: again later."""
        member = self._members[name]
        made = objects.of_class(member.published, self._class_of(member.kind))
        try:
            if self._specs.get(name) != made.spec:
                await self._write(member, made)
        except ApiRefused as refused:
            self._refused(refused)
            return not refused.status.is_temporary
        except ApiUnreachable:
            return False
        return True

    async def _write(self, member: Member, made: NodeObjects) -> None:
        name = member.life.name
        await self._classes.ensure(made)
        body = made.node_object(name, datetime.now(UTC), NodeOwner(name, member.uid))
        await self._api.apply(f"{numa_node.PATH}/{name}", body, MANAGER, force=True)
        self._specs[name] = made.spec
        self.written += 1

    def _class_of(self, kind: NodeKind) -> Mapping[str, Any]:
        """The object of the class of a node, made once for all of its kind."""
        made = self._class_of_kind.get(kind.name)
        if made is None:
            made = self._class_of_kind[kind.name] = objects.class_of(kind.empty, kind.config)
        return made

    async def _stay_alive(self) -> None:
        """Write every node once an hour although nothing has changed."""
        wait = ALIVE_SECONDS / max(1, len(self._members))
        while True:
            for name, member in self._members.items():
                await asyncio.sleep(wait)
                if member.life.is_up and name in self._specs:
                    del self._specs[name]
                    self.changed(name)
