"""What a kubelet answers when a pod that it runs is to have more or less CPU and memory.

    not at all    in-place resizing is off, so nothing reads the change
    infeasible    never on this node: the pod is Guaranteed beside a static policy, or asks for more
                  than the node has in all
    deferred      not now: an admission of the pod as it is to be would fail
    feasible      that admission would go well

The first refusal is the answer: CPUs, then memory, then what the node has, then the admission.
Nothing is changed here, and no device plugin is asked.
Kubelet: ``canResizePod``, v1.32 to v1.35; ``podResizesAdmitHandler.Admit``, v1.36.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

from numalet.core.admission import counting, node_resources
from numalet.core.admission.reasons import Rejection
from numalet.core.config import node_allocatable
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.releases.release import ReleaseRules
from numalet.core.config.rules import CpuPolicy, MemoryPolicy
from numalet.core.model import pod_demand, resources
from numalet.core.model.pod import Container, ContainerKind, Pod, QosClass
from numalet.core.model.quantity import ZERO, Quantity
from numalet.core.model.value import Value
from numalet.core.node.node import Node


class PinnedResource(Value):
    """A static policy pins this resource of a Guaranteed pod: ``cpu`` or ``memory``."""

    resource: str


class MoreThanCapacity(Value):
    """The pod would ask for more than the node has for all pods; CPU in thousandths."""

    resource: str
    requested: int
    capacity: int


class Infeasible(Value):
    """The pod keeps what it has, on this node for ever."""

    why: PinnedResource | MoreThanCapacity


class Deferred(Value):
    """The pod keeps what it has until it fits."""

    why: Rejection


class NotAtAll(Value):
    """The feature gate InPlacePodVerticalScaling is off."""


class Feasible(Value):
    """The pod gets what it asks for."""


ResizeAnswer: TypeAlias = Infeasible | Deferred | NotAtAll | Feasible

_SIZES: Final = (resources.CPU, resources.MEMORY)


def answer(node: Node, config: KubeletConfig, before: Pod, after: Pod) -> ResizeAnswer:
    """The answer for an active pod, as it is and as it is to be; only sizes may differ."""
    rules = node.rules.release_rules
    before, after = (counting.counted(each, rules) for each in (before, after))
    if not rules.pods_are_resized:
        return NotAtAll()
    if not any(_changes(rules, before, after, resource) for resource in _SIZES):
        return Feasible()
    for resource in _pinned(node, rules):
        by_what_changes = rules.resizes_are_refused_by_what_changes
        if after.qos_class is QosClass.GUARANTEED and (
            not by_what_changes or _changes(rules, before, after, resource)
        ):
            return Infeasible(PinnedResource(resource))
    if not rules.resizes_above_capacity_are_left_to_admission:
        too_large = _above_capacity(node, config, after)
        if too_large is not None:
            return Infeasible(too_large)
    _, decision = node.without_plugins().admit(after)
    return Feasible() if decision.rejection is None else Deferred(decision.rejection)


def _pinned(node: Node, rules: ReleaseRules) -> Iterator[str]:
    """What static policies pin and no gate lets change, in the kubelet's order."""
    if rules.resizes_keep_exclusive_cpus and node.rules.cpu.policy is CpuPolicy.STATIC:
        yield resources.CPU
    if rules.resizes_keep_pinned_memory and node.rules.memory.policy is MemoryPolicy.STATIC:
        yield resources.MEMORY


def _changes(rules: ReleaseRules, before: Pod, after: Pod, resource: str) -> bool:
    """Whether a container that can be resized would request another amount."""
    return any(
        _requested(each, resource) != _requested(before.by_name.get(each.name), resource)
        for each in after.containers()
        if each.kind is not ContainerKind.INIT or rules.init_containers_are_resized
    )


def _requested(container: Container | None, resource: str) -> Quantity:
    return ZERO if container is None else container.requests.get(resource, ZERO)


def _above_capacity(node: Node, config: KubeletConfig, pod: Pod) -> MoreThanCapacity | None:
    """The resource of which the node has too little even when it is empty, memory first."""
    has: Mapping[str, Quantity]
    if node.rules.release_rules.resizes_may_use_eviction_reserves:
        has = node_allocatable.without_eviction(
            config, node_allocatable.capacity(node.rules.machine)
        )
    else:
        has = node_resources.allocatable(node.rules, node.snapshot)
    asked = pod_demand.effective_requests(pod)
    for name in reversed(_SIZES):
        requested = pod_demand.number(name, asked.get(name, ZERO))
        most = pod_demand.number(name, has.get(name, ZERO))
        if requested > most:
            return MoreThanCapacity(name, requested, most)
    return None
