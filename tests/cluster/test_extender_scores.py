"""What the scheduler makes of the points: small pods leave room for large ones, or do not."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from typing import Any, Final

import pytest

from cluster import gpu_pods
from numalet.cluster.hollow.fleet_members import FleetOptions
from numalet.io.kube_api import access
from running import extenders, hollow_fleets
from running.control_plane import ControlPlane
from running.hollow_fleets import PATIENCE_SECONDS, RunningFleet

NODES: Final = 4
SMALL: Final = (1, 2, 4, 1, 2, 4)
"""GPUs of the small pods: 14, for which two nodes of 8 are enough."""
LARGE: Final = ("large-0", "large-1")


def large_pod(name: str) -> dict[str, Any]:
    """A pod that needs both NUMA nodes of a node, and all GPUs."""
    made = gpu_pods.pod(name, 8)
    amounts = {gpu_pods.GPU: "8", "cpu": "28", "memory": "56Gi"}
    made["spec"]["containers"][0]["resources"] = {"requests": amounts, "limits": amounts}
    return made


@pytest.mark.slow
@pytest.mark.parametrize(("score", "running"), [("pack", 2), ("spread", 0)])
async def test_packing_keeps_room_for_large_pods_that_spreading_loses(
    score: str, running: int, defined: ControlPlane
) -> None:
    options = FleetOptions(untaints=True, writers=4)
    kinds = [hollow_fleets.gpu_kind(topologyManagerPolicy="restricted")]
    server = access.of(defined.kubeconfig)
    async with hollow_fleets.running(server, NODES, kinds, options) as fleet:
        with extenders.running(defined.kubeconfig, "--score", score) as extender:
            verbs = {"prioritizeVerb": "prioritize", "weight": 150}
            defined.start_scheduler([extender.configuration(**verbs)])
            path = f"/api/v1/namespaces/{defined.namespace()}/pods"
            for number, gpus in enumerate(SMALL):
                name = f"small-{number}"
                await fleet.api.create(path, gpu_pods.pod(name, gpus))
                await fleet.until(partial(_is_admitted, fleet, name))
            used = [member for member in fleet.fleet.members.values() if member.life.pods]
            assert len(used) == (2 if score == "pack" else NODES)
            for name in LARGE:
                await fleet.api.create(path, large_pod(name))
            waiting = [await _is_unschedulable(fleet, f"{path}/{name}") for name in LARGE]
            assert waiting.count(False) == running
            assert {*fleet.phases().values()} == {"admitted"}
            assert len(fleet.phases()) == len(SMALL) + running


def _is_admitted(fleet: RunningFleet, name: str) -> bool:
    return fleet.phases().get(name) == "admitted"


async def _is_unschedulable(fleet: RunningFleet, path: str) -> bool:
    """Whether the scheduler says that no node is left for the pod; else its node admits it."""
    name = path.rpartition("/")[2]
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            if _is_admitted(fleet, name):
                return False
            status = json.loads(await fleet.api.get(path))["status"]
            if any(each.get("reason") == "Unschedulable" for each in status.get("conditions", ())):
                return True
            await asyncio.sleep(0.1)
