"""The waker and a real scheduler: a pod that waits for a node is tried again when there is room.

A scheduler that knows NUMA nodes learns of room later than of the pod that went, and of what a node
publishes no scheduler is notified. Here an extender stands for it: it refuses the node as long as
the waker has not touched it, so a pod that runs there was tried again for the waker's label.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from cluster import gpu_pods
from numalet.cluster import waker
from numalet.cluster.hollow.fleet_members import FleetOptions
from numalet.io.kube_api import access
from running import hollow_fleets, scheduler_extender, wakers
from running.control_plane import ControlPlane
from running.hollow_fleets import RunningFleet

NODE = "/api/v1/nodes/hollow-0"


class Pods:
    """Creates and deletes pods of a namespace, and waits until the nodes have seen it."""

    def __init__(self, plane: ControlPlane, fleet: RunningFleet) -> None:
        self._fleet = fleet
        self.path = f"/api/v1/namespaces/{plane.namespace()}/pods"

    async def bind(self, *names: str) -> None:
        for name in names:
            await self._fleet.api.create(self.path, gpu_pods.pod(name, 2, "hollow-0"))
        phases = self._fleet.phases
        await self._fleet.until(lambda: all(phases().get(each) == "admitted" for each in names))
        await self._fleet.settled()

    async def delete(self, *names: str) -> None:
        for name in names:
            await self._fleet.api.delete(f"{self.path}/{name}")
        await self._fleet.until(lambda: not {*names} & {*self._fleet.phases()})
        await self._fleet.settled()

    async def wait(self, name: str) -> None:
        """Create a pod of four GPUs for any node."""
        await self._fleet.api.create(self.path, gpu_pods.pod(name, 4))


def touches(said: list[str]) -> list[str]:
    return [each for each in said if " touched for " in each]


@pytest.mark.slow
async def test_a_pod_that_waits_for_a_trap_is_tried_again_and_runs(defined: ControlPlane) -> None:
    options = FleetOptions(untaints=True, writers=4)
    async with (
        hollow_fleets.running(access.of(defined.kubeconfig), 1, (), options) as fleet,
        wakers.awake(defined) as said,
    ):
        pods = Pods(defined, fleet)

        async def label() -> Any:
            node = json.loads(await fleet.api.get(NODE))
            return node["metadata"]["labels"].get(waker.LABEL)

        with scheduler_extender.running(waker.LABEL) as extender:
            defined.start_scheduler([extender.configuration])
            # Two GPUs are free on each NUMA node, of which four are no use to anything that waits.
            await pods.bind("a", "b", "c", "d")
            await pods.delete("a", "c")
            assert await label() is None

            await pods.wait("job")
            await fleet.until(lambda: "job" in extender.asked)
            assert (await label(), touches(said)) == (None, [])

            # The pod that goes makes room.
            await fleet.api.delete(f"{pods.path}/b")
            await fleet.until(lambda: fleet.phases().get("job") == "admitted")
            touched = await label()
            assert touched is not None
            assert {each.split()[-1].rpartition("/")[2] for each in touches(said)} == {"job"}

            # Nothing waits any more, so no label changes, whatever comes and goes.
            count = len(touches(said))
            await pods.delete("d")
            await pods.bind("e")
            await pods.delete("job")
            await pods.wait("next")
            await fleet.until(lambda: fleet.phases().get("next") == "admitted")
            assert (await label(), len(touches(said))) == (touched, count)
