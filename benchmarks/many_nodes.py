"""Machines of 1 to 64 NUMA nodes with all managers at work, and pods of 1 to 5 resources.

A *fragmented* node has seen up to four pods per NUMA node come, and a third as many go. Every
second NUMA node shares a network card with its neighbour, so that some devices have two nodes.
The same seed gives the same nodes and pods on every machine.
"""

from __future__ import annotations

import random

from numalet.config.kubelet_config import KubeletConfig, ReservedMemory
from numalet.managers.device.inventory import Device
from numalet.model.machine_info import CoreInfo, HugePages, MachineInfo, NumaNodeInfo
from numalet.model.pod import Container, Pod, QosClass
from numalet.model.quantity import Quantity
from numalet.node import node as nodes
from numalet.node.node import Node

GIB = 1 << 30
GPU, NIC = "example.com/gpu", "example.com/nic"
MOST_RESOURCES = 5
_CORES = 8


def machine(node_count: int) -> MachineInfo:
    """Two sockets; 64Gi, of which 8Gi are pages of 1Gi, and 8 cores of 2 threads on each node."""
    pages = (HugePages(1048576, 8),)
    return MachineInfo(
        nodes=tuple(
            NumaNodeInfo(
                node_id=node_id,
                memory_bytes=64 * GIB,
                hugepages=pages,
                cores=tuple(_core(node_id, core, node_count) for core in range(_CORES)),
                distances=tuple(_distance(node_id, to, node_count) for to in range(node_count)),
            )
            for node_id in range(node_count)
        ),
        memory_capacity_bytes=64 * GIB * node_count,
        cpu_count=2 * _CORES * node_count,
        socket_count=min(2, node_count),
        hugepages=(HugePages(1048576, 8 * node_count),),
    )


def _core(node_id: int, core: int, node_count: int) -> CoreInfo:
    first = 2 * (_CORES * node_id + core)
    return CoreInfo(core, node_id * 2 // node_count, (first, first + 1))


def _distance(one: int, other: int, node_count: int) -> int:
    if one == other:
        return 10
    return 12 if one * 2 // node_count == other * 2 // node_count else 32


def empty(node_count: int, policy: str, **options: str) -> Node:
    """A node that has just started, with a GPU per NUMA node and a card for every two."""
    if node_count > 8:
        options["max-allowable-numa-nodes"] = str(node_count)
    config = KubeletConfig(
        cpu_manager_policy="static",
        memory_manager_policy="Static",
        topology_manager_policy=policy,
        topology_manager_policy_options=options or None,
        kube_reserved={"cpu": "2", "memory": "1Gi"},
        eviction_hard={},
        reserved_memory=(ReservedMemory(0, {"memory": Quantity.parse("1Gi")}),),
    )
    node = nodes.start(config, machine(node_count))
    if not isinstance(node, Node):
        raise TypeError(node)
    cards = range(0, node_count, 2)
    return node.devices_reported(
        {
            GPU: tuple(Device(f"gpu{at:02}", (at,)) for at in range(node_count)),
            NIC: tuple(
                Device(f"nic{at:02}", tuple(range(at, min(at + 2, node_count)))) for at in cards
            ),
        }
    ).sources_ready()


def pod(uid: str, rng: random.Random, resources: int, node_count: int) -> Pod:
    """A Guaranteed pod: memory, then also whole CPUs, 1Gi pages, GPUs, network cards.

    Most fit on a few NUMA nodes; some take a quarter or a half of the machine.
    """
    part = rng.choice([4, 4, 2])
    is_large = rng.random() < 0.2
    share = max(1, node_count // part)
    gib = 56 * share if is_large else rng.choice([1, 4, 8, 16, 32, 48, 60, 70, 120, 200])
    cpus = 16 * share - 2 if is_large else rng.choice([1, 2, 4, 8, 12, 16, 20, 32])
    amounts = {"memory": f"{gib}Gi", "cpu": str(cpus) if resources > 1 else "500m"}
    if resources > 2:
        amounts["hugepages-1Gi"] = f"{rng.choice([1, 2, 4, 8])}Gi"
    if resources > 3:
        amounts[GPU] = str(share if is_large else rng.choice([1, 1, 2, 4]))
    if resources > 4:
        amounts[NIC] = str(rng.choice([1, 2]))
    found = {name: Quantity.parse(amount) for name, amount in amounts.items()}
    container = Container("app", requests=found, limits=found)
    return Pod(uid, uid, app_containers=(container,), qos_class=QosClass.GUARANTEED)


def fragmented(node_count: int, policy: str, rng: random.Random) -> Node:
    """A node in the middle of its life."""
    node = empty(node_count, policy)
    running: list[str] = []
    for number in range(rng.randrange(4 * node_count)):
        if running and rng.random() < 0.35:
            node = node.remove(running.pop(rng.randrange(len(running))))
            continue
        resources = rng.randint(1, MOST_RESOURCES)
        newcomer = pod(f"pod-{number:03}", rng, resources, node_count)
        node, decision = node.admit(newcomer)
        if decision.admitted:
            running.append(newcomer.uid)
    return node
