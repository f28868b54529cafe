"""The breaker alone, beside a scheduler that goes by sums: storms of rejected pods end.

By its own caps it may keep pods away from a tenth of a pool at most. So the four nodes that promise
room which they do not have are in a pool of forty here; the others are too small for the pods.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import pytest

from cluster import storm_scene
from cluster.storm_scene import Scene
from numalet.cluster.hollow.kinds import NodeKind
from numalet.core.config.rules import StartRefused
from numalet.core.node import node as nodes
from numalet.insight.fleet.keeping_away import TAINT_KEY
from numalet.io import machines
from numalet.io.documents import kubelet_config
from numalet.io.kube_api import paths
from running import breakers, storms
from running.control_plane import ControlPlane

pytestmark = pytest.mark.slow
POOL_NODES: Final = 40
FIRST_SECONDS: Final = 10.0
MINUTE_SECONDS: Final = 60.0
MOST_REJECTIONS: Final = 3
ACT: Final = ("--act", "prune,inform,taint", "--pool-label", "kubernetes.io/os")
"""All nodes are of one pool."""


def small_kind(at: int) -> NodeKind:
    """A node whose sums are too small for a pod of the storm."""
    machine = machines.open_machine("1n4c2t", memory_per_node="8Gi").info
    config = kubelet_config.decode({"kubeReserved": {"cpu": "100m"}}, "kubelet.yaml")
    empty = nodes.start(config, machine)
    assert not isinstance(empty, StartRefused), empty
    return NodeKind(name=f"small-{at}", machine=machine, config=config, devices={}, empty=empty)


@contextlib.asynccontextmanager
async def pool(plane: ControlPlane) -> AsyncIterator[Scene]:
    """Four nodes of the storm among forty."""
    others = [small_kind(at) for at in range(POOL_NODES // storms.NODES - 1)]
    async with storm_scene.of_nodes(plane, POOL_NODES, *others) as scene:
        yield scene


async def tainted(scene: Scene) -> list[str]:
    """The nodes that have the taint."""
    listed = json.loads(await scene.fleet.api.get(paths.NODES))["items"]
    return sorted(
        each["metadata"]["name"]
        for each in listed
        if any(taint["key"] == TAINT_KEY for taint in each["spec"].get("taints") or ())
    )


async def test_the_breaker_alone_ends_a_storm_within_its_caps(
    defined: ControlPlane, figures: list[str], tmp_path: Path
) -> None:
    async with pool(defined) as scene:
        seen, now = scene.seen, asyncio.get_running_loop().time
        with breakers.running(
            defined.kubeconfig, tmp_path / "audit", *ACT, "--metrics", "127.0.0.1:0"
        ) as breaker:
            defined.start_scheduler()
            await scene.deploy()
            await seen.until(lambda: len(seen.rejections) > 0)
            began = now()
            await asyncio.sleep(FIRST_SECONDS + MINUTE_SECONDS)
            first = seen.rejections_by_node(began, began + FIRST_SECONDS)
            later = seen.rejections_by_node(began + FIRST_SECONDS, now())
            figures.append(
                f"with the breaker alone: {dict(first)} rejections in the first "
                f"{FIRST_SECONDS:.0f} s, {dict(later)} in the minute after it"
            )
            assert max(later.values(), default=0) <= MOST_REJECTIONS
            assert seen.phases()["Running"] == storms.ROOM
            assert seen.phases()["Failed"] <= MOST_REJECTIONS
            assert 0 < len(await tainted(scene)) <= POOL_NODES // 10
            assert breaker.get("/readyz").text == "ok"
            page = breaker.get("/metrics").text
            assert 'numalet_breaker_actions_total{action="taint",outcome="done"}' in page
            assert breaker.actions("inform")

            # kill -9 in the middle: the taints stay, and undoing needs no breaker.
            breaker.end(signal.SIGKILL)
            assert await tainted(scene)
            defined.scheduler.kill()
            said = breakers.undo(defined.kubeconfig)
            assert "lift node" in said
            assert await tainted(scene) == []
            assert breakers.undo(defined.kubeconfig) == ""
