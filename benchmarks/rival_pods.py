"""The pods and nodes of ``benchmarks.rival``: eight shapes, in an order that a seed decides."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any, Final

from running.hollow_program import GPU

WAYS: Final = (("single-numa-node", "pod"), ("single-numa-node", "container"))
"""Policies and scopes of the nodes, in turn."""
CPUS_OF_A_NODE: Final = 63
GPUS_OF_A_NODE: Final = 8
_SMALLEST_CPUS: Final = 4


@dataclass(frozen=True, slots=True)
class Shape:
    """How often it comes, and CPUs, GiB and GPUs of each container."""

    weight: int
    containers: tuple[tuple[str, int, int], ...]
    has_limits: bool = True

    @property
    def cpus(self) -> float:
        return sum(float(cpu) for cpu, _, _ in self.containers)

    @property
    def gpus(self) -> int:
        return sum(gpus for _, _, gpus in self.containers)


SHAPES: Final = {
    "small": Shape(4, (("4", 8, 0),)),
    "medium": Shape(3, (("12", 24, 0),)),
    "two-gpus": Shape(3, (("8", 32, 2),)),
    "three-containers": Shape(2, (("3", 6, 0),) * 3),
    "two-gpus-and-sidecar": Shape(2, (("8", 16, 2), ("1", 2, 0))),
    "large": Shape(1, (("20", 60, 0),)),
    "burstable": Shape(2, (("0.5", 1, 0),), has_limits=False),
    "four-gpus": Shape(1, (("4", 16, 4),)),
}
DAEMON: Final = Shape(0, (("0.01", 1, 0),), has_limits=False)
"""A pod of each node before the others come: without one the rival never reads its node again."""


def in_order(seed: int, nodes: int, share: float) -> list[str]:
    """Return the names of shapes for this share of the CPUs of so many nodes."""
    rng = random.Random(seed)
    names = [name for name, shape in SHAPES.items() for _ in range(shape.weight)]
    most_cpus, most_gpus = nodes * CPUS_OF_A_NODE * share, nodes * GPUS_OF_A_NODE * share
    chosen: list[str] = []
    cpus, gpus = 0.0, 0
    while cpus < most_cpus - _SMALLEST_CPUS:
        name = rng.choice(names)
        if gpus + SHAPES[name].gpus <= most_gpus:
            chosen.append(name)
            cpus += SHAPES[name].cpus
            gpus += SHAPES[name].gpus
    return chosen


def pod(name: str, shape: Shape, **spec: Any) -> dict[str, Any]:
    """The manifest of a pod; ``spec`` is added to its own."""
    containers = []
    for at, (cpu, gib, gpus) in enumerate(shape.containers):
        amounts = {"cpu": cpu, "memory": f"{gib}Gi"} | ({GPU: str(gpus)} if gpus else {})
        resources = {"requests": amounts} | ({"limits": amounts} if shape.has_limits else {})
        containers.append({"name": f"c{at}", "image": "any", "resources": resources})
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "restartPolicy": "Never",
            "automountServiceAccountToken": False,
            "terminationGracePeriodSeconds": 0,
            "containers": containers,
            **spec,
        },
    }
