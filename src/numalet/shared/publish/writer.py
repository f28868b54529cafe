"""Keeps objects on the API server current, with paced writes.

A ``PacedWriter`` is offered content at any rate and sends the latest when due.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Generic, Protocol, TypeVar

from numalet.core.model.findings import Finding
from numalet.core.model.value import Mutable
from numalet.io.documents.cluster import numa_node, numa_node_class
from numalet.io.kube_api.answers import ApiRefused, ApiUnreachable
from numalet.io.kube_api.pace import Clock, Fraction, LoopClock, chance
from numalet.io.tasks import beside
from numalet.shared.findings.publish import PublishForeignZones, PublishRefused, PublishUnreachable
from numalet.shared.kubernetes import node_resource_topology
from numalet.shared.publish import pacing
from numalet.shared.publish.node_view import NodeObjects, NodeOwner
from numalet.shared.publish.pacing import WriteInterval

C = TypeVar("C")

MANAGER: Final = "numalet"
NUMA_NODE_INTERVAL: Final = WriteInterval(at_most_every_seconds=2.0)
TOPOLOGY_INTERVAL: Final = WriteInterval(at_most_every_seconds=10.0)


class Applying(Protocol):
    """The methods of an API client that a writer needs."""

    async def create(self, path: str, body: dict[str, Any]) -> bytes:
        """Create an object; return it as stored."""
        ...

    async def apply(
        self, path: str, body: dict[str, Any], manager: str, force: bool = False
    ) -> bytes:
        """Server-side apply; return the object."""
        ...


class WriteCounts(Mutable):
    written: int = 0
    failed: int = 0
    put_off: int = 0
    """Failures with a request to retry later (429, Retry-After)."""


@dataclass(slots=True)
class PacedWriter(Generic[C]):
    """Writes one object. ``send`` raises ``ApiRefused`` or ``ApiUnreachable``.

    ``report`` receives a finding at the first failure in a row, and None at the next success.
    ``explain`` turns a refusal into a finding.
    """

    send: Callable[[C], Awaitable[None]]
    interval: WriteInterval
    clock: Clock = field(default_factory=LoopClock)
    fraction: Fraction = chance
    report: Callable[[Finding | None], None] = field(default=lambda finding: None)
    explain: Callable[[ApiRefused], Finding] = field(
        default=lambda refused: PublishRefused(problem=str(refused))
    )
    counts: WriteCounts = field(default_factory=WriteCounts)
    _offered: C | None = field(default=None, init=False)
    _stored: C | None = field(default=None, init=False)
    _times: pacing.WriteTimes = field(default_factory=pacing.begun, init=False)
    _news: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    def offer(self, content: C) -> None:
        """Set the wanted content; equal content has no effect."""
        if content == self._offered:
            return
        self._offered = content
        if content == self._stored:
            # The stored content is current again, so only the refresh remains.
            self._times = pacing.reverted(self._times, self.interval, self.fraction())
        else:
            now = self.clock.now_seconds()
            self._times = pacing.changed(self._times, self.interval, now, self.fraction())
        self._news.set()

    @property
    def is_current(self) -> bool:
        """Whether the API server has the latest content."""
        return self._offered is not None and self._offered == self._stored

    @property
    def is_idle(self) -> bool:
        return self._offered is None

    async def run(self) -> None:
        """Write whenever due, until cancelled."""
        while True:
            # Clear before reading the times: a later offer then wakes the wait.
            self._news.clear()
            wait = self._times.due_at - self.clock.now_seconds()
            if wait > 0:
                await self._until_news(wait)
            else:
                await self.write()

    async def _until_news(self, seconds: float) -> None:
        if seconds == float("inf"):
            await self._news.wait()
            return
        async with beside(self._news.wait()) as news, beside(self.clock.sleep(seconds)) as pause:
            await asyncio.wait((news, pause), return_when=asyncio.FIRST_COMPLETED)

    async def write(self) -> None:
        """Write the latest content now."""
        content, began_at = self._offered, self.clock.now_seconds()
        if content is None:
            return
        try:
            await self.send(content)
        except ApiRefused as refused:
            retry_after_seconds = refused.status.retry_after_seconds
            self.counts.put_off += retry_after_seconds is not None
            self._failed(self.explain(refused))
            now = self.clock.now_seconds()
            self._times = pacing.refused(self._times, now, self.fraction(), retry_after_seconds)
            return
        except ApiUnreachable as unreachable:
            self._failed(PublishUnreachable(problem=str(unreachable)))
            now = self.clock.now_seconds()
            self._times = pacing.unreachable(self._times, now, self.fraction())
            return
        self.counts.written += 1
        if self._times.failures:
            self.report(None)
        self._stored = content
        self._times = pacing.written(self.interval, began_at, self.fraction())
        if self._offered != content:
            # The content changed during the write.
            now = self.clock.now_seconds()
            self._times = pacing.changed(self._times, self.interval, now, self.fraction())

    def _failed(self, finding: Finding) -> None:
        self.counts.failed += 1
        if not self._times.failures:
            self.report(finding)


@dataclass(slots=True)
class ClassWriter:
    """Creates the classes of nodes; one instance per process."""

    api: Applying
    _created: set[str] = field(default_factory=set, init=False)

    async def ensure(self, node_objects: NodeObjects, *, check_again: bool = False) -> None:
        """Create the class if it is missing.

        ``check_again`` creates it even if this process created it before: it may be deleted.

        Raises ``ApiRefused`` or ``ApiUnreachable``.
        """
        name = node_objects.class_name
        if name in self._created and not check_again:
            return
        try:
            await self.api.create(numa_node_class.PATH, dict(node_objects.class_object))
        except ApiRefused as refused:
            # Another node created it. The name is a hash of the content, so it is equal.
            if not refused.status.is_conflict:
                raise
        self._created.add(name)


def numa_node_writer(
    api: Applying,
    node_name: str,
    classes: ClassWriter,
    utc_now: Callable[[], datetime],
    *,
    owner: NodeOwner | None = None,
    interval: WriteInterval = NUMA_NODE_INTERVAL,
    clock: Clock | None = None,
    fraction: Fraction = chance,
    report: Callable[[Finding | None], None] = lambda finding: None,
) -> PacedWriter[NodeObjects]:
    """The writer of a NumaNode, for ``objects_of_node(...)``."""
    last: list[NodeObjects] = []

    async def send(node_objects: NodeObjects) -> None:
        # Equal content is the refresh, which also restores a deleted class.
        await classes.ensure(node_objects, check_again=last == [node_objects])
        body = node_objects.node_object(node_name, utc_now(), owner)
        # Only this node writes these fields, so override other managers.
        await api.apply(f"{numa_node.PATH}/{node_name}", body, MANAGER, force=True)
        last[:] = [node_objects]

    return PacedWriter(send, interval, clock=clock or LoopClock(), fraction=fraction, report=report)


def topology_writer(
    api: Applying,
    node_name: str,
    *,
    force: bool,
    owner: NodeOwner | None = None,
    interval: WriteInterval = TOPOLOGY_INTERVAL,
    clock: Clock | None = None,
    fraction: Fraction = chance,
    report: Callable[[Finding | None], None] = lambda finding: None,
) -> PacedWriter[dict[str, Any]]:
    """The writer of a NodeResourceTopology, for ``node_resource_topology.topology(...)``.

    Does not write zones of another manager without ``force``.
    """
    reference = None if owner is None else owner.reference()

    async def send(content: dict[str, Any]) -> None:
        body = node_resource_topology.named(node_name, content, reference)
        path = f"{node_resource_topology.PATH}/{node_name}"
        await api.apply(path, body, MANAGER, force=force)

    def explain(refused: ApiRefused) -> Finding:
        if refused.status.is_conflict and not force:
            return PublishForeignZones(node=node_name, problem=refused.status.message)
        return PublishRefused(problem=str(refused))

    return PacedWriter(
        send,
        interval,
        clock=clock or LoopClock(),
        fraction=fraction,
        report=report,
        explain=explain,
    )
