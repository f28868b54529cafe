"""Preemption by a real scheduler: pods are evicted where that makes an aligned place, else not.

The node is full of pairs, two on each NUMA node, and the two pairs of the lowest priority are on
different ones: by the sums their going is enough for a pod that wants four GPUs together.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Final

import pytest

from cluster import gpu_pods
from numalet.cluster.hollow.fleet_members import FleetOptions
from numalet.io.kube_api import access
from running import extenders, hollow_fleets
from running.control_plane import ControlPlane
from running.extenders import RunningExtender
from running.hollow_fleets import RunningFleet

pytestmark = pytest.mark.slow
CLASSES: Final = {"lowest": -10, "low": -5, "high": 1000, "highest": 2000}
_CLASSES_PATH: Final = "/apis/scheduling.k8s.io/v1/priorityclasses"


@dataclass(frozen=True)
class FullNode:
    """The node, and what the scheduler asks about it."""

    fleet: RunningFleet
    extender: RunningExtender
    path: str

    async def create(self, name: str, gpus: int, priority: str) -> None:
        """A pod of this priority class."""
        pod = gpu_pods.pod(name, gpus)
        pod["spec"]["priorityClassName"] = priority
        await self.fleet.api.create(self.path, pod)

    def running(self) -> set[str]:
        """The names of the pods that were admitted and are not gone."""
        return {name for name, phase in self.fleet.phases().items() if phase == "admitted"}


@contextlib.asynccontextmanager
async def full_node(control_plane: ControlPlane, others: str) -> AsyncIterator[FullNode]:
    """A node with the pairs a and b on one NUMA node, c and d on the other one.

    The priority class of b and d is ``others``.
    """
    options = FleetOptions(untaints=True, writers=4)
    kinds = [hollow_fleets.gpu_kind()]
    for name, value in CLASSES.items():
        control_plane.create(_CLASSES_PATH, priority_class(name, value))
    try:
        async with hollow_fleets.running(
            access.of(control_plane.kubeconfig), 1, kinds, options
        ) as fleet:
            with extenders.running(control_plane.kubeconfig) as extender:
                asked = extender.configuration(preemptVerb="preempt")
                control_plane.start_scheduler([asked])
                path = f"/api/v1/namespaces/{control_plane.namespace()}/pods"
                node = FullNode(fleet, extender, path)
                for name in "abcd":
                    await node.create(name, 2, "lowest" if name in "ac" else others)
                    await fleet.until(lambda name=name: name in node.running())  # type: ignore[misc]
                await fleet.settled()
                yield node
    finally:
        for name in CLASSES:
            control_plane.request("DELETE", f"{_CLASSES_PATH}/{name}")


def priority_class(name: str, value: int) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
    }


async def test_as_many_are_evicted_as_make_an_aligned_place(defined: ControlPlane) -> None:
    async with full_node(defined, others="low") as node:
        await node.create("four", 4, "high")
        await node.fleet.until(lambda: "four" in node.running())
        # a and c were chosen by the sums, and one of b and d is what was missing.
        assert node.running() - {"four"} in ({"b"}, {"d"})
        assert "TopologyAffinityError" not in node.fleet.phases().values()


async def test_none_is_evicted_where_that_would_not_help(defined: ControlPlane) -> None:
    async with full_node(defined, others="highest") as node:
        await node.create("four", 4, "high")
        await node.fleet.until(lambda: "victims were examined" in node.extender.said)
        await node.create("two", 2, "high")
        await node.fleet.until(lambda: "two" in node.running())
        assert node.running() - {"two"} in ({"a", "b", "d"}, {"b", "c", "d"})
