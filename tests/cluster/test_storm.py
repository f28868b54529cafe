"""The storm of rejected pods on a real control plane."""

from __future__ import annotations

import asyncio
from typing import Final

import pytest

from cluster import storm_scene
from running import storms
from running.control_plane import ControlPlane

STORM_SECONDS: Final = 15.0


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
        await seen.until(lambda: len(seen.rejections) > 0)
        await asyncio.sleep(STORM_SECONDS)
        ended = loop.time()

        by_node = seen.rejections_by_node(began, ended)
        rate = seen.failed_per_minute(began, ended)
        figures.append(f"without the extender: {rate:.0f} Failed pods a minute, {dict(by_node)}")
        assert seen.phases()["Running"] == storms.ROOM
        assert {each.reason for each in seen.rejections.values()} == {"TopologyAffinityError"}
        # Each of the nodes promises what it does not have, and nothing ends it.
        assert len(by_node) == storms.NODES
        last = seen.rejections_by_node(ended - STORM_SECONDS / 3, ended)
        assert last.total() > storms.NODES
