"""Fleets of hollow nodes in the event loop of a test, beside any API server."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from numalet.cluster.hollow import kinds
from numalet.cluster.hollow.fleet import HollowFleet
from numalet.cluster.hollow.fleet_members import (
    FleetOptions,
    MakePublisher,
    Member,
    begun_again,
    members_of,
)
from numalet.cluster.hollow.kinds import NodeKind
from numalet.cluster.hollow.node_document import NodeNaming
from numalet.cluster.hollow.publishing import HollowPublisher
from numalet.core.config.behaviour import EXACT
from numalet.core.config.releases.release import Release
from numalet.core.node.node import Node
from numalet.io.kube_api import client
from numalet.io.kube_api.answers import ApiRefused
from numalet.io.kube_api.client import ApiClient
from numalet.io.kube_api.values import Access
from numalet.io.tasks import ended
from values import hollow_pods

PATIENCE_SECONDS = 200.0
QUICK = FleetOptions(reboot_seconds=0.2, renew_seconds=5.0, writers=4)


class KillablePublisher:
    """A publisher that can be killed at any moment, after which another one begins anew.

    One that is stopped publishes nothing that changes from then on.
    """

    def __init__(
        self,
        api: ApiClient,
        members: Mapping[str, Member],
        refused: Callable[[ApiRefused], None] = lambda refused: None,
    ) -> None:
        self._api = api
        self._members = members
        self._refused = refused
        self._inner = self._made()
        self._task: asyncio.Task[None] | None = None
        self._is_stopped = False

    @property
    def is_idle(self) -> bool:
        return self._inner.is_idle

    def changed(self, name: str) -> None:
        if not self._is_stopped:
            self._inner.changed(name)

    def pods_changed(self, name: str) -> None:
        if not self._is_stopped:
            self._inner.pods_changed(name)

    def stop(self) -> None:
        self._is_stopped = True

    async def work(self) -> None:
        while True:
            self._task = asyncio.create_task(self._inner.work())
            try:
                await asyncio.wait([self._task])
            finally:
                await ended(self._task)
            if not self._task.cancelled():
                self._task.result()

    def kill(self) -> None:
        """What was not written yet is lost; the next one knows nothing and publishes all."""
        assert self._task is not None
        self._task.cancel()
        self._inner = self._made()
        for name in self._members:
            self._inner.changed(name)

    def _made(self) -> HollowPublisher:
        return HollowPublisher(self._api, self._members, self._refused, between_seconds=0.05)


@dataclass
class RunningFleet:
    """A fleet, the client that it uses, and what it said."""

    api: ApiClient
    fleet: HollowFleet
    said: list[str] = field(default_factory=list)
    task: asyncio.Task[None] | None = None

    @property
    def publisher(self) -> KillablePublisher:
        publisher = self.fleet.publisher
        assert isinstance(publisher, KillablePublisher)
        return publisher

    def node(self, name: str) -> Node:
        """A node with the ledgers that it has."""
        return self.fleet.members[name].life.node

    def phases(self) -> dict[str, str]:
        """What every pod of the fleet has come to, by its name."""
        return {
            held.record.workload.pod.name: _verdict(held.record.run.verdict)
            for member in self.fleet.members.values()
            for held in member.life.pods.values()
        }

    async def until(self, is_so: Callable[[], bool]) -> None:
        """Wait until it is so. Raises ``TimeoutError``, or what ended the fleet."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not is_so():
                if self.task is not None and self.task.done():
                    self.task.result()
                await asyncio.sleep(0.02)

    async def settled(self) -> None:
        """Wait until everything that the fleet knows is written."""
        publisher = self.fleet.publisher
        assert isinstance(publisher, KillablePublisher | HollowPublisher)
        await self.until(lambda: self.fleet.writer.is_idle and publisher.is_idle)


def _verdict(verdict: object) -> str:
    admitted = getattr(verdict, "admitted", None)
    return {True: "admitted", False: getattr(verdict, "reason", ""), None: "undecided"}[admitted]


def gpu_kind(release: Release = EXACT.release, **settings: Any) -> NodeKind:
    """Nodes of 8 GPUs on 2 NUMA nodes; single-numa-node in pod scope, but for these settings."""
    return NodeKind(
        name="gpu",
        machine=hollow_pods.machine(),
        config=hollow_pods.config(**settings),
        devices=hollow_pods.EIGHT_GPUS,
        empty=hollow_pods.node(release=release, **settings),
    )


def namings(count: int, all_kinds: Sequence[NodeKind], prefix: str) -> list[NodeNaming]:
    """The names of so many nodes."""
    return [
        NodeNaming(name=f"{prefix}-{at}", prefix=prefix, kind=all_kinds[at % len(all_kinds)].name)
        for at in range(count)
    ]


@contextlib.asynccontextmanager
async def running(
    access: Access,
    count: int = 2,
    all_kinds: Sequence[kinds.NodeKind] = (),
    options: FleetOptions = QUICK,
    prefix: str = "hollow",
    make_publisher: MakePublisher | None = None,
) -> AsyncIterator[RunningFleet]:
    """A fleet that is registered and knows its pods, until the end of the block."""
    made = tuple(all_kinds) or (gpu_kind(),)
    said: list[str] = []
    async with client.opened(access, "numalet-hollow") as api:
        members = members_of(namings(count, made, prefix), made)
        if options.state is not None:
            begun_again(members, options.state)
        fleet = HollowFleet(api, members, options, said.append, make_publisher or KillablePublisher)
        held = RunningFleet(api, fleet, said)
        held.task = asyncio.create_task(fleet.run())
        try:
            await fleet.register()
            await held.until(fleet.has_pods.is_set)
            await held.settled()
            yield held
        finally:
            held.task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await held.task
