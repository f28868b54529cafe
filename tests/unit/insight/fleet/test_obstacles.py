"""What stands in a pod's way, in the words of operators."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from numalet.core.cluster.cluster import ClusterNode, ClusterPod
from numalet.core.config.behaviour import NATIVE
from numalet.core.managers.device.inventory import Device
from numalet.core.model.pod import Container, ContainerKind, Pod, QosClass
from numalet.core.model.quantity import Quantity
from numalet.core.node import node as nodes
from numalet.core.node.node import Node
from numalet.insight.fleet.assessing import Assessor
from values import gpu_fleet
from values.gpu_fleet import GPU


def why_not(node: Node, pod: Pod, *pods: Pod, gone: Iterable[str] = ()) -> str | None:
    """The obstacle on a node after these pods came and some of them went."""
    there = gpu_fleet.running("n", pods, gone, on=node)
    return of(there, pod)


def of(node: ClusterNode, pod: Pod) -> str | None:
    asked = ClusterPod(pod=pod)
    answer = Assessor().assess(gpu_fleet.cluster([node]), asked)["n"]
    assert (answer.obstacle is None) == node.node.fits(pod)
    return None if answer.obstacle is None else answer.obstacle.text


PAIRS = [gpu_fleet.pod(uid, 2, 8, 64) for uid in "abcd"]


@pytest.mark.parametrize("scope", ["pod", "container"])
def test_single_numa_node(scope: str) -> None:
    node, asks = gpu_fleet.empty(scope=scope), gpu_fleet.pod
    four = asks("p", 4)
    assert why_not(node, four, *PAIRS, gone="ac") == f"4 of {GPU} free, 2 on each NUMA node"
    assert why_not(node, four, asks("x", 3), asks("y", 2), asks("z", 1), gone="z") == (
        f"3 of {GPU} free, 1 + 2 over the NUMA nodes"
    )
    never = "never fit: no NUMA node has more than"
    policy = "and the policy is single-numa-node"
    assert why_not(node, asks("p", 8)) == f"8 of {GPU} {never} 4, {policy}"
    assert why_not(node, asks("p", 0, 33, 1)) == f"33 CPUs {never} 32, {policy}"
    assert why_not(node, asks("p", 0, 1, 300)) == f"300Gi of memory {never} 256Gi, {policy}"
    cpus = [asks("x", 0, 20, 1), asks("y", 0, 20, 1)]
    assert why_not(node, asks("p", 0, 20, 1), *cpus) == "no NUMA node with 20 CPUs free"
    memory = [asks("x", 0, 1, 200), asks("y", 0, 1, 200)]
    assert why_not(node, asks("p", 0, 1, 100), *memory) == "no NUMA node with 100Gi of memory free"
    apart = [asks("x", 0, 20, 1), asks("y", 0, 1, 200), asks("z", 0, 8, 200)]
    assert why_not(node, asks("p", 1, 20, 100), *apart[:1], asks("m", 0, 20, 1), gone="m") in (
        None,
        f"no NUMA node with 20 CPUs and 100Gi of memory and 1 of {GPU} together",
    )


def test_of_each_enough_but_not_together() -> None:
    node, asks = gpu_fleet.empty(), gpu_fleet.pod
    # The CPUs of NUMA node 0 and the GPUs of NUMA node 1 are in use.
    pods = [asks("cpus", 0, 30, 1), asks("gpus", 4, 1, 1)]
    assert why_not(node, asks("p", 1, 10, 1), *pods) == (
        f"no NUMA node with 10 CPUs and 1Gi of memory and 1 of {GPU} together"
    )


def test_nodes_that_give_memory_together_give_none_alone() -> None:
    config = gpu_fleet.kubelet_config("restricted")
    node = nodes.start(config, gpu_fleet.machine())
    assert isinstance(node, Node)
    wide = gpu_fleet.pod("wide", 0, 40, 300)
    assert why_not(node, gpu_fleet.pod("p", 0, 1, 1), wide) == "memory group {0,1}"
    assert why_not(node, gpu_fleet.pod("p", 0, 40, 300), gpu_fleet.pod("x", 0, 2, 1)) is not None


def test_restricted_takes_as_few_nodes_as_would_do() -> None:
    node, asks = gpu_fleet.empty("restricted"), gpu_fleet.pod
    assert why_not(node, asks("p", 8, 40, 300)) is None
    assert why_not(node, asks("p", 8, 8, 64)) == (
        f"no set of NUMA nodes that restricted accepts for 8 CPUs and 64Gi of memory and 8 of {GPU}"
        " together"
    )
    assert why_not(node, asks("p", 6, 6, 64), asks("x", 3, 3, 1)) == (
        f"5 of {GPU} free, 1 + 4 over the NUMA nodes"
    )
    assert why_not(node, asks("p", 3, 3, 1), *PAIRS, gone="ac") == (
        f"4 of {GPU} free, 2 on each NUMA node"
    )


def test_without_alignment_only_what_is_there_counts() -> None:
    node, asks = gpu_fleet.empty("none"), gpu_fleet.pod
    assert why_not(node, asks("p", 8, 8, 1)) is None
    assert why_not(node, asks("p", 8, 8, 1), asks("x", 1, 1, 1)) == (
        f"7 of {GPU} free, 3 + 4 over the NUMA nodes"
    )
    assert "manager refused" in str(why_not(node, asks("p", 0, 60, 1), asks("x", 0, 20, 1)))


def test_devices_of_no_numa_node_and_other_reasons() -> None:
    devices = {GPU: [Device("a"), Device("b")]}
    config = replace(
        gpu_fleet.kubelet_config(), cpu_manager_policy_options={"full-pcpus-only": "true"}
    )
    node = nodes.start(config, gpu_fleet.machine(), devices=devices)
    assert isinstance(node, Node)
    assert why_not(node, gpu_fleet.pod("p", 3, 2, 1)) == f"2 of {GPU} free"
    assert "full-pcpus-only" in str(why_not(node, gpu_fleet.pod("p", 0, 3, 1)))


def test_an_odd_size_is_no_obstacle_of_memory() -> None:
    def odd(scope: str) -> str | None:
        asked = {"cpu": Quantity.parse("1"), "memory": Quantity.parse("1.5Gi")}
        only = Container("c", requests=asked, limits=asked)
        pod = replace(gpu_fleet.pod("p"), app_containers=(only,))
        return why_not(gpu_fleet.empty(scope=scope), pod)

    assert "1536Mi" in str(odd("pod"))
    assert "1536Mi" in str(odd("container"))


def test_a_pod_that_would_end_the_kubelet() -> None:
    asked = {
        "cpu": Quantity.parse("1"),
        "memory": Quantity.parse("1Gi"),
        "hugepages-1Gi": Quantity.parse("1Gi"),
    }
    early = Container("i", ContainerKind.INIT, asked, asked)
    pod = replace(gpu_fleet.pod("p", 0, 1, 1), init_containers=(early,))
    assert "crash" in str(why_not(gpu_fleet.empty(scope="container"), pod))
    assert "hugepages-1Gi" in str(why_not(gpu_fleet.empty(behaviour=NATIVE), pod))


def test_a_pod_that_is_not_aligned_lacks_a_sum() -> None:
    only = Container("c", requests={"cpu": Quantity.parse("100")})
    pod = replace(
        gpu_fleet.pod("p"), app_containers=(only,), qos_class=QosClass.BURSTABLE, constraints=None
    )
    assert "insufficient cpu" in str(why_not(gpu_fleet.empty(), pod))
