"""A pod's request to the nodes of one class, and the part of their state that it distinguishes.

A pod that requests 4 CPUs cannot distinguish a NUMA node with 10 free CPUs from one with 60: no
rule compares the free number with more than the request. Its keys therefore hold the smaller of the
free amount and the total request, unless the choice of CPUs or devices decides what a later
container of the pod can get.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final

from numalet.core.admission import counting
from numalet.core.admission.predicates import OS_LABEL
from numalet.core.cluster import one_node_each
from numalet.core.cluster.facts import ClassFacts
from numalet.core.cluster.one_node_each import OneNodeEach
from numalet.core.config.rules import Scope, TopologyPolicy
from numalet.core.managers.cpu import hints as cpu_hints
from numalet.core.managers.cpu import static_policy as cpu_demand
from numalet.core.managers.cpu.static_policy import CpuStaticPolicy
from numalet.core.managers.cpu.take_packed import Reach
from numalet.core.managers.memory import demand as memory_demand
from numalet.core.managers.memory.reasons import NotAnInteger
from numalet.core.model import pod_demand
from numalet.core.model.machine_info import OperatingSystem
from numalet.core.model.node_constraints import UNCONSTRAINED
from numalet.core.model.pod import ContainerKind, Pod
from numalet.core.model.value import Value

_MOST_NUMA_NODES: Final = 12
"""Up to this number of NUMA nodes the merge never stops early."""


class CpuView(Enum):
    """The part of a node's CPUs that a pod distinguishes."""

    NOTHING = "nothing"
    SUM = "sum"
    """The total of free CPUs, up to the request."""
    ENOUGH = "enough"
    """The NUMA nodes with enough free CPUs for the total request."""
    BY_NODE = "by node"
    """The free CPUs of each NUMA node, up to the request."""
    EVERYTHING = "everything"


class DeviceAsked(Value):
    """One resource of the pod; ``count`` is the request if counts are enough.

    Without ``count`` the order of the devices' ids may decide.
    """

    resource: str
    requested: int
    """The request that the predicates compare with the node's sum."""
    count: int | None


class Asking(Value):
    """A shape's request to the nodes of one class.

    ``amounts`` are compared with the node's sums: milli-CPUs for CPU, whole units for the rest.
    ``memory`` is bytes by memory type; None if every number of the node map matters.
    """

    pod: Pod
    amounts: tuple[tuple[str, int], ...]
    devices: tuple[DeviceAsked, ...]
    cpu_view: CpuView
    cpus: int
    counts_whole_cores: bool
    sees_memory: bool
    memory: Mapping[str, int] | None
    one_node_each: OneNodeEach | None
    """Replaces the CPUs and the memory, if this is enough."""
    is_constrained: bool
    """Whether it has constraints on the node's name, labels, ports or operating system."""
    sees_only_the_state: bool
    """Whether it treats nodes with equal numbers alike; see ``StateFacts.state``."""


def of(shape: Pod, node_class: ClassFacts) -> Asking:
    rules = node_class.roster.rules
    # On more NUMA nodes the merge may stop early, and every number influences where it stops.
    pod = counting.counted(shape, rules.release_rules)
    managed = counting.for_managers(pod, rules.release_rules)
    is_large = len(rules.machine.node_ids) > _MOST_NUMA_NODES
    is_exact = is_large or pod.pod_level is not None or rules.machine.os is not _LINUX
    view, cpus, counts_cores = _cpu_view(managed, node_class, is_exact)
    memory = None if is_exact else _memory(managed, node_class)
    is_constrained = _is_constrained(pod)
    has_odd_part = is_exact or view is CpuView.EVERYTHING
    return Asking(
        pod=pod,
        amounts=tuple(sorted(pod_demand.amounts(pod).items())),
        devices=_devices(pod),
        cpu_view=view,
        cpus=cpus,
        counts_whole_cores=counts_cores,
        sees_memory=node_class.counts_memory and memory_demand.is_guaranteed(managed),
        memory=memory,
        one_node_each=None if has_odd_part else one_node_each.of(managed, node_class),
        is_constrained=is_constrained,
        sees_only_the_state=not (is_constrained or pod.is_critical or node_class.roster.extra),
    )


_LINUX: Final = OperatingSystem.LINUX


def _is_constrained(pod: Pod) -> bool:
    said = pod.constraints is not None and pod.constraints != UNCONSTRAINED
    return said or pod.node_name != "" or OS_LABEL in pod.labels


def _cpu_view(pod: Pod, node_class: ClassFacts, is_exact: bool) -> tuple[CpuView, int, bool]:
    """Return the view, the total request, and whether free whole cores also matter."""
    static = node_class.static_cpus
    if static is None:
        return CpuView.NOTHING, 0, False
    asked = [(each, cpu_demand.of_container(pod, each)) for each in pod.containers()]
    counts = [count for _, count in asked if count]
    if pod.pod_level is None and not counts:
        return CpuView.NOTHING, 0, False
    total = sum(counts)
    # Later containers reuse the CPUs of init containers, or take others; and the arithmetic of
    # distribute-cpus-across-numa fails for some divisions.
    reused = any(count and each.kind is ContainerKind.INIT for each, count in asked)
    if is_exact or reused or static.rules.distribute_cpus_across_numa:
        return CpuView.EVERYTHING, total, False
    policy = node_class.roster.rules.topology.policy
    view = CpuView.SUM if policy is TopologyPolicy.NONE else CpuView.BY_NODE
    # One subject on one NUMA node: whether a node has enough is then all that the policy tests.
    if policy is TopologyPolicy.SINGLE_NUMA_NODE and (
        len(counts) == 1 or _is_pod_scope(node_class)
    ):
        view = CpuView.ENOUGH
    if len(counts) == 1:
        return view, total, static.rules.full_pcpus_only
    if not _are_countable(static, node_class):
        return CpuView.EVERYTHING, total, False
    if view is CpuView.SUM or _one_node_each(counts, static, node_class):
        return view, total, False
    return CpuView.EVERYTHING, total, False


def _is_pod_scope(node_class: ClassFacts) -> bool:
    return node_class.roster.rules.topology.scope is Scope.POD


def _are_countable(static: CpuStaticPolicy, node_class: ClassFacts) -> bool:
    """Return whether the choice of CPUs inside a NUMA node is irrelevant."""
    # With full-pcpus-only, the other CPUs of a partly reserved core are part of only one of two
    # sums. With align-by-socket, CPUs may be on other nodes of a socket. A core or cache that
    # spans two NUMA nodes lets the kubelet count its CPUs twice.
    cuts_cores = static.reserved.whole_cores != static.reserved.cpus
    if static.rules.full_pcpus_only and cuts_cores:
        return False
    return node_class.is_nested and not static.rules.align_by_socket


def _one_node_each(counts: list[int], static: CpuStaticPolicy, node_class: ClassFacts) -> bool:
    """Return whether every container gets its exclusive CPUs from one NUMA node."""
    rules = node_class.roster.rules
    if rules.topology.policy is TopologyPolicy.SINGLE_NUMA_NODE:
        return True
    if rules.topology.policy is not TopologyPolicy.RESTRICTED:
        return False
    # Native mode may admit a set that is larger than a resource's own preferred size, so a
    # container can span nodes.
    if rules.behaviour.fewest_nodes_together:
        return False
    sets = cpu_hints.node_sets(static.topology, Reach.NODES)
    subjects = [sum(counts)] if _is_pod_scope(node_class) else counts
    return all(sets.preferred_size(count) == 1 for count in subjects)


def _memory(pod: Pod, node_class: ClassFacts) -> dict[str, int] | None:
    """Return the total request by memory type; None if a size is not an integer."""
    # Memory is taken from the lowest node upwards, so the smaller number is enough for any number
    # of containers.
    sums: dict[str, int] = {}
    for each in pod.containers():
        asked = memory_demand.of_container(each, node_class.roster.rules.behaviour)
        if isinstance(asked, NotAnInteger):
            return None
        for name, size in asked.items():
            sums[name] = sums.get(name, 0) + size
    return sums


def _devices(pod: Pod) -> tuple[DeviceAsked, ...]:
    """Return every resource of the pod; the node determines which of them are devices."""
    requested = pod_demand.amounts(pod)
    containers = tuple(pod.containers())
    names = sorted({*requested, *(name for each in containers for name in each.limits)})
    asked = []
    for name in names:
        # Free devices are counted by their NUMA nodes if only one container requests them; else
        # the order of their ids decides.
        askers = [each for each in containers if name in each.limits]
        count = None
        if len(askers) == 1 and askers[0].kind is not ContainerKind.INIT:
            limit = askers[0].limits[name].value
            # A device's request equals its limit. For an odd pod without that, use every number.
            count = limit if limit == requested.get(name, 0) and pod.pod_level is None else None
        asked.append(DeviceAsked(name, requested.get(name, 0), count))
    return tuple(asked)
