"""How soon a pod that waits runs once there is room, with a scheduler that asks the extender.

A scheduler tries a pod that no node would have again after an event, and not before its back-off
has passed. That a pod has gone is an event, and its room counts as free from then on: what a
node publishes of it later is no event.
"""

from __future__ import annotations

import asyncio
from typing import Final

import pytest

from cluster import storm_scene
from cluster.storm_scene import REASON
from numalet.cluster.hollow.publishing import HollowPublisher
from running import extenders, storms, wakers
from running.control_plane import ControlPlane

pytestmark = pytest.mark.slow
BACKOFF_SECONDS: Final = 2
HELD: Final = ("a", "b", "c")
"""Pods that fill the node."""


class LatePublisher(HollowPublisher):
    """Publishes nothing of what changes while it is held."""

    is_held = False

    def changed(self, name: str) -> None:
        if not self.is_held:
            super().changed(name)

    def release(self, name: str) -> None:
        """Publish the node as it is now."""
        self.is_held = False
        self.changed(name)


async def test_a_pod_runs_after_another_one_has_gone_however_often_it_was_tried(
    defined: ControlPlane, figures: list[str]
) -> None:
    # With the waker: the scheduler may learn of a deletion before the extender, and be refused.
    async with storm_scene.of_nodes(defined, 1) as scene, wakers.awake(defined):
        seen, now = scene.seen, asyncio.get_running_loop().time
        await scene.fill("hollow-0", *HELD)
        with extenders.running(defined.kubeconfig) as extender:
            defined.start_scheduler(
                [extender.configuration()], podMaxBackoffSeconds=BACKOFF_SECONDS
            )
            waiting = ("d", "e", "f")
            await scene.create(*map(storms.pod, waiting))
            for each in waiting:
                await scene.until_waiting(each, REASON)
            # Tried at every chance, until the pause before the next try is as long as it gets.
            longest_at = now() + sum(2**at for at in range(4) if 2**at < BACKOFF_SECONDS)
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
            figures.append(
                f"back-off up to {BACKOFF_SECONDS} s: {waits[0]:.1f} s and {waits[1]:.1f} s"
            )
            assert seen.rejections == {}


async def test_the_room_of_a_pod_that_has_gone_is_used_before_its_node_says_so(
    defined: ControlPlane, figures: list[str]
) -> None:
    made = storm_scene.of_nodes(defined, 1, make_publisher=LatePublisher)
    async with made as scene, wakers.awake(defined):
        publisher, now = scene.fleet.fleet.publisher, asyncio.get_running_loop().time
        assert isinstance(publisher, LatePublisher)
        await scene.fill("hollow-0", *HELD)
        with extenders.running(defined.kubeconfig) as extender:
            defined.start_scheduler([extender.configuration()])
            await scene.create(storms.pod("d"))
            await scene.until_waiting("d", REASON)
            publisher.is_held = True
            began = now()
            await scene.delete("a")
            await scene.until_in("Running", "d")
            figures.append(f"it ran {now() - began:.1f} s after the other one was deleted")
            # What is published at last is what was expected.
            publisher.release("hollow-0")
            await scene.fleet.settled()
            await scene.create(storms.pod("e"))
            await scene.until_waiting("e", REASON)
            assert scene.seen.rejections == {}
