"""The largest pod that fits on one NUMA node."""

from __future__ import annotations

import numalet
from numalet.core.config.kubelet_config import KubeletConfig, ReservedMemory
from numalet.core.model.quantity import Quantity
from numalet.core.node.node import Node
from numalet.insight.explain import largest_pod
from oracles.largest_pods import largest_pods
from values import shown_nodes
from values.shown_nodes import GIB, guaranteed


def _node(memory: str) -> Node:
    reserved = (ReservedMemory(0, {"memory": Quantity.from_bytes(6 * GIB)}),)
    config = KubeletConfig(
        cpu_manager_policy="static",
        memory_manager_policy=memory,
        topology_manager_policy="single-numa-node",
        kube_reserved={"cpu": "2", "memory": "6Gi"},
        reserved_memory=reserved if memory == "Static" else (),
    )
    machine = numalet.open_machine("2n16c2t", memory_per_node="64Gi")
    node = numalet.start_node(config, machine)
    assert isinstance(node, Node), node
    for name, size_gib in (("cache", 24), ("database", 32)):
        node, decision = node.admit(guaranteed(name, 20, size_gib * GIB))
        assert decision.admitted
    return node


def test_a_larger_pod_fits_on_one_numa_node_where_a_smaller_one_goes_to_another() -> None:
    node = _node("Static")
    # Up to 10 CPUs and 32Gi go to NUMA node 0, and 11 or 12 CPUs to node 1.
    found = largest_pod.largest_pod(node)
    assert found is not None
    assert (found.node_id, found.cpus, found.memory_bytes) == (1, 12, 32 * GIB)
    assert {(found.cpus, found.memory_bytes)} == largest_pods(node)
    assert node.fits(guaranteed("probe", 12, 32 * GIB))


def test_memory_that_no_manager_allocates_is_what_all_requests_leave() -> None:
    node = _node("None")
    found = largest_pod.largest_pod(node)
    assert found is not None
    assert found.cpus == 12
    assert node.fits(guaranteed("probe", 12, found.memory_bytes))
    assert not node.fits(guaranteed("probe", 12, found.memory_bytes + 1))


def test_shared_pods_count_although_they_have_no_cpu_for_themselves() -> None:
    _, node = shown_nodes.started()
    for at in range(4):
        node, decision = node.admit(numalet.read_pods(_BURSTABLE % at, "test").pods[0])
        assert decision.admitted
    found = largest_pod.largest_pod(node)
    # All 31 CPUs are free, and 28 of them are requested.
    assert found is not None
    assert found.cpus == 3


_BURSTABLE = """
apiVersion: v1
kind: Pod
metadata: {name: web-%s}
spec: {containers: [{name: app, resources: {requests: {cpu: 7, memory: 1Gi}}}]}
"""


def test_no_pod_fits_without_the_static_policy() -> None:
    node = numalet.start_node(KubeletConfig(), numalet.open_machine("2n4c2t"))
    assert isinstance(node, Node)
    assert largest_pod.largest_pod(node) is None


def test_threads_of_reserved_cpus_are_no_whole_cores() -> None:
    config = KubeletConfig(
        cpu_manager_policy="static",
        cpu_manager_policy_options={"full-pcpus-only": "true"},
        reserved_system_cpus="0,1",
    )
    node = numalet.start_node(config, numalet.open_machine("1n8c2t", memory_per_node="64Gi"))
    assert isinstance(node, Node), node
    # 14 CPUs are free, but only 6 of 8 cores as a whole.
    found = largest_pod.largest_pod(node)
    assert found is not None
    assert found.cpus == 12


def test_no_pod_fits_on_one_of_two_numa_nodes_that_a_pod_uses_together() -> None:
    _, node = shown_nodes.started()
    node, decision = node.admit(guaranteed("wide", 20, 40 * GIB))
    assert decision.admitted
    assert largest_pod.largest_pod(node) is None
