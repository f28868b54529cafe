"""Leases of many nodes are renewed in time, and a time without answers is not made up for."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any, cast

from numalet.cluster.hollow.node_document import RENEW_SECONDS, Leases
from numalet.io.kube_api.client import ApiClient
from running import simulated_time

NAMES = [f"hollow-{at}" for at in range(100)]
SLOW_SECONDS = 100.0


class SlowAtFirst:
    """An API server that takes 30 s for each request in the first 100 s, then no time."""

    def __init__(self) -> None:
        self.renewed_at: dict[str, list[float]] = {}

    async def patch(self, path: str, body: Any) -> bytes:
        now = asyncio.get_running_loop().time
        await asyncio.sleep(30.0 if now() < SLOW_SECONDS else 0.0)
        self.renewed_at.setdefault(path, []).append(now())
        return b"{}"


async def _live(api: SlowAtFirst, seconds: float) -> None:
    leases = Leases(cast("ApiClient", api), NAMES, lambda name: True, lambda name: name)
    async with asyncio.TaskGroup() as group:
        keeping = group.create_task(leases.keep())
        await asyncio.sleep(seconds)
        keeping.cancel()


def test_a_lease_that_was_late_is_renewed_once_and_then_in_its_turn() -> None:
    api = SlowAtFirst()
    simulated_time.run(_live(api, SLOW_SECONDS + 10 * RENEW_SECONDS))
    pauses = [
        later - earlier
        for moments in api.renewed_at.values()
        for earlier, later in itertools.pairwise(moments)
        if later > SLOW_SECONDS + RENEW_SECONDS
    ]

    assert len(api.renewed_at) == len(NAMES)
    assert min(pauses) >= RENEW_SECONDS / 2
    last = [moments[-1] - moments[-2] for moments in api.renewed_at.values()]
    assert max(last) <= RENEW_SECONDS + 0.01
