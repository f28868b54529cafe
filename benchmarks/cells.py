"""The scenarios in which one admission, and a thousand steps, are timed beside a real kubelet's.

A machine of n NUMA nodes has 128Gi, 16 cores of 2 threads, 16 pages of 1Gi and 8 devices on node
0, and half of each on every other one. A pod requests as many of these resources as the cell says:
memory, CPUs, pages of 1Gi, devices. Scenarios are documents as ``numalet replay`` reads them.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

Scenario: TypeAlias = dict[str, Any]

GIB: Final = 1 << 30
DEVICE: Final = "example.com/device"
STEPS: Final = 1000


@dataclass(frozen=True, slots=True)
class Cell:
    """An empty node, or one on which a pod fills most of the first NUMA node."""

    nodes: int
    resources: int
    is_fragmented: bool

    @property
    def name(self) -> str:
        """As ``2 fragmented r=3``."""
        state = "fragmented" if self.is_fragmented else "empty"
        return f"{self.nodes} {state} r={self.resources}"


CELLS: Final = tuple(
    Cell(nodes, resources, is_fragmented)
    for is_fragmented in (False, True)
    for nodes in ((1, 2, 4, 6, 8) if is_fragmented else (1, 2, 4, 6, 8, 12, 16))
    for resources in (1, 2, 3, 4)
)


def admission(cell: Cell, turn: int) -> Scenario:
    """Return a scenario whose last step is timed.

    Each turn has other uids and amounts, so an earlier result is not the answer of a later turn.
    """
    if cell.is_fragmented:
        filling = _pod(cell.resources, f"{turn}-a", 24, 100 * 1024 + turn, 12, 6)
        pods = [filling, _pod(cell.resources, f"{turn}-b", 20, 90 * 1024 + turn, 10, 5)]
    else:
        more = turn % 3
        amounts = (2 + 2 * more, (2 + more) * 1024 + turn, 1, 1)
        pods = [_pod(cell.resources, f"{turn}-b", *amounts)]
    sizes = [1, *[2] * (cell.nodes - 1)]
    return _scenario(
        f"{cell.name} {turn}",
        machine=_machine([16 // each for each in sizes], [128 * GIB // each for each in sizes]),
        static_cpus=cell.resources > 1,
        devices=[(node, 8 // each) for node, each in enumerate(sizes)] * (cell.resources > 3),
        steps=[{"admit": pod} for pod in pods],
    )


def coming_and_going(turn: int) -> Scenario:
    """Return a scenario of many steps on two NUMA nodes with 128 CPUs, about half full."""
    rng = random.Random(turn)
    steps: list[dict[str, Any]] = []
    running: dict[str, int] = {}
    while len(steps) < STEPS:
        cpus = rng.randint(1, 8)
        if not running or (sum(running.values()) + cpus <= 64 and rng.random() < 0.5):
            uid = f"{turn}-{len(steps)}"
            running[uid] = cpus
            steps.append({"admit": _pod(2, uid, cpus, rng.randint(1, 4) * 1024, 0, 0)})
        else:
            uid = rng.choice(list(running))
            del running[uid]
            steps.append({"remove": uid})
    return _scenario(
        f"{STEPS} steps, {turn}",
        machine=_machine([32, 32], [128 * GIB] * 2),
        static_cpus=True,
        devices=[],
        steps=steps,
    )


def _scenario(
    name: str,
    *,
    machine: dict[str, Any],
    static_cpus: bool,
    devices: list[tuple[int, int]],
    steps: list[dict[str, Any]],
) -> Scenario:
    config: dict[str, Any] = {
        "topologyManagerPolicy": "best-effort",
        "memoryManagerPolicy": "Static",
        "kubeReserved": {"cpu": "1", "memory": "412Mi"},
        # What is reserved, and 100Mi for eviction.
        "reservedMemory": [{"numaNode": 0, "limits": {"memory": "512Mi"}}],
    }
    if static_cpus:
        config["cpuManagerPolicy"] = "static"
    nodes = len(machine["numa_nodes"])
    if nodes > 8:
        config["topologyManagerPolicyOptions"] = {"max-allowable-numa-nodes": str(nodes)}
    listed = [
        {"id": f"device-{node}-{at}", "numa_nodes": [node]}
        for node, count in devices
        for at in range(count)
    ]
    return {
        "name": name,
        "machine": machine,
        "kubelet_config": config,
        "devices": [{"resource": DEVICE, "devices": listed}] if listed else [],
        "steps": steps,
    }


def _machine(cores: list[int], memory: list[int]) -> dict[str, Any]:
    """Return a machine with one socket, one cache and one page of 1Gi for each core on a node."""
    nodes, cpu = [], 0
    for node, count in enumerate(cores):
        listed = []
        for core in range(count):
            threads = [cpu, cpu + 1]
            listed.append({"id": core, "socket": node, "threads": threads, "uncore_cache": node})
            cpu += 2
        nodes.append(
            {
                "id": node,
                "memory_bytes": memory[node],
                "hugepages": [{"page_size_kib": 1 << 20, "count": count}],
                "distances": [10 if other == node else 20 for other in range(len(cores))],
                "cores": listed,
            }
        )
    return {"numa_nodes": nodes}


def _pod(resources: int, uid: str, cpus: int, mib: int, pages: int, devices: int) -> dict[str, Any]:
    amounts = {"cpu": str(cpus), "memory": f"{mib}Mi"}
    if resources > 2:
        amounts["hugepages-1Gi"] = f"{pages}Gi"
    if resources > 3:
        amounts[DEVICE] = str(devices)
    container = {"name": "app", "resources": {"requests": amounts, "limits": amounts}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"pod-{uid}", "namespace": "default", "uid": uid},
        "spec": {"containers": [container]},
    }
