"""What the scheduler checks before any kubelet: each reason, and their order."""

from __future__ import annotations

from dataclasses import replace

import pytest

from numalet.core.cluster.cluster import ClusterNode, ClusterPod, Taint, TaintEffect, Toleration
from numalet.core.model.node_constraints import HostPort, NodeConstraints
from numalet.core.model.quantity import Quantity
from numalet.insight.fleet import kube_scheduler
from numalet.insight.fleet.kube_scheduler import SchedulerQuestion
from values import gpu_fleet
from values.gpu_fleet import GIB, GPU

NODE = gpu_fleet.running("n", [gpu_fleet.pod("x", 3)])
GPU_TAINT = Taint("gpu", "yes", TaintEffect.NO_SCHEDULE)
ZONE = NodeConstraints(selector={"zone": "a"})
SOFT = Taint("gpu", "", TaintEffect.PREFER_NO_SCHEDULE)


def asking(
    gpus: int = 1, constraints: NodeConstraints | None = None, *bears: Toleration
) -> ClusterPod:
    pod = gpu_fleet.pod("p", gpus)
    if constraints is not None:
        pod = replace(pod, constraints=constraints)
    return ClusterPod(pod=pod, tolerations=bears)


def why_not(node: ClusterNode, pod: ClusterPod) -> str | None:
    reason = kube_scheduler.why_not(node, pod)
    return None if reason is None else reason.text


@pytest.mark.parametrize(
    ("node", "pod", "expected"),
    [
        (NODE, asking(), None),
        (replace(NODE, is_cordoned=True, is_ready=False), asking(), "cordoned"),
        (replace(NODE, is_ready=False, taints=(GPU_TAINT,)), asking(), "not ready"),
        (
            replace(NODE, taints=(SOFT, GPU_TAINT)),
            asking(1, None, Toleration(key="other", exists=True)),
            "taint gpu=yes:NoSchedule, which the pod does not tolerate",
        ),
        (replace(NODE, taints=(SOFT,)), asking(), None),
        (replace(NODE, taints=(GPU_TAINT,)), asking(1, None, Toleration(exists=True)), None),
        (
            replace(NODE, is_cordoned=True, is_ready=False),
            asking(1, None, Toleration(exists=True)),
            None,
        ),
        (
            NODE,
            asking(6, ZONE),
            "other labels than the pod's selector and affinity ask for",
        ),
        (
            replace(NODE, labels={"zone": "a"}),
            asking(1, ZONE),
            None,
        ),
        (NODE, asking(6), f"5 of {GPU} free"),
        (NODE, ClusterPod(pod=gpu_fleet.pod("p", 0, 60, 1)), "fewer than 60 CPUs free in all"),
        (
            NODE,
            ClusterPod(pod=gpu_fleet.pod("p", 0, 1, 500)),
            "less than 500Gi of memory free in all",
        ),
    ],
)
def test_the_first_reason_is_given(
    node: ClusterNode, pod: ClusterPod, expected: str | None
) -> None:
    assert why_not(node, pod) == expected


def test_a_port_of_the_host_is_had_once() -> None:
    web = replace(gpu_fleet.pod("w", 1), constraints=NodeConstraints(ports=(HostPort(80),)))
    busy = gpu_fleet.running("n", [web])
    assert why_not(busy, ClusterPod(pod=web)) == "port 80/TCP of the host in use"
    assert why_not(NODE, ClusterPod(pod=web)) is None


def test_a_node_takes_so_many_pods() -> None:
    rules = replace(NODE.node.rules, max_pods=1)
    full = replace(NODE, node=replace(NODE.node, roster=replace(NODE.node.roster, rules=rules)))
    assert why_not(full, asking()) == "no room for more than 1 pods"
    assert SchedulerQuestion.about(asking(9)).about_the_node(full) is None


def test_an_unknown_device_and_ephemeral_storage() -> None:
    (only,) = gpu_fleet.pod("p", 1).app_containers
    asked = {**only.requests, "ephemeral-storage": Quantity.from_bytes(GIB)}
    pod = replace(gpu_fleet.pod("p"), app_containers=(replace(only, requests=asked),))
    assert why_not(NODE, ClusterPod(pod=pod)) is None
    fpga = {"example.com/fpga": Quantity.from_int(1)}
    pod = replace(pod, app_containers=(replace(only, requests=fpga, limits=fpga),))
    assert why_not(NODE, ClusterPod(pod=pod)) == "0 of example.com/fpga free"


def test_a_copy_is_a_new_pod() -> None:
    old = ClusterPod(
        pod=replace(gpu_fleet.pod("p"), node_name="n", phase="Failed"),
        reason="TopologyAffinityError",
        is_being_deleted=True,
        started_at_seconds=5.0,
    )
    assert kube_scheduler.as_new(old) == ClusterPod(pod=gpu_fleet.pod("p"))
