"""The loudest users' fleet: 8 GPUs on 2 NUMA nodes, single-numa-node in scope pod."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from numalet.core.cluster.cluster import Cluster, ClusterNode, ClusterPod, Controller, Origin
from numalet.core.config.behaviour import EXACT, Behaviour
from numalet.core.config.kubelet_config import KubeletConfig, ReservedMemory
from numalet.core.managers.device.inventory import Device
from numalet.core.model.machine_info import CoreInfo, MachineInfo, NumaNodeInfo
from numalet.core.model.node_constraints import UNCONSTRAINED, NodeIdentity
from numalet.core.model.pod import Container, Pod, QosClass
from numalet.core.model.quantity import Quantity
from numalet.core.node import node as nodes
from numalet.core.node.node import Node

GPU = "nvidia.com/gpu"
GIB = 1 << 30
CORES, GPUS, MEMORY_GIB = 16, 4, 256
"""Of each NUMA node."""


def machine(numa_nodes: int = 2) -> MachineInfo:
    """NUMA nodes of 16 cores with 2 threads and 256Gi."""
    every = [
        NumaNodeInfo(
            node_id=at,
            memory_bytes=MEMORY_GIB * GIB,
            hugepages=(),
            cores=tuple(
                CoreInfo(at, core, (2 * core, 2 * core + 1))
                for core in range(CORES * at, CORES * (at + 1))
            ),
        )
        for at in range(numa_nodes)
    ]
    return MachineInfo(
        nodes=tuple(every),
        memory_capacity_bytes=MEMORY_GIB * GIB * numa_nodes,
        cpu_count=2 * CORES * numa_nodes,
        socket_count=numa_nodes,
        hugepages=(),
    )


def kubelet_config(policy: str = "single-numa-node", scope: str = "pod") -> KubeletConfig:
    """All managers at work; 2 CPUs and 1Gi of NUMA node 0 are kept back."""
    return KubeletConfig(
        cpu_manager_policy="static",
        memory_manager_policy="Static",
        topology_manager_policy=policy,
        topology_manager_scope=scope,
        kube_reserved={"cpu": "2", "memory": "1Gi"},
        eviction_hard={},
        reserved_memory=(ReservedMemory(0, {"memory": Quantity.parse("1Gi")}),),
    )


def empty(
    policy: str = "single-numa-node",
    scope: str = "pod",
    numa_nodes: int = 2,
    config: KubeletConfig | None = None,
    behaviour: Behaviour = EXACT,
) -> Node:
    """A node that has just started, with 4 GPUs on each NUMA node."""
    gpus = [Device(f"gpu{at}", (at // GPUS,)) for at in range(GPUS * numa_nodes)]
    node = nodes.start(
        config or kubelet_config(policy, scope),
        machine(numa_nodes),
        devices={GPU: gpus},
        behaviour=behaviour,
    )
    if not isinstance(node, Node):
        raise TypeError(node)
    return node


def pod(
    uid: str, gpus: int = 0, cpus: int | None = None, gib: int | None = None, priority: int = 0
) -> Pod:
    """A Guaranteed pod with an eighth of the machine for each GPU, or with these CPUs and Gi."""
    asked = {
        "cpu": Quantity.from_int(4 * gpus if cpus is None else cpus),
        "memory": Quantity.from_bytes((32 * gpus if gib is None else gib) * GIB),
    }
    if gpus:
        asked[GPU] = Quantity.from_int(gpus)
    only = Container("main", requests=asked, limits=asked)
    return Pod(
        uid=uid,
        name=uid,
        app_containers=(only,),
        qos_class=QosClass.GUARANTEED,
        priority=priority,
        constraints=UNCONSTRAINED,
    )


def running(
    name: str, pods: Iterable[Pod], gone: Iterable[str] = (), on: Node | None = None
) -> ClusterNode:
    """A node that admitted these pods in this order, of which some have gone again."""
    node = on or empty()
    identity = NodeIdentity(name=name, has_all_labels=True)
    node = replace(node, roster=replace(node.roster, rules=replace(node.rules, identity=identity)))
    for each in pods:
        node, decision = node.admit(each)
        if not decision.admitted:
            raise ValueError(f"{each} is rejected: {decision.rejection}")
        node = node.pod_started(each.uid)
    for uid in gone:
        node = node.remove(uid)
    return ClusterNode(
        name=name,
        node=node.release_stale(),
        origin=Origin.DESCRIBED,
        class_name="gpu",
        pool="gpus",
    )


def cluster(
    on: Iterable[ClusterNode],
    waiting: Iterable[Pod] = (),
    owners: Mapping[str, Controller | None] | None = None,
) -> Cluster:
    """A cluster of nodes with their pods, each of a ReplicaSet of its own if nothing is said."""
    every = {each.name: each for each in on}
    owned = owners or {}

    def known(pod: Pod, node_name: str) -> ClusterPod:
        owner = owned.get(pod.uid, Controller("ReplicaSet", f"of-{pod.uid}"))
        return ClusterPod(pod=replace(pod, node_name=node_name), controller=owner)

    bound = [
        known(pod, name) for name, each in every.items() for pod in each.node.snapshot.pods.values()
    ]
    pods = [*bound, *(known(pod, "") for pod in waiting)]
    return Cluster(nodes=every, pods={each.pod.uid: each for each in pods})


def asking(gpus: int, cpus: int | None = None, gib: int | None = None) -> ClusterPod:
    """A pod that is asked about."""
    return ClusterPod(pod=pod("asks", gpus, cpus, gib))


def split_fleet() -> Cluster:
    """Two GPUs free on each NUMA node; four on one; seven; an empty node."""
    pairs = [pod(uid, 2) for uid in "abcd"]
    return cluster(
        [
            running("split", pairs, gone="ac"),
            running("half", pairs, gone="ab"),
            running("seven", [pod("x", 1)]),
            running("empty", []),
        ]
    )
