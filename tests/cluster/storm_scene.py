"""Hollow nodes on which pods one NUMA node big are rejected, and what is seen of these pods."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Final

from numalet.cluster.hollow.fleet_members import FleetOptions, MakePublisher
from numalet.cluster.hollow.kinds import NodeKind
from numalet.io.kube_api import access, paths
from running import hollow_fleets, storms
from running.control_plane import ControlPlane
from running.hollow_fleets import RunningFleet
from running.storms import StormWatch

REASON: Final = "numalet: no NUMA node has 14 CPUs free"
"""What the extender says of a node whose three NUMA nodes are taken."""
_OPTIONS: Final = FleetOptions(untaints=True, writers=8)


@dataclass(frozen=True)
class Scene:
    """Nodes without pods, and a namespace whose pods are watched."""

    plane: ControlPlane
    fleet: RunningFleet
    namespace: str
    seen: StormWatch

    async def deploy(self, replicas: int = storms.REPLICAS) -> None:
        """Make the Deployment, with controllers at work."""
        await self.plane.controllers.start_meanwhile()
        path = storms.deployments(self.namespace)
        await self.fleet.api.create(path, storms.deployment(replicas))

    async def create(self, *pods: dict[str, Any]) -> None:
        """Make these pods."""
        for each in pods:
            await self.fleet.api.create(storms.pods(self.namespace), each)

    async def delete(self, *names: str) -> None:
        """Delete these pods."""
        for each in names:
            await self.fleet.api.delete(f"{storms.pods(self.namespace)}/{each}")

    async def fill(self, node_name: str, *names: str) -> None:
        """Bind pods to a node that admits them, and wait until the API server says so."""
        await self.create(*(storms.pod(each, nodeName=node_name) for each in names))
        await self.seen.until(lambda: {*names} <= {*self.seen.names("Running")})
        await self.fleet.settled()

    async def wake(self, value: str, node_name: str = "hollow-0") -> None:
        """Change a label of a node, at which a scheduler tries again what it gave up."""
        body = {"metadata": {"labels": {"example.com/touched": value}}}
        await self.fleet.api.patch(paths.node(node_name), body)

    async def until_waiting(self, name: str, why: str) -> None:
        """Wait until the scheduler has said this of a pod that waits."""
        await self.seen.until(lambda: why in self.why(name))

    async def until_in(self, phase: str, *names: str) -> None:
        """Wait until all of these pods are in this phase."""
        await self.seen.until(lambda: {*names} <= {*self.seen.names(phase)})

    def why(self, name: str) -> str:
        """What the scheduler says of a pod that waits; empty if it does not."""
        pod = self.seen.pod(name)
        return pod.why_waiting if pod is not None and pod.status.phase == "Pending" else ""


@contextlib.asynccontextmanager
async def of_nodes(
    plane: ControlPlane,
    count: int = storms.NODES,
    *others: NodeKind,
    make_publisher: MakePublisher | None = None,
) -> AsyncIterator[Scene]:
    """The scene with so many nodes, until the end of the block.

    After each node of the storm comes one of each of the other kinds.
    """
    to = access.of(plane.kubeconfig)
    all_kinds = [storms.kind(), *others]
    nodes = hollow_fleets.running(to, count, all_kinds, _OPTIONS, make_publisher=make_publisher)
    async with nodes as fleet:
        namespace = plane.namespace()
        async with storms.watching(fleet.api, namespace) as seen:
            yield Scene(plane, fleet, namespace, seen)


@contextlib.asynccontextmanager
async def joined(plane: ControlPlane, prefix: str) -> AsyncIterator[None]:
    """One more node of the same kind, which is there and has published itself."""
    to = access.of(plane.kubeconfig)
    async with hollow_fleets.running(to, 1, [storms.kind()], _OPTIONS, prefix):
        yield
