"""Changes a label of nodes that can admit pending pods, so that the scheduler tries these again.

One process does this for the whole cluster, not the agents: a credential that may change a label of
nodes may also remove their taints, so it should not be on every node.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from typing import Final

from numalet.cluster import waking
from numalet.cluster.live import LiveCluster
from numalet.cluster.signals import until_signal
from numalet.cluster.waking import Touch, Waking, WakingLimits
from numalet.core.cluster.cluster import Cluster
from numalet.core.cluster.verdicts import Verdicts
from numalet.io.kube_api import client, paths
from numalet.io.kube_api.answers import ApiRefused, ApiUnreachable
from numalet.io.kube_api.client import ApiClient
from numalet.io.kube_api.values import Access
from numalet.io.tasks import together

LABEL: Final = "numalet.dev/changed"
BETWEEN_SECONDS: Final = 0.5
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
        self._waking, touches = waking.due(self._waking, cluster, self._verdicts, now, self._limits)
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
