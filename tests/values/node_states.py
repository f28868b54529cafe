"""Nodes in the middle of their life, and the pods that come to them: the seeded generator.

A *life* is a machine, a topology policy, a scope, and whether prefer-closest-numa-nodes counts.
A node is *fragmented* by what fragments real ones: pods of one to five resources come, some go
again, others take what they left; so there are holes, and groups of NUMA nodes in use.

    r = 1   memory
    r = 2   and whole CPUs
    r = 3   and pages of 1Gi
    r = 4   and GPUs
    r = 5   and network cards or pages of 2Mi

The tests and the benchmarks draw from here. The same generator of random numbers gives the same
nodes and pods on every machine and in every release of Python.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from numalet.core.admission.decision import Decision
from numalet.core.config.kubelet_config import KubeletConfig, ReservedMemory
from numalet.core.model.pod import Container, Pod, QosClass
from numalet.core.model.quantity import Quantity
from numalet.core.node import node as nodes
from numalet.core.node.node import Node
from values import node_shapes
from values.node_shapes import GPU, NIC, Shape

POLICIES = ("best-effort", "restricted", "single-numa-node")
SCOPES = ("container", "pod")
MOST_RESOURCES = 5
_KUBELETS_LIMIT = 8


@dataclass(frozen=True)
class Life:
    """What does not change while a node lives."""

    shape: Shape
    policy: str
    scope: str = "container"
    closest: bool = False


def any_life(node_count: int, rng: random.Random, policy: str | None = None) -> Life:
    """A life with a machine of so many nodes; a quarter of them prefers the closest nodes."""
    shape = node_shapes.any_shape(node_count, rng)
    return Life(shape, policy or rng.choice(POLICIES), rng.choice(SCOPES), rng.random() < 0.25)


def config(life: Life) -> KubeletConfig:
    """All managers at work; 2 CPUs, and 1Gi of node 0, are kept back."""
    options = {}
    if life.shape.node_count > _KUBELETS_LIMIT:
        options["max-allowable-numa-nodes"] = str(life.shape.node_count)
    if life.closest:
        options["prefer-closest-numa-nodes"] = "true"
    return KubeletConfig(
        cpu_manager_policy="static",
        memory_manager_policy="Static",
        topology_manager_policy=life.policy,
        topology_manager_scope=life.scope,
        topology_manager_policy_options=options or None,
        kube_reserved={"cpu": "2", "memory": "1Gi"},
        eviction_hard={},
        reserved_memory=(ReservedMemory(0, {"memory": Quantity.parse("1Gi")}),),
    )


def empty(life: Life) -> Node:
    """The node when it has just started and its device plugins have reported."""
    node = nodes.start(config(life), life.shape.machine, devices=life.shape.devices)
    if not isinstance(node, Node):
        raise TypeError(node)
    return node


def fragmented(
    life: Life, rng: random.Random, seen: Callable[[Decision], None] = lambda _: None
) -> Node:
    """The node after a while: filled more or less, partly emptied, and filled up a little.

    ``seen`` is told every decision on the way.
    """
    node_count = life.shape.node_count
    node = _filled(empty(life), life, rng, rng.randint(node_count // 2, 3 * node_count), seen)
    running = sorted(node.snapshot.pods)
    for uid in rng.sample(running, int(len(running) * rng.uniform(0.3, 0.7))):
        node = node.remove(uid)
    node = _filled(node, life, rng, node_count // 4, seen)
    # The next admission begins as every other does: with nothing stale.
    return node.release_stale()


def _filled(
    node: Node, life: Life, rng: random.Random, arrivals: int, seen: Callable[[Decision], None]
) -> Node:
    first = node.snapshot.revision
    for number in range(arrivals):
        uid = f"pod-{first + number:05}"
        containers = rng.choice((1, 1, 1, 2))
        arriving = pod(uid, life, rng, rng.randint(1, MOST_RESOURCES), containers, large=0.1)
        node, decision = node.admit(arriving)
        seen(decision)
        if decision.admitted:
            node = node.pod_started(uid)
    return node


def pod(
    uid: str,
    life: Life,
    rng: random.Random,
    resources: int,
    containers: int = 1,
    large: float = 0.2,
) -> Pod:
    """A Guaranteed pod whose containers all ask for the same.

    Most fit on a few NUMA nodes; with probability ``large`` one takes up to half the machine.
    """
    shape = life.shape
    is_large = rng.random() < large
    with_cpus = sum(1 for node in shape.machine.nodes if node.cores)
    share = max(1, with_cpus // rng.choice((4, 4, 2))) if is_large else rng.choice((1, 1, 2, 4))
    part = 0.85 if is_large else rng.choice((0.02, 0.1, 0.25, 0.5, 0.7, 1.1, 1.7)) / share
    amounts = {
        "memory": f"{max(1, int(shape.node_gib * part * share))}Gi",
        "cpu": str(max(1, int(shape.node_cpus * part * share))) if resources > 1 else "500m",
    }
    if resources > 2:
        amounts["hugepages-1Gi"] = f"{rng.choice((1, 2, 4, 8))}Gi"
    if resources > 3:
        amounts[GPU] = str(share)
    if resources > 4:
        amounts |= rng.choice(({NIC: str(rng.choice((1, 2)))}, {"hugepages-2Mi": "1Gi"}))
    return guaranteed(uid, *[amounts] * containers)


def guaranteed(uid: str, *containers: dict[str, str]) -> Pod:
    """A Guaranteed pod with these containers."""
    found = []
    for number, amounts in enumerate(containers):
        resources = {name: Quantity.parse(amount) for name, amount in amounts.items()}
        found.append(Container(f"app{number}", requests=resources, limits=resources))
    return Pod(uid, uid, app_containers=tuple(found), qos_class=QosClass.GUARANTEED)


def has_group(node: Node) -> bool:
    """Whether some NUMA nodes are in use together."""
    return any(each.group.bit_count() > 1 for each in node.snapshot.memory.nodes.values())
