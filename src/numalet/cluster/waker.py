"""Changes a label of nodes that can admit pending pods, so that the scheduler tries these again.

One process does this for the whole cluster, not the agents: a credential that may change a label of
nodes may also remove their taints, so it should not be on every node.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Final

from numalet.cluster.live import LiveCluster
from numalet.cluster.programs import until_signal
from numalet.core.cluster import shapes
from numalet.core.cluster.cluster import Cluster, ClusterPod
from numalet.core.cluster.shapes import PodKey
from numalet.core.cluster.verdicts import Verdicts
from numalet.core.model.value import Value, replace
from numalet.insight.fleet import kube_scheduler
from numalet.io.kube_api import client, paths
from numalet.io.kube_api.answers import ApiRefused, ApiUnreachable
from numalet.io.kube_api.client import ApiClient
from numalet.io.kube_api.values import Access
from numalet.io.tasks import together

# A pod that fits nowhere waits for an event that may change its rejection. For the scheduler a
# change of a published state is not such an event, but a change of a Node's label is. The deletion
# of a pod is one, but the scheduler may learn of it before the extender: then it tries the waiting
# pod, the extender still refuses it, and no further event follows. In both cases a pod that the
# scheduler has refused waits although a node would admit it. ``due`` names one node for each shape
# of such pods. One node suffices, since the scheduler tries the pod on all nodes.

_GROWTH: Final = 2.0


class WakingLimits(Value, kw_only=True):
    """Limits of the frequency.

    A refused pod gets ``patience_seconds`` from the moment at which a node would admit it, because
    the scheduler usually tries it by itself; a pod that the scheduler has not tried yet gets
    ``again_seconds``. If it still waits after a touch, the next follows after ``again_seconds``,
    then after twice as long, and so on up to ``longest_seconds``. A node is touched at most once in
    ``node_seconds``; at most ``most_nodes`` are touched at one time.
    """

    patience_seconds: float = 0.5
    node_seconds: float = 1.0
    most_nodes: int = 20
    again_seconds: float = 15.0
    longest_seconds: float = 300.0


class WaitingShape(Value):
    """The longest waiting pod of a shape, the nodes that would admit it, and the next touch."""

    pod_uid: str
    nodes: frozenset[str]
    freed: frozenset[str]
    """Undecided nodes that a pod has left since the last touch: they may have room now."""
    due_at: float | None
    """When a touch is due if the pod still waits; without a node, never."""
    pause_seconds: float


class Waking(Value, kw_only=True):
    """The state between two plans. Times are seconds of any steady clock."""

    shapes: Mapping[PodKey, WaitingShape] = MappingProxyType({})
    touched_at: Mapping[str, float] = MappingProxyType({})
    pods_of: Mapping[str, frozenset[str]] = MappingProxyType({})

    @property
    def again_at(self) -> float | None:
        """When something may be due without any change."""
        moments = (each.due_at for each in self.shapes.values() if each.due_at is not None)
        return min(moments, default=None)


class Touch(Value):
    """A node whose label changes, and a pod that waits for it."""

    node_name: str
    pod: str


def due(
    before: Waking,
    cluster: Cluster,
    verdicts: Verdicts,
    now_seconds: float,
    limits: WakingLimits = WakingLimits(),
) -> tuple[Waking, tuple[Touch, ...]]:
    """Return the next state, and the nodes to touch now, for the longest waiting pods first."""
    resting = {
        name: at for name, at in before.touched_at.items() if now_seconds < at + limits.node_seconds
    }
    occupied = _pods_of_undecided(cluster)
    freed = frozenset(
        name for name, pods in before.pods_of.items() if pods - occupied.get(name, pods)
    )
    touches: list[Touch] = []
    after: dict[PodKey, WaitingShape] = {}
    for pod in cluster.waiting():
        key = shapes.key_of(pod)
        if key in after:
            continue
        nodes = _nodes_for(cluster, verdicts, pod)
        shape = _waiting(before.shapes.get(key), pod, nodes, freed, now_seconds, limits)
        if shape.due_at is not None and shape.due_at <= now_seconds:
            candidates = shape.nodes or shape.freed
            free = sorted(candidates - resting.keys())
            if not free:
                next_at = min(resting[each] for each in candidates) + limits.node_seconds
                shape = replace(shape, due_at=next_at)
            elif len(touches) < limits.most_nodes:
                resting[free[0]] = now_seconds
                touches.append(Touch(free[0], str(pod.pod)))
                shape = _touched(shape, now_seconds, limits)
        after[key] = shape
    return Waking(shapes=after, touched_at=resting, pods_of=occupied), tuple(touches)


def _waiting(
    known: WaitingShape | None,
    pod: ClusterPod,
    nodes: frozenset[str],
    freed: frozenset[str],
    now_seconds: float,
    limits: WakingLimits,
) -> WaitingShape:
    """Return the shape as it waits now; ``known`` is that of the plan before."""
    first_due = now_seconds + (limits.patience_seconds if pod.was_refused else limits.again_seconds)
    if known is None or known.pod_uid != pod.pod.uid:
        # Pauses belong to a pod: that another pod of its shape waited long says nothing about it.
        room = nodes or freed
        return WaitingShape(
            pod.pod.uid, nodes, freed, first_due if room else None, limits.again_seconds
        )
    freed |= known.freed
    if not nodes and not freed:
        return replace(known, nodes=nodes, due_at=None, pause_seconds=limits.again_seconds)
    due_at = first_due if known.due_at is None else known.due_at
    if nodes - known.nodes or freed - known.freed:
        due_at = min(due_at, first_due)
    return replace(known, nodes=nodes, freed=freed, due_at=due_at)


def _touched(shape: WaitingShape, now_seconds: float, limits: WakingLimits) -> WaitingShape:
    """Return the shape after a touch. It is repeated, since the scheduler's view may be older."""
    if not shape.nodes:
        return replace(shape, freed=frozenset(), due_at=None)
    return replace(
        shape,
        freed=frozenset(),
        due_at=now_seconds + shape.pause_seconds,
        pause_seconds=min(shape.pause_seconds * _GROWTH, limits.longest_seconds),
    )


def _nodes_for(cluster: Cluster, verdicts: Verdicts, pod: ClusterPod) -> frozenset[str]:
    """Return the nodes that the scheduler would choose for the pod and that would admit it."""
    decided = verdicts.decide(cluster.nodes, pod.pod)
    return frozenset(
        name
        for name, verdict in decided.items()
        if verdict.admitted and kube_scheduler.why_not(cluster.nodes[name], pod) is None
    )


def _pods_of_undecided(cluster: Cluster) -> dict[str, frozenset[str]]:
    pods: dict[str, set[str]] = {name: set() for name in cluster.undecided}
    for uid, each in cluster.pods.items():
        if each.pod.node_name in pods and not each.is_over:
            pods[each.pod.node_name].add(uid)
    return {name: frozenset(uids) for name, uids in pods.items()}


LABEL: Final = "numalet.dev/changed"
BETWEEN_SECONDS: Final = 0.25
"""Time between two plans; one plan covers all changes in between."""
USUAL: Final = WakingLimits()


class Waker:
    """Determines for each state of the cluster which nodes to touch, and touches them.

    ``say`` gets messages for the user, one line at a time.
    """

    def __init__(
        self,
        api: ApiClient,
        say: Callable[[str], None],
        limits: WakingLimits = USUAL,
        between_seconds: float = BETWEEN_SECONDS,
    ) -> None:
        self.touched = 0
        self._api = api
        self._say = say
        self._limits = limits
        self._between_seconds = between_seconds
        self._verdicts = Verdicts()
        self._waking = Waking()
        self._latest: Cluster | None = None
        self._news = asyncio.Event()

    async def run(self, clusters: AsyncIterator[Cluster]) -> None:
        async with together() as group:
            asking = group.create_task(self._ask())
            async for each in clusters:
                self._latest = each
                self._news.set()
            asking.cancel()

    async def wake(self, cluster: Cluster) -> None:
        now = asyncio.get_running_loop().time()
        self._waking, touches = due(self._waking, cluster, self._verdicts, now, self._limits)
        for each in touches:
            await self._touch(each)

    async def _ask(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            again_at = self._waking.again_at
            wait = None if again_at is None else max(0.0, again_at - loop.time())
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._news.wait()
            self._news.clear()
            if self._latest is not None:
                await self.wake(self._latest)
            await asyncio.sleep(self._between_seconds)

    async def _touch(self, touch: Touch) -> None:
        value = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%f")[:-3]
        body = {"metadata": {"labels": {LABEL: value}}}
        try:
            await self._api.patch(paths.node(touch.node_name), body)
        except (ApiRefused, ApiUnreachable) as error:
            self._say(f"{touch.node_name}: {error}")
            return
        self.touched += 1
        self._say(f"{touch.node_name}: touched for {touch.pod}")


async def live(to: Access, say: Callable[[str], None]) -> None:
    """Follow a cluster and touch its nodes until a signal ends it.

    Raises ``BadInput`` if the credentials cannot be used.
    """
    async with client.opened(to, "numalet-waker") as api:
        followed = LiveCluster()
        say(f"following the cluster at {to.server}")

        async def both() -> None:
            async with together() as group:
                group.create_task(followed.follow(api))
                group.create_task(Waker(api, say).run(_states(followed, say)))

        await until_signal(both())


async def _states(followed: LiveCluster, say: Callable[[str], None]) -> AsyncIterator[Cluster]:
    told: frozenset[str] = frozenset()
    was_current = False
    while True:
        problems = frozenset(map(str, followed.notes))
        for each in sorted(problems - told):
            say(each)
        if followed.is_current and not was_current:
            say("connected, and up to date")
        told, was_current = problems, followed.is_current
        value = followed.cluster()
        if value is not None:
            yield value
        await followed.wait_for_change()
        # All changes of a burst are processed together.
        await asyncio.sleep(BETWEEN_SECONDS)
