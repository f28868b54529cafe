"""Nodes in the middle of their life, made by a generator with a fixed seed.

A node is *fragmented* here by what fragments real ones: pods of all sizes come, some of them
with huge pages, some go again, and others take what they left. The same arguments give the same
node on every machine and in every release of Python.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from numalet.core.config.kubelet_config import KubeletConfig, ReservedMemory
from numalet.core.model.machine_info import CoreInfo, HugePages, MachineInfo, NumaNodeInfo
from numalet.core.model.pod import Container, Pod, QosClass
from numalet.core.model.quantity import Quantity
from numalet.core.node import node as nodes
from numalet.core.node.node import Node

GIB = 1 << 30
MEMORY_PER_NODE_GIB = 64
PODS_PER_NODE = 5
_PAGE_COUNTS = {2048: 4096, 1048576: 8}
_SEED = 20240501


def machine(node_count: int) -> MachineInfo:
    """A machine with 64Gi per NUMA node, of which 8Gi are pages of 2Mi and 8Gi pages of 1Gi."""
    pages = tuple(HugePages(size, count) for size, count in _PAGE_COUNTS.items())
    return MachineInfo(
        nodes=tuple(
            NumaNodeInfo(
                node_id=node_id,
                memory_bytes=MEMORY_PER_NODE_GIB * GIB,
                hugepages=pages,
                cores=tuple(CoreInfo(core, node_id, (8 * node_id + core,)) for core in range(8)),
                distances=tuple(10 if other == node_id else 21 for other in range(node_count)),
            )
            for node_id in range(node_count)
        ),
        memory_capacity_bytes=node_count * MEMORY_PER_NODE_GIB * GIB,
        cpu_count=8 * node_count,
        socket_count=node_count,
        hugepages=tuple(HugePages(page.page_size_kib, page.count * node_count) for page in pages),
    )


def config(topology_policy: str) -> KubeletConfig:
    """The Memory Manager's policy Static with 1Gi of node 0 kept back."""
    return KubeletConfig(
        memory_manager_policy="Static",
        topology_manager_policy=topology_policy,
        kube_reserved={"memory": "1Gi"},
        eviction_hard={},
        reserved_memory=(ReservedMemory(0, {"memory": Quantity.parse("1Gi")}),),
    )


def empty(node_count: int, topology_policy: str) -> Node:
    """A node that has just started."""
    node = nodes.start(config(topology_policy), machine(node_count))
    if not isinstance(node, Node):
        raise TypeError(node)
    return node


def pod(uid: str, memory: str, **pages: str) -> Pod:
    """A Guaranteed pod of one container; huge pages as ``hugepages_1Gi="2Gi"``."""
    named = {name.replace("_", "-"): size for name, size in pages.items()}
    amounts = {"cpu": "1", "memory": memory, **named}
    resources = {name: Quantity.parse(amount) for name, amount in amounts.items()}
    container = Container("app", requests=resources, limits=resources)
    return Pod(uid, uid, app_containers=(container,), qos_class=QosClass.GUARANTEED)


def with_some_pods(node_count: int, topology_policy: str) -> Node:
    """A node on which four pods with memory alone run."""
    node = empty(node_count, topology_policy)
    for number in range(4):
        node, _ = node.admit(pod(f"pod-{number}", "10Gi"))
    return node


def fragmented(node_count: int, topology_policy: str, room_for: Pod) -> Node:
    """A node after a long time: several pods per NUMA node, holes between them, groups.

    The oldest pods go until there is room for the pod whose admission is measured.
    """
    rng = random.Random(f"{_SEED} {node_count} {topology_policy}")
    node = empty(node_count, topology_policy)
    for arriving in _arrivals(rng, 20 * node_count):
        running = list(node.snapshot.pods)
        if len(running) >= PODS_PER_NODE * node_count:
            node = node.remove(rng.choice(running))
        node, decision = node.admit(arriving)
        if decision.admitted:
            node = node.pod_started(arriving.uid)
    while not node.admit(room_for)[1].admitted:
        node = node.remove(next(iter(node.snapshot.pods)))
    # The measured admission begins as every other does: with nothing stale.
    return node.release_stale()


def _arrivals(rng: random.Random, count: int) -> Iterator[Pod]:
    for number in range(count):
        size_gib = rng.choice((1, 1, 2, 2, 3, 5, 8, 13, 60))
        pages = rng.choice(({}, {}, {"hugepages_2Mi": "1Gi"}, {"hugepages_1Gi": "1Gi"}))
        yield pod(f"pod-{number:03}", f"{size_gib}Gi", **pages)
