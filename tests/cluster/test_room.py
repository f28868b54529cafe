"""How soon a pod that waits runs once there is room, with a scheduler that asks the extender.

A scheduler tries a pod that no node would have again after an event, and not before its back-off
has passed. That a pod has gone is an event.
"""

from __future__ import annotations

import asyncio
from typing import Final

import pytest

from cluster import storm_scene
from cluster.storm_scene import REASON
from running import extenders, storms
from running.control_plane import ControlPlane, slowness

pytestmark = pytest.mark.slow
HELD: Final = ("a", "b", "c")
"""Pods that fill the node."""


@pytest.mark.parametrize(("backoff_seconds", "limit_seconds"), [(2, 5), (10, 12)])
async def test_a_pod_runs_soon_after_another_one_has_gone_however_often_it_was_tried(
    defined: ControlPlane, figures: list[str], backoff_seconds: int, limit_seconds: int
) -> None:
    async with storm_scene.of_nodes(defined, 1) as scene:
        seen, now = scene.seen, asyncio.get_running_loop().time
        await scene.fill("hollow-0", *HELD)
        with extenders.running(defined.kubeconfig) as extender:
            defined.start_scheduler(
                [extender.configuration()], podMaxBackoffSeconds=backoff_seconds
            )
            waiting = ("d", "e", "f")
            await scene.create(*map(storms.pod, waiting))
            for each in waiting:
                await scene.until_waiting(each, REASON)
            # Tried at every chance, until the pause before the next try is as long as it gets.
            longest_at = now() + sum(2**at for at in range(4) if 2**at < backoff_seconds)
            while now() < longest_at:
                await scene.wake(f"{now():.0f}")
                await asyncio.sleep(0.5)

            waits: list[float] = []
            for name in HELD[:2]:
                # The first one that goes makes the scheduler try all; so the others pause longest.
                began = now()
                await scene.delete(name)
                await seen.until(lambda: seen.phases()["Running"] == len(HELD) - 1)
                await seen.until(lambda: seen.phases()["Running"] == len(HELD))
                waits.append(now() - began)
            factor = slowness(defined.api_server.start_seconds)
            figures.append(
                f"back-off up to {backoff_seconds} s: {waits[0]:.1f} s and {waits[1]:.1f} s, on a"
                f" machine {factor:.1f} times as slow as a quiet one"
            )
            assert seen.rejections == {}
            working_seconds = limit_seconds - backoff_seconds
            assert max(waits) < backoff_seconds + working_seconds * factor
