"""What a client of the API server sees of a fleet: when pods were decided, leases, writes.

Moments are those at which a watch brought the change here, by the clock of the event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

import msgspec

from numalet.cluster.hollow.node_document import LEASES
from numalet.io.kube_api import client, follow, paths
from numalet.io.kube_api.follow import Changed, Replaced
from numalet.io.kube_api.listing import ApiCollection
from numalet.io.kube_api.values import Access

PODS: Final = "/api/v1/pods"
NUMA_NODES: Final = "/apis/numalet.dev/v1alpha1/numanodes"
LEASE: Final = "lease"
NODE_STATUS: Final = "Node"
NUMA_NODE: Final = "NumaNode"
_GLANCE_SECONDS: Final = 0.05


class _Condition(msgspec.Struct):
    type: str
    status: str


class _Metadata(msgspec.Struct, rename="camel"):
    name: str
    resource_version: str


class _Spec(msgspec.Struct, rename="camel"):
    node_name: str = ""


class _Status(msgspec.Struct):
    phase: str = ""
    reason: str = ""
    conditions: list[_Condition] = []


class _Seen(msgspec.Struct):
    """What is read of an object of any kind."""

    metadata: _Metadata
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)

    @property
    def is_ready(self) -> bool:
        return any(
            each.type == "Ready" and each.status == "True" for each in self.status.conditions
        )


_decode: Final = msgspec.json.Decoder(_Seen).decode


@dataclass
class PodTimes:
    """When a pod was seen bound and decided, None before; ``phase`` and ``reason`` as they are."""

    bound_at: float | None = None
    decided_at: float | None = None
    phase: str = ""
    reason: str = ""

    @property
    def is_over(self) -> bool:
        return self.phase in ("Succeeded", "Failed")

    @property
    def decided_after_seconds(self) -> float:
        """From bound to Running, or to rejected."""
        assert self.bound_at is not None
        assert self.decided_at is not None
        return self.decided_at - self.bound_at


@dataclass
class FleetObserver:
    """What was seen. ``writes`` counts versions of objects by kind, of those that were there."""

    pods: dict[str, PodTimes] = field(default_factory=dict)
    writes: Counter[str] = field(default_factory=Counter)
    longest_lease_seconds: float = 0.0
    """The longest time between two versions of one lease."""
    not_ready: set[str] = field(default_factory=set)
    """Nodes that were ready, and were not at some later moment."""
    published: set[str] = field(default_factory=set)
    """Nodes of which there is a NumaNode."""
    listed: set[str] = field(default_factory=set)
    """Kinds of which all objects were seen once."""
    _watches: list[asyncio.Task[None]] = field(default_factory=list)
    _leases: dict[str, float] = field(default_factory=dict)
    _ready: set[str] = field(default_factory=set)

    @property
    def ready_nodes(self) -> int:
        """How many nodes were ever ready."""
        return len(self._ready)

    @property
    def decided(self) -> dict[str, PodTimes]:
        """The pods that run, ran, or were rejected, by name."""
        return {name: each for name, each in self.pods.items() if each.decided_at is not None}

    async def until(self, is_so: Callable[[], bool], limit_seconds: float = 900.0) -> None:
        """Wait until it is so. Raises ``TimeoutError``, or what ended the watches."""
        async with asyncio.timeout(limit_seconds):
            while not is_so():
                for task in self._watches:
                    if task.done():
                        task.result()
                await asyncio.sleep(_GLANCE_SECONDS)

    def pod(self, seen: _Seen, now: float) -> None:
        """A pod is so now."""
        times = self.pods.setdefault(seen.metadata.name, PodTimes())
        if seen.spec.node_name and times.bound_at is None:
            times.bound_at = now
        if seen.status.phase not in ("", "Pending") and times.decided_at is None:
            times.decided_at = now
        times.phase, times.reason = seen.status.phase, seen.status.reason

    def lease(self, seen: _Seen, now: float) -> None:
        """A lease is so now."""
        before = self._leases.get(seen.metadata.name, now)
        self.longest_lease_seconds = max(self.longest_lease_seconds, now - before)
        self._leases[seen.metadata.name] = now

    def node(self, seen: _Seen, now: float) -> None:
        """A node is so now."""
        if seen.is_ready:
            self._ready.add(seen.metadata.name)
        elif seen.metadata.name in self._ready:
            self.not_ready.add(seen.metadata.name)

    def numa_node(self, seen: _Seen, now: float) -> None:
        """A NumaNode is so now."""
        self.published.add(seen.metadata.name)


def at_part(values: list[float], part: float) -> float:
    """The value within which this part of all is."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]


@asynccontextmanager
async def observing(access: Access) -> AsyncIterator[FleetObserver]:
    """An observer, which has seen all that there was, until the end of the block."""
    observer = FleetObserver()
    ways: tuple[tuple[str, str, Callable[[_Seen, float], None]], ...] = (
        ("pod", PODS, observer.pod),
        (LEASE, LEASES, observer.lease),
        (NODE_STATUS, paths.NODES, observer.node),
        (NUMA_NODE, NUMA_NODES, observer.numa_node),
    )
    async with client.opened(access, "observer") as api, asyncio.TaskGroup() as group:
        for each in ways:
            observer._watches.append(group.create_task(_observe(api, observer, *each)))
        await observer.until(lambda: len(observer.listed) == len(ways))
        yield observer
        for task in observer._watches:
            task.cancel()


async def _observe(
    api: client.ApiClient,
    observer: FleetObserver,
    kind: str,
    path: str,
    note: Callable[[_Seen, float], None],
) -> None:
    now = asyncio.get_running_loop().time
    async with contextlib.aclosing(follow.follow(api, ApiCollection(path), _decode)) as news:
        async for each in news:
            match each:
                case Replaced(items):
                    for item in items.values():
                        note(item, now())
                    observer.listed.add(kind)
                case Changed(_, item):
                    observer.writes[kind] += 1
                    note(item, now())
                case _:
                    pass
