"""The storm of rejected pods: a Deployment whose pods are one NUMA node big, and what comes of it.

Each of four nodes has four NUMA nodes, of which the first one keeps a little for the system. A pod
fits into each of the other three, so that there is room for twelve; by the sums there is room for
four on every node. A scheduler that goes by the sums alone sends a fourth pod there, the kubelet
rejects it, and its ReplicaSet makes the next one at once.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from numalet.cluster.hollow.kinds import NodeKind
from numalet.core.config.rules import StartRefused
from numalet.core.node import node as nodes
from numalet.io import machines
from numalet.io.documents.kubelet import kubelet_config
from numalet.io.kube_api import follow, listing
from numalet.io.kube_api.client import ApiClient
from numalet.io.kube_api.follow import Changed, Deleted, Replaced
from numalet.io.kube_api.listing import ApiCollection
from running.hollow_fleets import PATIENCE_SECONDS

NODES: Final = 4
ROOM_OF_A_NODE: Final = 3
ROOM: Final = NODES * ROOM_OF_A_NODE
REPLICAS: Final = 50
NAME: Final = "numa-sized"
LABELS: Final = {"app": NAME}
AMOUNTS: Final = {"cpu": "14", "memory": "14Gi"}
_GLANCE_SECONDS: Final = 0.02


def kind() -> NodeKind:
    """Four NUMA nodes of 16 CPUs and 16Gi, of which the first one has 12 CPUs for pods."""
    machine = machines.open_machine("4n8c2t", memory_per_node="16Gi").info
    config = kubelet_config.decode(
        {
            "cpuManagerPolicy": "static",
            "reservedSystemCPUs": "0,1,32,33",
            "memoryManagerPolicy": "Static",
            "reservedMemory": [{"numaNode": 0, "limits": {"memory": "1124Mi"}}],
            "kubeReserved": {"memory": "1Gi"},
            "topologyManagerPolicy": "single-numa-node",
            "topologyManagerScope": "pod",
        },
        "kubelet.yaml",
    )
    empty = nodes.start(config, machine)
    assert not isinstance(empty, StartRefused), empty
    return NodeKind(name="storm", machine=machine, config=config, devices={}, empty=empty)


def pod(name: str, **spec: Any) -> dict[str, Any]:
    """A pod of that size that nothing makes again; ``spec`` is added to its own."""
    metadata = {"name": name, "labels": LABELS}
    spec = _spec("Never") | spec
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def small_pod(name: str, **spec: Any) -> dict[str, Any]:
    """A pod that asks for next to nothing, and fits wherever there is a node."""
    made = pod(name, **spec)
    amounts = {"cpu": "10m", "memory": "10Mi"}
    made["spec"]["containers"][0]["resources"] = {"requests": amounts}
    return made


def deployment(replicas: int = REPLICAS, **spec: Any) -> dict[str, Any]:
    """A Deployment of so many of them; ``spec`` is added to that of its pods."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": NAME},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": LABELS},
            "template": {"metadata": {"labels": LABELS}, "spec": _spec("Always") | spec},
        },
    }


def deployments(namespace: str) -> str:
    """The path of the Deployments of a namespace."""
    return f"/apis/apps/v1/namespaces/{namespace}/deployments"


def pods(namespace: str) -> str:
    """The path of the pods of a namespace."""
    return f"/api/v1/namespaces/{namespace}/pods"


def _spec(restart: str) -> dict[str, Any]:
    resources = {"requests": AMOUNTS, "limits": AMOUNTS}
    return {
        "restartPolicy": restart,
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": 0,
        "containers": [{"name": "app", "image": "any", "resources": resources}],
    }


class _Metadata(msgspec.Struct, rename="camel"):
    name: str
    uid: str
    deletion_timestamp: str | None = None


class _Spec(msgspec.Struct, rename="camel"):
    node_name: str = ""


class _Condition(msgspec.Struct):
    type: str
    message: str = ""


class _Status(msgspec.Struct):
    phase: str = ""
    reason: str = ""
    conditions: list[_Condition] = []


class SeenPod(msgspec.Struct, frozen=True):
    """What is read of a Pod object."""

    metadata: _Metadata
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)

    @property
    def is_alive(self) -> bool:
        """Whether nobody deletes it."""
        return self.metadata.deletion_timestamp is None

    @property
    def why_waiting(self) -> str:
        """What the scheduler says of it; empty before it was tried."""
        said = [each.message for each in self.status.conditions if each.type == "PodScheduled"]
        return "".join(said)


_decode: Final = msgspec.json.Decoder(SeenPod).decode


@dataclass(frozen=True, slots=True)
class SeenRejection:
    """A pod that was seen Failed, by the clock of the event loop."""

    at_seconds: float
    node_name: str
    reason: str


@dataclass
class StormWatch:
    """What a watch of the pods of a namespace has shown so far.

    ``there`` has the pods that are there now, by uid; ``rejections`` every pod that was ever seen
    Failed, by uid, also those that are gone.
    """

    there: dict[str, SeenPod] = field(default_factory=dict)
    rejections: dict[str, SeenRejection] = field(default_factory=dict)
    running_since: dict[str, float] = field(default_factory=dict)
    """When a pod was seen Running first, by uid."""
    is_listed: bool = False
    watching: asyncio.Task[None] | None = None

    def names(self, phase: str) -> list[str]:
        """The pods that are there now, in this phase, and nobody deletes."""
        return sorted(
            each.metadata.name
            for each in self.there.values()
            if each.status.phase == phase and each.is_alive
        )

    def pod(self, name: str) -> SeenPod | None:
        """The pod of this name; None if there is none."""
        return next((each for each in self.there.values() if each.metadata.name == name), None)

    def phases(self) -> Counter[str]:
        """How many pods there are now, by phase, without those that are being deleted."""
        return Counter(each.status.phase for each in self.there.values() if each.is_alive)

    def waiting_for(self) -> list[str]:
        """What the scheduler says of each pod that waits; empty before it was tried."""
        return [each.why_waiting for each in self.there.values() if each.status.phase == "Pending"]

    def rejections_by_node(self, since: float, until: float) -> Counter[str]:
        """How many pods were seen Failed within this time, by the node that rejected them."""
        return Counter(
            each.node_name for each in self.rejections.values() if since <= each.at_seconds < until
        )

    def failed_per_minute(self, since: float, until: float) -> float:
        """The rate within this time."""
        return 60 * self.rejections_by_node(since, until).total() / (until - since)

    async def until(
        self, is_so: Callable[[], bool], limit_seconds: float = PATIENCE_SECONDS
    ) -> None:
        """Wait until it is so; else fails with what there is, or what ended the watch."""
        loop = asyncio.get_running_loop()
        last = loop.time() + limit_seconds
        while not is_so():
            if self.watching is not None and self.watching.done():
                self.watching.result()
            assert loop.time() < last, self.summary()
            await asyncio.sleep(_GLANCE_SECONDS)

    def summary(self) -> str:
        """What there is, and why what waits does, for the message of a failed test."""
        why = {*self.waiting_for()}
        return f"{dict(self.phases())}, {len(self.rejections)} were rejected, waiting: {why}"

    def _changed(self, uid: str, seen: SeenPod) -> None:
        now = asyncio.get_running_loop().time()
        self.there[uid] = seen
        if seen.status.phase == "Running":
            self.running_since.setdefault(uid, now)
        if seen.status.phase == "Failed" and uid not in self.rejections:
            self.rejections[uid] = SeenRejection(now, seen.spec.node_name, seen.status.reason)

    async def _watch(self, api: ApiClient, namespace: str) -> None:
        news = follow.follow(api, ApiCollection(pods(namespace)), _decode, key=listing.uid)
        async with contextlib.aclosing(news):
            async for each in news:
                match each:
                    case Replaced(items):
                        self.there.clear()
                        for uid, seen in items.items():
                            self._changed(uid, seen)
                        self.is_listed = True
                    case Changed(uid, seen):
                        self._changed(uid, seen)
                    case Deleted(uid):
                        self.there.pop(uid, None)
                    case _:
                        pass


@asynccontextmanager
async def watching(api: ApiClient, namespace: str) -> AsyncIterator[StormWatch]:
    """A watch that has seen all pods of the namespace, until the end of the block."""
    seen = StormWatch()
    seen.watching = asyncio.create_task(seen._watch(api, namespace))
    try:
        await seen.until(lambda: seen.is_listed)
        yield seen
    finally:
        seen.watching.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await seen.watching
