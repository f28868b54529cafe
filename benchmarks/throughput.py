"""Decisions a second while pods come and go: two NUMA nodes, 128 CPUs, all managers, no files.

    PYTHONPATH=tests python -m benchmarks.throughput

A step admits a random pod and starts it, or, if it is rejected, removes one at random. Each turn
has pods of its own, so no turn repeats another one.
"""

from __future__ import annotations

import random
from dataclasses import replace
from statistics import median
from time import process_time
from typing import Final

from benchmarks import page

from numalet.core.config import behaviour as behaviours
from numalet.core.config.kubelet_config import KubeletConfig, ReservedMemory
from numalet.core.managers.device.inventory import Device
from numalet.core.model.machine_info import CoreInfo, HugePages, MachineInfo, NumaNodeInfo
from numalet.core.model.pod import Pod
from numalet.core.model.quantity import Quantity
from numalet.core.node import node as nodes
from numalet.core.node.node import Node
from values import node_states
from values.node_shapes import GIB, GPU

TURNS: Final = 5
STEPS: Final = 1000
POLICIES: Final = ("none", "best-effort", "restricted", "single-numa-node")


def measured(policy: str, turn: int, *, is_asked: bool) -> float:
    """Decisions a second of processor time; predicates are asked or not."""
    rng = random.Random(f"{turn} {policy} {is_asked}")
    pods = [_pod(rng, f"{turn}-{number}") for number in range(STEPS)]
    node = _started(policy, is_asked=is_asked)
    begin = process_time()
    for pod in pods:
        node, decision = node.admit(pod)
        if decision.admitted:
            node = node.pod_started(pod.uid)
        else:
            node = node.remove(rng.choice(list(node.snapshot.pods)))
    return STEPS / (process_time() - begin)


def _pod(rng: random.Random, uid: str) -> Pod:
    pages = rng.choice((None, None, "hugepages-2Mi", "hugepages-1Gi"))
    amounts = {
        "cpu": str(rng.choice((1, 1, 2, 2, 3, 4, 6, 12))),
        "memory": f"{rng.randint(512, 24 * 1024)}Mi",
        **({} if pages is None else {pages: "1Gi"}),
        **rng.choice(({}, {}, {}, {GPU: "1"}, {GPU: "2"})),
    }
    return node_states.guaranteed(uid, amounts)


def _started(policy: str, *, is_asked: bool) -> Node:
    config = KubeletConfig(
        cpu_manager_policy="static",
        reserved_system_cpus="0",
        memory_manager_policy="Static",
        topology_manager_policy=policy,
        kube_reserved={"memory": "1Gi"},
        eviction_hard={},
        reserved_memory=(ReservedMemory(0, {"memory": Quantity.parse("1Gi")}),),
    )
    devices = [Device(f"gpu-{node}-{at}", (node,)) for node in range(2) for at in range(4)]
    node = nodes.start(
        config,
        _machine(),
        devices={GPU: devices},
        behaviour=replace(behaviours.EXACT, predicates_are_asked=is_asked),
    )
    if not isinstance(node, Node):
        raise TypeError(node)
    return node


def _machine() -> MachineInfo:
    cores = 32
    pages = {2048: 4096, 1048576: 8}
    return MachineInfo(
        nodes=tuple(
            NumaNodeInfo(
                node_id=node,
                memory_bytes=64 * GIB,
                hugepages=tuple(HugePages(size, count) for size, count in pages.items()),
                cores=tuple(
                    CoreInfo(node, core, (core, core + 2 * cores))
                    for core in range(node * cores, (node + 1) * cores)
                ),
                distances=(10, 21) if node == 0 else (21, 10),
            )
            for node in range(2)
        ),
        memory_capacity_bytes=128 * GIB,
        cpu_count=4 * cores,
        socket_count=2,
        hugepages=tuple(HugePages(size, 2 * count) for size, count in pages.items()),
    )


def told() -> str:
    """The section of the page."""
    rows = []
    for policy in POLICIES:
        for is_asked in (False, True):
            rates = [measured(policy, turn, is_asked=is_asked) for turn in range(TURNS)]
            case = f"`{policy}`" if policy == "none" else policy
            case += f", predicates {'on' if is_asked else 'off'}"
            rows.append([case, f"{median(rates):,.0f}", f"{max(rates):,.0f}"])
    heads = ["Topology policy", "Decisions a second, median", "Most"]
    return f"{page.machine()}. Load at the end {page.load()}.\n\n{page.table(heads, rows)}"


if __name__ == "__main__":
    page.command("throughput", __doc__, told)
