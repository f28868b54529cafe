"""The loudest users' case: single-numa-node in pod scope, 4 GPUs a NUMA node, pods of 1 to 8.

What ``numalet fleet`` says of a cluster is then done, pod for pod, and the nodes answer as it said.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from typing import Any

import pytest

from cluster.gpu_pods import GPU, pod, shape
from numalet.cluster.hollow.fleet_members import FleetOptions
from numalet.io.kube_api import access
from running import hollow_fleets
from running.control_plane import ControlPlane
from running.hollow_fleets import RunningFleet

UNALIGNED = "TopologyAffinityError"


class Driver:
    """Asks ``numalet fleet`` in a process of its own, and does what it says."""

    def __init__(self, plane: ControlPlane, fleet: RunningFleet) -> None:
        self._plane = plane
        self._fleet = fleet
        self._pods = f"/api/v1/namespaces/{plane.namespace()}/pods"
        self.nodes = sorted(fleet.fleet.members)

    async def ask(self, *words: str) -> Any:
        """The answer as JSON; 0 and 1 are answers."""
        command = [sys.executable, "-m", "numalet", "fleet", *words, "-o", "json"]
        where = ["--kubeconfig", str(self._plane.kubeconfig)]
        done = await asyncio.to_thread(
            subprocess.run, [*command, *where], capture_output=True, text=True, check=False
        )
        assert done.returncode in (0, 1), done.stderr
        answer = json.loads(done.stdout)
        assert answer["origins"]["published"] == len(self.nodes), answer["origins"]
        return answer

    async def fit(self, gpus: int) -> Any:
        """Where as many pods of so many GPUs as fit would land."""
        return (await self.ask("fit", shape(gpus), "--count", "0"))["shapes"][0]

    async def create(self, name: str, gpus: int, node: str) -> str:
        """Bind a pod to a node; what came of it: ``admitted``, or the reason of the rejection."""
        await self._fleet.api.create(self._pods, pod(name, gpus, node))
        await self._fleet.until(lambda: self._fleet.phases().get(name, "") not in ("", "undecided"))
        await self._fleet.settled()
        return self._fleet.phases()[name]

    async def delete(self, *names: str) -> None:
        """Delete pods, and wait until their nodes have let them go."""
        for name in names:
            await self._fleet.api.delete(f"{self._pods}/{name}")
        await self._fleet.until(lambda: not {*names} & {*self._fleet.phases()})
        await self._fleet.settled()

    def numa_nodes(self, node: str) -> list[int]:
        """How many GPUs are in use on each NUMA node, by the node's own ledger."""
        used = self._fleet.node(node).release_stale().snapshot.device.in_use.get(GPU, frozenset())
        return [sum(int(each.removeprefix("gpu")) // 4 == at for each in used) for at in (0, 1)]


@pytest.mark.slow
async def test_what_is_said_of_a_gpu_fleet_comes_true_pod_for_pod(defined: ControlPlane) -> None:
    options = FleetOptions(untaints=True, writers=8)
    async with hollow_fleets.running(access.of(defined.kubeconfig), 3, (), options) as fleet:
        driver = Driver(defined, fleet)
        split, other, empty = driver.nodes

        # Four pods of two GPUs, of which one goes on each NUMA node: two and two are free.
        for at in range(4):
            assert await driver.create(f"two-{at}", 2, split) == "admitted"
        await driver.delete("two-0", "two-2")
        assert driver.numa_nodes(split) == [2, 2]

        # Eight GPUs never fit, and the empty nodes are traps for who asks for them.
        eight = await driver.fit(8)
        assert eight["count"] == 0
        assert {each["code"] for each in eight["left_out"]} >= {"fleet/never-together"}
        for node in (other, empty):
            assert await driver.create(f"eight-{node}", 8, node) == UNALIGNED
        await driver.delete(f"eight-{other}", f"eight-{empty}")

        # For four the split node is the trap: its sums have them. The others have two places each.
        traps = await driver.ask("traps", "--shape", shape(4))
        assert [each["node"] for each in traps["traps"]] == [split]
        assert traps["stranded"][GPU] == 4
        four = await driver.fit(4)
        assert four["left_out"][0]["text"] == f"4 of {GPU} free, 2 on each NUMA node"
        landings = [each["node"] for each in four["landings"]]
        assert sorted(landings) == [other, other, empty, empty]
        assert await driver.create("four-at-the-trap", 4, split) == UNALIGNED
        await driver.delete("four-at-the-trap")
        for at, node in enumerate(landings):
            assert await driver.create(f"four-{at}", 4, node) == "admitted"
        full = await driver.fit(4)
        assert full["count"] == 0
        for node in driver.nodes:
            assert await driver.create(f"four-more-{node}", 4, node) != "admitted"
        await driver.delete(*(f"four-more-{node}" for node in driver.nodes))

        # One pod of two must go for another one of four, and then it is admitted there.
        free = await driver.ask("free", shape(4))
        best = free["nodes"][0]
        assert (best["node"], best["proof"], free["is_proved"]) == (split, "smallest", True)
        going = [each["name"] for each in best["going"]]
        assert len(going) == 1
        await driver.delete(*going)
        assert await driver.create("four-in-their-place", 4, split) == "admitted"

        # What is left is for pods of one and two GPUs, as many as it says.
        for gpus in (2, 1):
            small = await driver.fit(gpus)
            for at, landing in enumerate(small["landings"]):
                name = f"small-{gpus}-{at}"
                assert await driver.create(name, gpus, landing["node"]) == "admitted"
            for node in driver.nodes:
                assert await driver.create(f"late-{gpus}-{node}", gpus, node) != "admitted"
            await driver.delete(*(f"late-{gpus}-{node}" for node in driver.nodes))
            if gpus == 2:
                names = [f"small-2-{at}" for at in range(small["count"])]
                await driver.delete(*names)
