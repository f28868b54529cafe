"""Two extenders of which one answers, by a Lease: the scheduler's Service has one endpoint."""

from __future__ import annotations

import asyncio
import signal

import pytest

from cluster import storm_scene
from cluster.storm_scene import REASON
from running import extenders, storms
from running.control_plane import ControlPlane


@pytest.mark.slow
async def test_the_second_extender_answers_after_the_first_was_killed(
    defined: ControlPlane, figures: list[str]
) -> None:
    async with storm_scene.of_nodes(defined, 1) as scene:
        lease = ("--lease", f"{scene.namespace}/extender")
        seen, now = scene.seen, asyncio.get_running_loop().time
        await scene.fill("hollow-0", "a", "b")
        with extenders.running(defined.kubeconfig, *lease) as first:
            await seen.until(lambda: first.metric("leader") == 1)
            with extenders.running(defined.kubeconfig, *lease) as second:
                assert second.get("/readyz").status_code == 503
                assert (first.metric("ready"), second.metric("ready")) == (1, 0)
                # The Service would send the scheduler to the one that is ready.
                defined.start_scheduler([first.configuration()])
                await scene.create(storms.pod("c"), storms.pod("d"))
                await seen.until(lambda: len(seen.names("Running")) == 3)
                await seen.until(lambda: any(REASON in each for each in seen.waiting_for()))

                began = now()
                first.end(signal.SIGKILL)
                await seen.until(lambda: second.get("/readyz").status_code == 200)
                figures.append(f"the second one answered after {now() - began:.1f} s")
                defined.start_scheduler([second.configuration()])
                await scene.delete("a")
                await seen.until(lambda: {"c", "d"} <= {*seen.names("Running")})
                assert second.metric("leader") == 1
                assert seen.rejections == {}
