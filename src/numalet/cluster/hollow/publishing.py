"""Publishes the state of many hollow nodes, each at its own pace: NumaNodes, topologies, pods.

An object is written when its node has changed, at once after a quiet time and then at most every
two seconds, ten for a topology; and hourly, to show readers that the publisher is alive. Published
objects are never read back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, Generic, Protocol, TypeVar

from numalet.cluster.hollow.fleet_members import Member
from numalet.cluster.hollow.kinds import NodeKind
from numalet.core.workload.records import PodRecord
from numalet.core.workload.run import ContainerPhase
from numalet.io.documents.cluster import numa_node
from numalet.io.kube_api.answers import ApiRefused, ApiUnreachable
from numalet.io.kube_api.client import ApiClient
from numalet.io.kube_api.pace import Backoff, Pace
from numalet.io.tasks import together
from numalet.shared.kubernetes import kai, node_resource_topology, pod_resources
from numalet.shared.kubernetes.kai import PodProgress
from numalet.shared.publish import node_view
from numalet.shared.publish.node_view import NodeObjects, NodeOwner
from numalet.shared.publish.writer import ClassWriter

C = TypeVar("C")

MANAGER: Final = "numalet-hollow"
BETWEEN_SECONDS: Final = 2.0
"""Minimum time between two writes of one NumaNode."""
TOPOLOGY_BETWEEN_SECONDS: Final = 10.0
"""Minimum time between two writes of one NodeResourceTopology."""
ALIVE_SECONDS: Final = 3600.0
AGAIN_SECONDS: Final = 1.0
REFUSED_PACE: Final = Pace(first_seconds=1.0, longest_seconds=60.0)
"""Pace of retries after a refusal of the API server.

A server that has just started refuses requests that it allows a second later, and an administrator
may apply a missing role or definition after the nodes.
"""


class HollowPublisher:
    """Keeps the objects of these nodes current: their NumaNodes, their topologies, or both."""

    def __init__(
        self,
        api: ApiClient,
        members: Mapping[str, Member],
        refused: Callable[[ApiRefused], None] = lambda refused: None,
        *,
        has_numa_node: bool = True,
        has_topology: bool = False,
        has_placement: bool = False,
        has_kai: bool = False,
        writers: int = 4,
        between_seconds: float = BETWEEN_SECONDS,
        topology_between_seconds: float = TOPOLOGY_BETWEEN_SECONDS,
    ) -> None:
        self._kinds: list[PacedObjects[Any]] = []
        if has_numa_node:
            self._kinds.append(
                PacedObjects(_NumaNodes(api), members, refused, writers, between_seconds)
            )
        if has_topology:
            topologies = _Topologies(api, has_placement)
            self._kinds.append(
                PacedObjects(topologies, members, refused, writers, topology_between_seconds)
            )
        self._pods: PacedObjects[Any] | None = None
        if has_kai:
            annotations = _KaiAnnotations(api)
            self._pods = PacedObjects(annotations, members, refused, writers, between_seconds)
            self._kinds.append(self._pods)

    @property
    def written(self) -> int:
        return sum(each.written for each in self._kinds)

    @property
    def is_idle(self) -> bool:
        return all(each.is_idle for each in self._kinds)

    def changed(self, name: str) -> None:
        for each in self._kinds:
            each.changed(name)

    def pods_changed(self, name: str) -> None:
        if self._pods is not None:
            self._pods.changed(name)

    async def work(self) -> None:
        async with together() as group:
            for each in self._kinds:
                group.create_task(each.work())


class ObjectOfNode(Protocol[C]):
    """The part of a node that is published as one object."""

    def content(self, member: Member) -> C:
        """Return the content of the object; equal content is not written again."""
        ...

    async def write(self, member: Member, content: C) -> None:
        """Write it. Raises ``ApiRefused`` or ``ApiUnreachable``."""
        ...


class PacedObjects(Generic[C]):
    """Keeps objects of one kind current, one of each node."""

    def __init__(
        self,
        what: ObjectOfNode[C],
        members: Mapping[str, Member],
        refused: Callable[[ApiRefused], None],
        writers: int,
        between_seconds: float,
    ) -> None:
        self.written = 0
        self._what = what
        self._members = members
        self._refused = refused
        self._writers = writers
        self._between_seconds = between_seconds
        self._due: asyncio.Queue[str] = asyncio.Queue()
        self._waiting: set[str] = set()
        """Nodes that are in the queue, or have a timer."""
        self._under_way: set[str] = set()
        self._written_at: dict[str, float] = {}
        self._stored: dict[str, C] = {}
        self._refused_in_a_row: dict[str, Backoff] = {}

    @property
    def is_idle(self) -> bool:
        return not (self._waiting or self._under_way)

    def changed(self, name: str) -> None:
        # A queued node is written in its latest state anyway.
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
        async with together() as group:
            group.create_task(self._stay_alive())
            for _ in range(self._writers):
                group.create_task(self._write_each())

    async def _write_each(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            name = await self._due.get()
            if name in self._under_way:
                # One write of a node at a time, so that the later state is not overwritten.
                loop.call_later(AGAIN_SECONDS, self._due.put_nowait, name)
                continue
            # Later changes have to be written again.
            self._waiting.discard(name)
            self._under_way.add(name)
            self._written_at[name] = loop.time()
            again_seconds = await self._written(name)
            self._under_way.discard(name)
            if again_seconds is not None and name not in self._waiting:
                self._waiting.add(name)
                loop.call_later(again_seconds, self._due.put_nowait, name)

    async def _written(self, name: str) -> float | None:
        """Publish a node whose state differs from the published one.

        Return the seconds until a retry, if it failed.
        """
        member = self._members[name]
        content = self._what.content(member)
        try:
            if self._stored.get(name) != content:
                await self._what.write(member, content)
                self._stored[name] = content
                self.written += 1
        except ApiRefused as refused:
            self._refused(refused)
            if refused.status.is_temporary:
                return AGAIN_SECONDS
            return self._refused_in_a_row.setdefault(name, Backoff(REFUSED_PACE)).failed()
        except ApiUnreachable:
            return AGAIN_SECONDS
        self._refused_in_a_row.pop(name, None)
        return None

    async def _stay_alive(self) -> None:
        wait = ALIVE_SECONDS / max(1, len(self._members))
        while True:
            for name, member in self._members.items():
                await asyncio.sleep(wait)
                if member.life.is_up and name in self._stored:
                    # Forget the published content, so that an unchanged node is written again.
                    del self._stored[name]
                    self.changed(name)


class _NumaNodes:
    def __init__(self, api: ApiClient) -> None:
        self._api = api
        self._classes = ClassWriter(api)
        self._class_of_kind: dict[str, Mapping[str, Any]] = {}

    def content(self, member: Member) -> NodeObjects:
        return node_view.of_class(member.published, self._class_of(member.kind))

    async def write(self, member: Member, content: NodeObjects) -> None:
        name = member.life.name
        await self._classes.ensure(content)
        body = content.node_object(name, datetime.now(UTC), NodeOwner(name, member.uid))
        await self._api.apply(f"{numa_node.PATH}/{name}", body, MANAGER, force=True)

    def _class_of(self, kind: NodeKind) -> Mapping[str, Any]:
        made = self._class_of_kind.get(kind.name)
        if made is None:
            made = self._class_of_kind[kind.name] = node_view.class_of(kind.empty, kind.config)
        return made


class _Topologies:
    """NodeResourceTopologies, in the form of the nodes' agents."""

    def __init__(self, api: ApiClient, has_placement: bool) -> None:
        self._api = api
        self._has_placement = has_placement

    def content(self, member: Member) -> Mapping[str, Any]:
        node = member.published
        pods = pod_resources.pods(node, () if member.lies else member.life.listed_pods)
        topology = node_view.topology_of_entries(node, pods)
        return node_view.with_placement(topology, node, pods) if self._has_placement else topology

    async def write(self, member: Member, content: Mapping[str, Any]) -> None:
        name = member.life.name
        owner = NodeOwner(name, member.uid).reference()
        body = node_resource_topology.named(name, content, owner)
        await self._api.apply(f"{node_resource_topology.PATH}/{name}", body, MANAGER, force=True)


class _KaiAnnotations:
    """KAI's annotations on the pods of a node, by uid."""

    def __init__(self, api: ApiClient) -> None:
        self._api = api
        self._written: dict[str, dict[str, Mapping[str, str]]] = {}

    def content(self, member: Member) -> Mapping[str, Mapping[str, str]]:
        life, written = member.life, self._written.get(member.life.name, {})
        return {
            uid: kai.observed(
                life.node, _progress(held.record), written.get(uid, {}).get(kai.GROUPS)
            )
            for uid, held in life.pods.items()
            if uid in life.node.snapshot.pods
        }

    async def write(self, member: Member, content: Mapping[str, Mapping[str, str]]) -> None:
        before, held = self._written.get(member.life.name, {}), member.life.pods
        written = {uid: values for uid, values in before.items() if uid in content}
        self._written[member.life.name] = written
        failure: ApiRefused | None = None
        for uid, values in content.items():
            if values == before.get(uid, {}) or uid not in held:
                continue
            path, body = kai.patch(held[uid].record.workload.pod, values)
            try:
                await self._api.apply(path, body, kai.MANAGER)
                written[uid] = values
            except ApiRefused as refused:
                # A deleted pod needs no annotation; another pod is written all the same.
                failure = failure if refused.status.is_absent else refused
        if failure is not None:
            raise failure


def _progress(record: PodRecord) -> PodProgress:
    runs = record.run.containers.values()
    running = frozenset(each.name for each in runs if each.phase is ContainerPhase.RUNNING)
    started = frozenset(each.name for each in runs if each.attempt)
    return PodProgress(pod=record.workload.pod, started=started, running=running)
