"""What a pod asks of the nodes of one class, and how much of their state it can distinguish.

A pod that asks for 4 CPUs can not distinguish a NUMA node with 10 free CPUs from one with 60: it
compares no number that is larger than what it asks for. So its keys hold the smaller of what is
free and what is asked for in all. That holds only where nothing but these numbers decides. Where
*which* CPUs are taken decides what a later container of the pod can get, all free CPUs are in the
key:

- init containers with CPUs of their own: later ones take these again, or others;
- several containers with CPUs of their own, unless each gets them from one NUMA node. That is so
  under single-numa-node, and under restricted where one NUMA node has as many;
- distribute-cpus-across-numa, whose arithmetic fails on some divisions;
- align-by-socket with several such containers, as CPUs come from the other nodes of a socket;
- full-pcpus-only with several, where a part of a core is reserved, since its neighbours count for
  one of two sums alone;
- machines on which a core or cache lies in two NUMA nodes: what is taken there counts twice.

Under single-numa-node what is aligned as one gets all of its CPUs from one NUMA node or none, so
that a pod which is all aligned as one distinguishes no more than which NUMA nodes have enough.

Memory is taken from the lowest node upwards, as much as each has, so that the smaller number is
enough however many containers there are. Of devices the free ones are counted by the NUMA nodes
that they are attached to, if one container alone asks for them; else the order of their ids counts.

Where every container gets all from one NUMA node, still less is enough: see ``one_node_each``.

On more than 12 NUMA nodes the merge may stop early, and where it stops hangs on every number.
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
from numalet.core.managers.cpu import demand as cpu_demand
from numalet.core.managers.cpu import hints as cpu_hints
from numalet.core.managers.cpu.static_policy import CpuStaticPolicy
from numalet.core.managers.cpu.take_aligned import Reach
from numalet.core.managers.memory import demand as memory_demand
from numalet.core.managers.memory.reasons import NotAnInteger
from numalet.core.model import pod_demand
from numalet.core.model.machine_info import OperatingSystem
from numalet.core.model.node_constraints import UNCONSTRAINED
from numalet.core.model.pod import ContainerKind, Pod
from numalet.core.model.value import Value

_MOST_NUMA_NODES: Final = 12
"""Up to so many the merge is never stopped early."""


class CpuView(Enum):
    """What of the CPUs a pod can distinguish."""

    NOTHING = "nothing"
    SUM = "sum"
    """How many are free in all, up to what it asks for."""
    ENOUGH = "enough"
    """On which NUMA nodes as many are free as it asks for in all."""
    BY_NODE = "by node"
    """How many are free on each NUMA node, up to what it asks for."""
    EVERYTHING = "everything"


class DeviceAsked(Value):
    """One resource that the pod names; ``count`` is what it asks for where counts are enough.

    ``count`` is None where the order of the devices' ids may decide.
    """

    resource: str
    requested: int
    """What the node's sum is compared with."""
    count: int | None


class Asking(Value):
    """What a shape asks of the nodes of one class.

    ``amounts`` are compared with the node's sums, CPU in thousandths, everything else in units;
    ``memory`` is bytes by memory type, None where every number of the node map counts.
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
    """Set where this is enough in place of the CPUs and the memory."""
    is_constrained: bool
    """Whether it says anything about names, labels, ports or the system of its node."""
    sees_only_the_state: bool
    """Whether nodes with every number in common are the same to it; see ``StateFacts.state``."""


def of(shape: Pod, node_class: ClassFacts) -> Asking:
    """What this shape asks of nodes of this class."""
    rules = node_class.roster.rules
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
    """The view, what is asked for in all, and whether free whole cores count beside it."""
    static = node_class.static_cpus
    if static is None:
        return CpuView.NOTHING, 0, False
    asked = [(each, cpu_demand.of_container(pod, each)) for each in pod.containers()]
    counts = [count for _, count in asked if count]
    if pod.pod_level is None and not counts:
        return CpuView.NOTHING, 0, False
    total = sum(counts)
    reused = any(count and each.kind is ContainerKind.INIT for each, count in asked)
    if is_exact or reused or static.rules.distribute_cpus_across_numa:
        return CpuView.EVERYTHING, total, False
    policy = node_class.roster.rules.topology.policy
    view = CpuView.SUM if policy is TopologyPolicy.NONE else CpuView.BY_NODE
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
    """Whether it does not matter which CPUs of a NUMA node each of several containers takes."""
    cuts_cores = static.reserved.whole_cores != static.reserved.cpus
    if static.rules.full_pcpus_only and cuts_cores:
        return False
    return node_class.is_nested and not static.rules.align_by_socket


def _one_node_each(counts: list[int], static: CpuStaticPolicy, node_class: ClassFacts) -> bool:
    """Whether every container that gets CPUs of its own gets them from one NUMA node."""
    rules = node_class.roster.rules
    if rules.topology.policy is TopologyPolicy.SINGLE_NUMA_NODE:
        return True
    if rules.topology.policy is not TopologyPolicy.RESTRICTED:
        return False
    if rules.behaviour.fewest_nodes_together:
        return False
    sets = cpu_hints.node_sets(static.topology, Reach.NODES)
    subjects = [sum(counts)] if _is_pod_scope(node_class) else counts
    return all(sets.preferred_size(count) == 1 for count in subjects)


def _memory(pod: Pod, node_class: ClassFacts) -> dict[str, int] | None:
    """What all containers ask for, by memory type; None where one asks in an odd way."""
    sums: dict[str, int] = {}
    for each in pod.containers():
        asked = memory_demand.of_container(each, node_class.roster.rules.behaviour)
        if isinstance(asked, NotAnInteger):
            return None
        for name, size in asked.items():
            sums[name] = sums.get(name, 0) + size
    return sums


def _devices(pod: Pod) -> tuple[DeviceAsked, ...]:
    """Every resource that the pod names; which of these are devices says the node."""
    requested = pod_demand.amounts(pod)
    containers = tuple(pod.containers())
    names = sorted({*requested, *(name for each in containers for name in each.limits)})
    asked = []
    for name in names:
        askers = [each for each in containers if name in each.limits]
        count = None
        if len(askers) == 1 and askers[0].kind is not ContainerKind.INIT:
            limit = askers[0].limits[name].value
            # Devices can not be asked for otherwise; who does is decided by every number.
            count = limit if limit == requested.get(name, 0) and pod.pod_level is None else None
        asked.append(DeviceAsked(name, requested.get(name, 0), count))
    return tuple(asked)
