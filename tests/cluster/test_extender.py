"""The extender and a real scheduler: no pod is sent to a node whose kubelet would reject it."""

from __future__ import annotations

import pytest

from cluster import gpu_pods
from numalet.cluster.hollow.fleet_members import FleetOptions
from numalet.io.kube_api import access
from running import extenders, hollow_fleets
from running.control_plane import ControlPlane


@pytest.mark.slow
async def test_a_pod_waits_for_a_numa_node_and_runs_once_there_is_one(
    defined: ControlPlane,
) -> None:
    options = FleetOptions(untaints=True, writers=4)
    kinds = [hollow_fleets.gpu_kind()]
    async with hollow_fleets.running(access.of(defined.kubeconfig), 1, kinds, options) as fleet:
        with extenders.running(defined.kubeconfig) as extender:
            defined.start_scheduler([extender.configuration()])
            path = f"/api/v1/namespaces/{defined.namespace()}/pods"
            for name in ("a", "b", "c", "d"):
                await fleet.api.create(path, gpu_pods.pod(name, 2))
            await fleet.until(
                lambda: [*fleet.phases().values()].count("admitted") == 4,
            )
            # Each NUMA node has two pods; two GPUs come free on each, or four on one.
            for name in ("a", "b", "c"):
                await fleet.api.delete(f"{path}/{name}")
            await fleet.until(lambda: {*fleet.phases()} == {"d"})
            await fleet.settled()
            await fleet.api.create(path, gpu_pods.pod("four", 4))
            await fleet.api.create(path, gpu_pods.pod("more", 4))
            await fleet.until(lambda: fleet.phases().get("four") == "admitted")
            assert "more" not in fleet.phases()
            assert "TopologyAffinityError" not in fleet.phases().values()
