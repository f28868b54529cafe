"""Publishes the state of many hollow nodes as their NumaNode objects, each at its own pace.

A node is written when its state has changed, at once after a quiet time and then no more often
than every two seconds; and hourly, so that readers see that it is alive. Nothing that is published
is ever read back here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from numalet.agent.publish import objects
from numalet.agent.publish.objects import NodeOwner
from numalet.cluster.hollow.members import Member
from numalet.cluster.parallel import together
from numalet.core.cluster import classes, published
from numalet.core.node.node import Node
from numalet.io.documents import numa_node, numa_node_class
from numalet.io.documents.numa_node import NumaNodeSpec
from numalet.io.kube_api.answers import ApiRefused, ApiUnreachable
from numalet.io.kube_api.client import ApiClient

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
        *,
        writers: int = 4,
        between_seconds: float = BETWEEN_SECONDS,
    ) -> None:
        self.written = 0
        self.refused = 0
        self.last_refusal: ApiRefused | None = None
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
        self._class_names: dict[str, str] = {}
        self._known_classes: set[str] = set()

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
        writing = [self._write_each() for _ in range(self._writers)]
        await together([*writing, self._stay_alive()])

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
        node = member.published
        try:
            class_name = await self._class_of(member)
            spec = _spec(node, class_name)
            if self._specs.get(name) != spec:
                await self._write(member, spec)
        except ApiRefused as refused:
            self.refused += 1
            self.last_refusal = refused
            return not refused.status.is_temporary
        except ApiUnreachable:
            return False
        return True

    async def _write(self, member: Member, spec: NumaNodeSpec) -> None:
        name = member.life.name
        owner = NodeOwner(name, member.uid).reference()
        body = numa_node.published_object(name, spec, owner)
        body["spec"]["published"] = objects.time_text(datetime.now(UTC))
        await self._api.apply(f"{numa_node.PATH}/{name}", body, MANAGER, force=True)
        self._specs[name] = spec
        self.written += 1

    async def _class_of(self, member: Member) -> str:
        """The name of the class of a node, which is published once for all of its kind."""
        kind = member.kind
        name = self._class_names.get(kind.name)
        if name is None:
            spec = classes.spec_of(kind.empty, kind.config)
            made: dict[str, Any] = numa_node_class.class_object(spec)
            name = made["metadata"]["name"]
            if name not in self._known_classes:
                try:
                    await self._api.create(numa_node_class.PATH, msgspec.json.encode(made))
                except ApiRefused as refused:
                    if not refused.status.is_conflict:
                        raise
                self._known_classes.add(name)
            self._class_names[kind.name] = name
        return name

    async def _stay_alive(self) -> None:
        """Write every node once an hour although nothing has changed."""
        wait = ALIVE_SECONDS / max(1, len(self._members))
        while True:
            for name, member in self._members.items():
                await asyncio.sleep(wait)
                if member.life.is_up and name in self._specs:
                    del self._specs[name]
                    self.changed(name)


def _spec(node: Node, class_name: str) -> NumaNodeSpec:
    """What is published of a node, but for the time."""
    state = published.of_node(node)
    return NumaNodeSpec(
        class_name=class_name,
        published="",
        state=numa_node.document(state),
        pods=len(state.pods),
        free_cpus=objects.free_cpus(node),
        free_devices=objects.free_devices(node),
    )
