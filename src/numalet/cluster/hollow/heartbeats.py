"""Renews leases of many nodes one after the other, so that requests are spread over time."""

from __future__ import annotations

import asyncio
import heapq
import math
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Final

from numalet.cluster.hollow import node_document
from numalet.io.kube_api.answers import ApiRefused, ApiUnreachable
from numalet.io.kube_api.client import ApiClient
from numalet.io.tasks import together

RENEW_SECONDS: Final = 15.0
"""Period for a lease of 40 s.

A kubelet renews every 10 s; this makes a third fewer requests, and two may be lost.
"""


class Leases:
    """The leases of these nodes; those of nodes that are not alive expire.

    ``uid_of`` is the uid of a Node object.
    """

    def __init__(
        self,
        api: ApiClient,
        names: Iterable[str],
        is_alive: Callable[[str], bool],
        uid_of: Callable[[str], str],
        period_seconds: float = RENEW_SECONDS,
        refused: Callable[[ApiRefused], None] = lambda refused: None,
    ) -> None:
        self.renewed = 0
        self.failed = 0
        self._api = api
        self._is_alive = is_alive
        self._uid_of = uid_of
        self._refused = refused
        self._period_seconds = period_seconds
        self._names = tuple(names)
        self._due: list[tuple[float, str]] = []

    async def keep(self, workers: int = 16) -> None:
        """Renew forever. Each node has its own offset in every period."""
        began = asyncio.get_running_loop().time()
        step = self._period_seconds / max(1, len(self._names))
        self._due = [(began + at * step, name) for at, name in enumerate(self._names)]
        async with together() as group:
            for _ in range(workers):
                group.create_task(self._work())

    async def renew(self, name: str) -> bool:
        """Renew or create one lease; return whether that succeeded."""
        now = datetime.now(UTC)
        path = node_document.LEASES
        try:
            try:
                await self._api.patch(f"{path}/{name}", node_document.renewal(name, now))
            except ApiRefused as refused:
                if not refused.status.is_absent:
                    raise
                await self._api.create(path, node_document.lease(name, self._uid_of(name), now))
        except ApiRefused as refused:
            self.failed += 1
            self._refused(refused)
            return False
        except ApiUnreachable:
            self.failed += 1
            return False
        self.renewed += 1
        return True

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            if not self._due:
                # Each of the others is renewing a node.
                await asyncio.sleep(self._period_seconds)
                continue
            due, name = heapq.heappop(self._due)
            await asyncio.sleep(max(0.0, due - loop.time()))
            renewed = await self.renew(name) if self._is_alive(name) else True
            # Missed renewals are not repeated: the next one is at the node's own offset in a
            # period, half a period from now at the earliest. Failed ones are repeated soon.
            period, now = self._period_seconds, loop.time()
            periods = math.ceil((now - due) / period + 0.5)
            following = due + period * periods if renewed else now + period / 10
            heapq.heappush(self._due, (following, name))
