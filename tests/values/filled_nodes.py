"""Nodes of machine profiles that are full of pods, for tests of how large is what is published."""

from __future__ import annotations

import random
import uuid

from numalet.core.managers.device.inventory import Device
from numalet.core.node.node import Node
from values import profile_bench
from values.profile_bench import GPU


def two_numa_nodes(seed: int, pods: int = 60) -> Node:
    """A node of two NUMA nodes and 8 GPUs of which so many random pods asked."""
    return filled(two_nodes_with({GPU: [(f"GPU-{at}", at // 4) for at in range(8)]}), seed, pods)


def thirty_four_numa_nodes(seed: int, pods: int = 110) -> Node:
    """A node of 34 NUMA nodes of which so many random pods asked."""
    return filled(profile_bench.started("gb200-34n"), seed, pods)


def two_nodes_with(devices: dict[str, list[tuple[str, int]]]) -> Node:
    """An empty node of two NUMA nodes with these devices, each on one of them."""
    node = profile_bench.started("xeon-2n", topologyManagerPolicy="single-numa-node")
    reported = {
        resource: [Device(name, (place,)) for name, place in listed]
        for resource, listed in devices.items()
    }
    return node.devices_reported(reported)


def filled(node: Node, seed: int, pods: int) -> Node:
    """The node after so many random pods asked, and a third of those admitted went again."""
    rng = random.Random(seed)
    for _ in range(pods):
        uid = str(uuid.UUID(int=rng.getrandbits(128)))
        amounts = {"cpu": rng.choice(("1", "3", "8"))}
        if rng.random() < 0.6:
            amounts["gpu"] = rng.choice(("1", "1", "2"))
        pod = profile_bench.asks(uid, rng.choice(("3Gi", "16Gi", "1537Mi")), **amounts)
        node, decision = node.admit(pod)
        if decision.admitted and rng.random() < 0.3:
            node = node.remove(uid)
    return node
