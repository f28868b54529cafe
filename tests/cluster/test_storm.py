"""The storm of rejected pods on a real control plane."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final

import pytest

from numalet.cluster.hollow.members import FleetOptions
from numalet.io.kube_api import access
from running import hollow_fleets, storms
from running.control_plane import ControlPlane
from running.hollow_fleets import RunningFleet
from running.storms import StormWatch

OPTIONS: Final = FleetOptions(untaints=True, writers=8)
STORM_SECONDS: Final = 15.0


@dataclass(frozen=True)
class Scene:
    """Four nodes without pods, and a namespace whose pods are watched."""

    plane: ControlPlane
    fleet: RunningFleet
    namespace: str
    seen: StormWatch

    async def deploy(self, replicas: int = storms.REPLICAS) -> None:
        """Make the Deployment, with controllers at work."""
        await self.plane.controllers.start_meanwhile()
        path = storms.deployments(self.namespace)
        await self.fleet.api.create(path, storms.deployment(replicas))


@contextlib.asynccontextmanager
async def four_nodes(plane: ControlPlane) -> AsyncIterator[Scene]:
    """The scene, until the end of the block."""
    nodes = hollow_fleets.running(
        access.of(plane.kubeconfig), storms.NODES, [storms.kind()], OPTIONS
    )
    async with nodes as fleet:
        namespace = plane.namespace()
        async with storms.watching(fleet.api, namespace) as seen:
            yield Scene(plane, fleet, namespace, seen)


@pytest.mark.slow
async def test_a_scheduler_that_goes_by_sums_makes_a_storm(
    defined: ControlPlane, figures: list[str]
) -> None:
    async with four_nodes(defined) as scene:
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
