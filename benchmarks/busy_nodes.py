"""Nodes on which all managers work, in the middle of their life, made with a fixed seed.

Every NUMA node has cores of two threads, 64Gi with huge pages, and four devices. Pods ask for
whole CPUs, memory, now and then for huge pages and a device.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping

from benchmarks import states

from numalet.core.config.kubelet_config import KubeletConfig, ReservedMemory
from numalet.core.managers.device.inventory import Device
from numalet.core.model.machine_info import CoreInfo, HugePages, MachineInfo, NumaNodeInfo
from numalet.core.model.pod import Container, Pod, QosClass
from numalet.core.model.quantity import Quantity
from numalet.core.node import node as nodes
from numalet.core.node.node import Node

GPU = "example.com/gpu"
DEVICES_PER_NODE = 4
_PAGE_COUNTS = {2048: 4096, 1048576: 8}
_SEED = 20250702


def machine(node_count: int, cores_per_node: int) -> MachineInfo:
    """Sockets of one NUMA node each; the second threads of all cores come last."""
    cores = node_count * cores_per_node
    pages = tuple(HugePages(size, count) for size, count in _PAGE_COUNTS.items())
    return MachineInfo(
        nodes=tuple(
            NumaNodeInfo(
                node_id=node_id,
                memory_bytes=states.MEMORY_PER_NODE_GIB * states.GIB,
                hugepages=pages,
                cores=tuple(
                    CoreInfo(node_id, core, (first, first + cores))
                    for core in range(cores_per_node)
                    for first in (node_id * cores_per_node + core,)
                ),
                distances=tuple(10 if other == node_id else 21 for other in range(node_count)),
            )
            for node_id in range(node_count)
        ),
        memory_capacity_bytes=node_count * states.MEMORY_PER_NODE_GIB * states.GIB,
        cpu_count=2 * cores,
        socket_count=node_count,
        hugepages=tuple(HugePages(page.page_size_kib, page.count * node_count) for page in pages),
    )


def config(topology_policy: str, options: Mapping[str, str] | None = None) -> KubeletConfig:
    """All managers on; CPU 0 and 1Gi of node 0 are kept back."""
    return KubeletConfig(
        cpu_manager_policy="static",
        cpu_manager_policy_options=options,
        reserved_system_cpus="0",
        memory_manager_policy="Static",
        topology_manager_policy=topology_policy,
        kube_reserved={"memory": "1Gi"},
        eviction_hard={},
        reserved_memory=(ReservedMemory(0, {"memory": Quantity.parse("1Gi")}),),
        feature_gates={"CPUManagerPolicyAlphaOptions": True},
    )


def empty(
    node_count: int,
    cores_per_node: int,
    topology_policy: str,
    options: Mapping[str, str] | None = None,
) -> Node:
    """A node that has just started."""
    devices = [
        Device(f"gpu-{node_id}-{number}", (node_id,))
        for node_id in range(node_count)
        for number in range(DEVICES_PER_NODE)
    ]
    node = nodes.start(
        config(topology_policy, options),
        machine(node_count, cores_per_node),
        devices={GPU: devices},
    )
    if not isinstance(node, Node):
        raise TypeError(node)
    return node


def pod(uid: str, cpus: int, memory: str, gpus: int = 0, **pages: str) -> Pod:
    """A Guaranteed pod of one container; huge pages as ``hugepages_1Gi="2Gi"``."""
    amounts = {"cpu": str(cpus), "memory": memory}
    amounts |= {name.replace("_", "-"): size for name, size in pages.items()}
    amounts |= {GPU: str(gpus)} if gpus else {}
    resources = {name: Quantity.parse(amount) for name, amount in amounts.items()}
    container = Container("app", requests=resources, limits=resources)
    return Pod(uid, uid, app_containers=(container,), qos_class=QosClass.GUARANTEED)


def arrivals(seed: str, count: int) -> Iterator[Pod]:
    """Random pods of up to 12 CPUs and 24Gi; the same ones for the same seed."""
    rng = random.Random(f"{_SEED} {seed}")
    for number in range(count):
        pages = rng.choice(({}, {}, {"hugepages_2Mi": "1Gi"}, {"hugepages_1Gi": "1Gi"}))
        yield pod(
            f"pod-{number:04}",
            cpus=rng.choice((1, 1, 2, 2, 3, 4, 6, 12)),
            memory=f"{rng.choice((1, 2, 3, 5, 8, 24))}Gi",
            gpus=rng.choice((0, 0, 0, 1, 2)),
            **pages,
        )


def fragmented(node_count: int, cores_per_node: int, topology_policy: str, room_for: Pod) -> Node:
    """A node after a long time: holes in CPUs and memory of every NUMA node, groups, used devices.

    The oldest pods go until there is room for the pod whose admission is measured.
    """
    rng = random.Random(f"{_SEED} {node_count} {topology_policy}")
    node = empty(node_count, cores_per_node, topology_policy)
    for arriving in arrivals(topology_policy, 25 * node_count):
        running = list(node.snapshot.pods)
        if len(running) >= states.PODS_PER_NODE * node_count:
            node = node.remove(rng.choice(running))
        node, decision = node.admit(arriving)
        if decision.admitted:
            node = node.pod_started(arriving.uid)
    while not node.admit(room_for)[1].admitted:
        node = node.remove(next(iter(node.snapshot.pods)))
    # The measured admission begins as every other does: with nothing stale.
    return node.release_stale()
