"""The storm of rejected pods on a real control plane."""

from __future__ import annotations

import asyncio
from typing import Final

import pytest

from cluster import storm_scene
from cluster.storm_scene import REASON
from running import extenders, storms
from running.control_plane import ControlPlane

MANY: Final = 20
"""Rejections for each node: nothing ends the storm."""
WEIGHT: Final = 150
"""With it the extender's points decide, and no tie of other plugins."""


@pytest.mark.slow
async def test_a_scheduler_that_goes_by_sums_makes_a_storm(
    defined: ControlPlane, figures: list[str]
) -> None:
    async with storm_scene.of_nodes(defined) as scene:
        seen, loop = scene.seen, asyncio.get_running_loop()
        defined.start_scheduler()
        await scene.deploy()
        await seen.until(lambda: seen.phases()["Running"] == storms.ROOM)
        began = loop.time()

        # Each of the nodes looks as if it had room, and nothing ends the storm.
        def least() -> int:
            by_node = seen.rejections_by_node(began, loop.time())
            return min(by_node.values()) if len(by_node) == storms.NODES else 0

        await seen.until(lambda: least() >= MANY)
        ended = loop.time()

        by_node = seen.rejections_by_node(began, ended)
        rate = seen.failed_per_minute(began, ended)
        figures.append(f"without the extender: {rate:.0f} Failed pods a minute, {dict(by_node)}")
        assert seen.phases()["Running"] == storms.ROOM
        assert {each.reason for each in seen.rejections.values()} == {"TopologyAffinityError"}


@pytest.mark.slow
async def test_with_the_extender_no_pod_is_rejected_and_the_others_are_told_why(
    defined: ControlPlane, figures: list[str]
) -> None:
    waiting = storms.REPLICAS - storms.ROOM
    verbs = {"prioritizeVerb": "prioritize", "weight": WEIGHT}
    async with storm_scene.of_nodes(defined) as scene:
        seen, now = scene.seen, asyncio.get_running_loop().time
        with extenders.running(defined.kubeconfig, "--unknown-nodes", "refuse") as extender:
            defined.start_scheduler([extender.configuration(**verbs)])
            began = now()
            await scene.deploy()
            await seen.until(lambda: seen.phases()["Running"] == storms.ROOM)
            took = now() - began
            await seen.until(lambda: all(REASON in each for each in seen.waiting_for()))
            assert seen.phases() == {"Running": storms.ROOM, "Pending": waiting}
            name = seen.names("Pending")[0]
            described = await asyncio.to_thread(
                defined.kubectl, "describe", "pod", "-n", scene.namespace, name
            )
            assert f"0/{storms.NODES} nodes are available: {storms.NODES} {REASON}" in described

            began = now()
            async with storm_scene.joined(defined, "late"):
                everywhere = storms.ROOM + storms.ROOM_OF_A_NODE
                await seen.until(lambda: seen.phases()["Running"] == everywhere)
                joined = now() - began
                assert seen.rejections == {}
            figures.append(
                f"with the extender: no rejection; {storms.ROOM} pods ran after {took:.1f} s,"
                f" {storms.ROOM_OF_A_NODE} more {joined:.1f} s after a node began to join"
            )
            assert extender.get("/metrics").text.count("model_mismatch_total{") == 0
