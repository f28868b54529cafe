"""The extender's verdicts and those of kubelets, on a real control plane whose scheduler asks.

Nodes of five kinds decide as kubelets do; eight clients send pods of many shapes and take some of
them away. What a node rejects that the scheduler was let send there is a mistake of the extender.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from cluster import gpu_pods
from cluster.test_hollow_fleet import five_kinds
from numalet.cluster.hollow.fleet_members import Fault, FleetOptions
from numalet.core.model import pod_standing
from numalet.insight.scheduling.filtering import LEFT_ALONE
from numalet.io.kube_api import access, client
from running import extenders, fleet_observer, hollow_fleets
from running.control_plane import ControlPlane
from running.extenders import RunningExtender
from running.fleet_observer import FleetObserver
from running.hollow_fleets import RunningFleet
from running.sent_pods import SentPods

_MISMATCHES = "numalet_extender_model_mismatch_total{"
_BOUND = 'numalet_extender_requests_total{result="answered",verb="bind"}'
_REJECTED = "a kubelet rejected a pod we predicted it would admit"


@dataclass(frozen=True)
class Cluster:
    """Nodes, who sees what becomes of pods, and an extender that the scheduler asks."""

    plane: ControlPlane
    fleet: RunningFleet
    seen: FleetObserver
    extender: RunningExtender

    def outcomes(self) -> Counter[str]:
        """How often pods ran, and were rejected, by the reason."""
        return Counter(each.reason or each.phase for each in self.seen.decided.values())

    def rejections(self) -> int:
        """How many pods were rejected."""
        counts = self.outcomes().items()
        return sum(count for reason, count in counts if pod_standing.is_rejection(reason))

    async def sent(self, count: int, seed: int) -> str:
        """Send so many pods, and wait until each was decided or taken away; what became of them."""
        began = time.monotonic()
        async with client.opened(access.of(self.plane.kubeconfig), "clients") as api:
            namespace = await asyncio.to_thread(self.plane.namespace)
            await SentPods(api, self.seen, namespace, seed).send(count)
        seconds = time.monotonic() - began
        return f"{dict(self.outcomes())}: {len(self.seen.decided) / seconds:.1f} pods a second"

    async def mismatches(self) -> int:
        """How many the extender has counted."""
        return await asyncio.to_thread(self._counted, _MISMATCHES)

    async def bound_by_the_gate(self) -> int:
        """How many of the scheduler's requests to bind the extender has answered."""
        return await asyncio.to_thread(self._counted, _BOUND)

    async def until_counted(self, rejections: Callable[[], int]) -> None:
        """Wait until the extender has counted as many mismatches as there are."""
        await asyncio.to_thread(
            _wait, lambda: self._counted(_MISMATCHES) == rejections(), "other mismatches"
        )

    def _counted(self, metric: str) -> int:
        lines = self.extender.get("/metrics").text.splitlines()
        return sum(int(float(line.split()[-1])) for line in lines if line.startswith(metric))


def _wait(is_so: Callable[[], bool], problem: str) -> None:
    last = time.monotonic() + hollow_fleets.PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < last, problem
        time.sleep(0.05)


@contextlib.asynccontextmanager
async def scheduled(
    plane: ControlPlane, nodes: int, *, binds: bool, all_kinds: Any = None
) -> AsyncIterator[Cluster]:
    """So many nodes, of five kinds in turn, and a scheduler that asks an extender."""
    admin = access.of(plane.kubeconfig)
    options = FleetOptions(untaints=True, writers=8, events=frozenset())
    kinds = all_kinds or five_kinds()
    async with (
        fleet_observer.observing(admin) as seen,
        hollow_fleets.running(admin, nodes, kinds, options) as fleet,
    ):
        words, verbs = (["--bind"], {"bindVerb": "bind"}) if binds else ([], {})
        with extenders.running(plane.kubeconfig, "--timeout", "10s", *words) as extender:
            configuration = extender.configuration(**verbs)
            plane.start_scheduler([configuration], percentageOfNodesToScore=100)
            try:
                yield Cluster(plane, fleet, seen, extender)
            finally:
                plane.scheduler.kill()


@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_no_pod_that_the_gate_binds_is_rejected(
    defined: ControlPlane, figures: list[str]
) -> None:
    async with scheduled(defined, 40, binds=True) as cluster:
        figures.append(await cluster.sent(400, seed=1))
        assert cluster.rejections() == 0
        assert await cluster.bound_by_the_gate() >= len(cluster.seen.decided)
        assert await cluster.mismatches() == 0


@pytest.mark.large
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("binds", "most"), [(True, 0), (False, 4)])
async def test_of_five_thousand_pods_next_to_none_is_rejected(
    defined: ControlPlane, figures: list[str], binds: bool, most: int
) -> None:
    """Without the gate fewer than one in a thousand."""
    async with scheduled(defined, 500, binds=binds) as cluster:
        figures.append(await cluster.sent(5000, seed=3))
        assert cluster.rejections() <= most


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_nodes_that_lie_are_found_out_by_what_their_kubelets_reject(
    defined: ControlPlane, figures: list[str]
) -> None:
    async with scheduled(defined, 15, binds=True) as cluster:
        for name in sorted(cluster.fleet.fleet.members)[::3]:
            cluster.fleet.fleet.fail(name, Fault.LIE)
        figures.append(await cluster.sent(120, seed=4))
        assert cluster.rejections() <= 12
        await cluster.until_counted(cluster.rejections)
        assert cluster.extender.said.count(_REJECTED) == cluster.rejections()


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_a_kubelet_that_decides_otherwise_is_left_alone_and_reported(
    defined: ControlPlane,
) -> None:
    """A node whose publisher has stopped: what went and came since is not known there."""
    kind = hollow_fleets.gpu_kind()
    async with scheduled(defined, 1, binds=False, all_kinds=[kind]) as cluster:
        fleet, path = cluster.fleet, f"/api/v1/namespaces/{defined.namespace()}/pods"
        fleet.publisher.stop()
        for name in ("a", "b", "c", "d"):
            await fleet.api.create(path, gpu_pods.pod(name, 2))
            await fleet.until(lambda name=name: fleet.phases().get(name) == "admitted")  # type: ignore[misc]
        # Of each NUMA node one pair of GPUs comes free. Who knows of no past expects four on one.
        for name in ("a", "c"):
            await fleet.api.delete(f"{path}/{name}")
        await fleet.until(lambda: {*fleet.phases()} == {"b", "d"})
        await fleet.api.create(path, gpu_pods.pod("four", 4))
        await cluster.seen.until(lambda: "four" in cluster.seen.decided)
        assert cluster.seen.pods["four"].reason == "TopologyAffinityError"
        await cluster.until_counted(lambda: 1)
        assert _REJECTED in cluster.extender.said
        assert "TopologyAffinityError" in cluster.extender.said

        await fleet.api.create(path, gpu_pods.pod("more", 4))
        await asyncio.to_thread(_wait, lambda: _is_left_alone(defined, f"{path}/more"), "no word")
        assert "more" not in fleet.phases()


def _is_left_alone(plane: ControlPlane, path: str) -> bool:
    """Whether the pod says that its node is left alone."""
    conditions = plane.get(path)["status"].get("conditions", [])
    return any(LEFT_ALONE in each.get("message", "") for each in conditions)
