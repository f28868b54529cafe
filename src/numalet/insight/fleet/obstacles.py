"""Obstacles: why a node's kubelet refuses a pod, in terms of free resources.

The kubelet reports ``TopologyAffinityError`` for every pod that it cannot align. Operators need the
amounts: "4 of nvidia.com/gpu free, 2 on each NUMA node".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, TypeAlias

from numalet.core.admission.reasons import (
    AllocationRefused,
    KubeletWouldCrash,
    NotAligned,
    Rejection,
)
from numalet.core.cluster.facts import DeviceFacts, StateFacts
from numalet.core.config.rules import NodeRules, Scope, TopologyPolicy
from numalet.core.managers.cpu import static_policy as cpu_demand
from numalet.core.managers.memory import demand as memory_demand
from numalet.core.managers.memory.reasons import NotAnInteger
from numalet.core.model import numa_mask, pod_demand, resources
from numalet.core.model.pod import Pod
from numalet.core.model.pod_demand import Overhead
from numalet.insight.fleet.kube_scheduler import Worded, WordedAmount
from numalet.wording import explanations, numbers


def is_whole(rules: NodeRules) -> bool:
    return rules.topology.scope is Scope.POD


def aligned_devices(facts: StateFacts, pod: Pod) -> dict[str, int]:
    if is_whole(facts.node.rules):
        limits = pod_demand.effective_limits(pod, Overhead.EXCLUDED)
        every = {name: limit.value for name, limit in limits.items()}
    else:
        every = {}
        for container in pod.containers():
            for name, limit in container.limits.items():
                # Each container is aligned by itself, so the largest one decides.
                every[name] = max(every.get(name, 0), limit.value)
    return {name: every[name] for name in sorted(every) if name in facts.devices and every[name]}


def aligned_memory(facts: StateFacts, pod: Pod) -> Mapping[str, int]:
    """Return bytes by memory type; empty if the Memory Manager ignores the pod."""
    rules = facts.node.rules
    if not facts.node_class.counts_memory or not memory_demand.is_guaranteed(pod):
        return {}
    if is_whole(rules):
        asked = memory_demand.of_pod(pod, rules.behaviour)
        return {} if isinstance(asked, NotAnInteger) else asked
    most: dict[str, int] = {}
    for container in pod.containers():
        of_one = memory_demand.of_container(container, rules.behaviour)
        if not isinstance(of_one, NotAnInteger):
            for name, size in of_one.items():
                most[name] = max(most.get(name, 0), size)
    return most


def aligned_cpus(facts: StateFacts, pod: Pod) -> int:
    """Return whole CPUs; 0 without exclusive CPUs."""
    if facts.node_class.static_cpus is None:
        return 0
    if is_whole(facts.node.rules):
        return cpu_demand.of_pod(pod)
    return max((cpu_demand.of_container(pod, each) for each in pod.containers()), default=0)


class DevicesApart(Worded):
    """Enough devices are free, but too few of them together."""

    code: ClassVar[str] = "fleet/devices-apart"
    sentence: ClassVar[str] = "{free} of {resource} free, {by_numa_node} over the NUMA nodes"
    resource: str
    free: int
    by_numa_node: tuple[int, ...]

    @property
    def text(self) -> str:
        return f"{self.free} of {self.resource} free{_spread(self.by_numa_node)}"


class NeverTogether(WordedAmount):
    """No accepted set of NUMA nodes is large enough, even if empty."""

    code: ClassVar[str] = "fleet/never-together"
    sentence: ClassVar[str] = (
        "{asked} of {resource} never fit: no NUMA node has more than {most}, and the policy is "
        "{policy}"
    )
    of_cpus: ClassVar[str] = (
        "{asked} CPUs never fit: no NUMA node has more than {most}, and the policy is {policy}"
    )
    resource: str
    asked: int
    most: int
    policy: str

    def _amounts(self) -> dict[str, Any]:
        return WordedAmount._amounts(self) | {"most": numbers.amount(self.resource, self.most)}


class MemoryInGroup(Worded):
    """NUMA nodes in a memory group, so that single ones give no memory."""

    code: ClassVar[str] = "fleet/memory-in-group"
    sentence: ClassVar[str] = "memory group {groups}"
    groups: tuple[str, ...]

    @property
    def text(self) -> str:
        return self.sentence.format(groups=" and ".join(self.groups))


class TooLittleTogether(WordedAmount):
    """Enough is free in sum, but not on one NUMA node."""

    code: ClassVar[str] = "fleet/too-little-together"
    sentence: ClassVar[str] = "no NUMA node with {asked} of {resource} free"
    of_cpus: ClassVar[str] = "no NUMA node with {asked} CPUs free"
    resource: str
    asked: int


class NotOnOne(Worded):
    """Each resource fits on some set of NUMA nodes, but not all on one that the policy accepts.

    Under restricted this may happen on an empty node, if one resource needs more NUMA nodes than
    another.
    """

    code: ClassVar[str] = "fleet/not-on-one"
    sentence: ClassVar[str] = "no set of NUMA nodes that {policy} accepts for {resources} together"
    resources: tuple[str, ...]
    policy: str

    @property
    def text(self) -> str:
        together = " and ".join(self.resources)
        if self.policy == TopologyPolicy.SINGLE_NUMA_NODE.value:
            return f"no NUMA node with {together} together"
        return self.sentence.format(resources=together, policy=self.policy)


class RefusedOtherwise(Worded):
    """The kubelet refuses for another kind of reason; ``reason`` is its code."""

    code: ClassVar[str] = "fleet/refused-otherwise"
    sentence: ClassVar[str] = "{words}"
    reason: str
    words: str


Obstacle: TypeAlias = (
    DevicesApart | NeverTogether | MemoryInGroup | TooLittleTogether | NotOnOne | RefusedOtherwise
)


def _spread(by_numa_node: Sequence[int]) -> str:
    if len(by_numa_node) < 2 or not any(by_numa_node):
        return ""
    if len(set(by_numa_node)) == 1:
        return f", {by_numa_node[0]} on each NUMA node"
    listed = " + ".join(str(each) for each in by_numa_node)
    return f", {listed} over the NUMA nodes"


def of(facts: StateFacts, pod: Pod, rejection: Rejection) -> Obstacle:
    rules = facts.node.rules
    # A crash has nothing to do with free amounts.
    if not isinstance(rejection, KubeletWouldCrash):
        candidate = next(_too_little(facts, pod, rules), None)
        if candidate is not None:
            return candidate
    asked = _named(facts, pod)
    if isinstance(rejection, NotAligned) and len(asked) > 1:
        return NotOnOne(asked, rules.topology.policy.value)
    return RefusedOtherwise(_code(rejection), explanations.of_reason(rejection))


def _code(rejection: Rejection) -> str:
    if isinstance(rejection, AllocationRefused | KubeletWouldCrash):
        return rejection.cause.code
    return rejection.code


def _too_little(facts: StateFacts, pod: Pod, rules: NodeRules) -> Iterator[Obstacle]:
    policy = rules.topology.policy
    # The scarcest resource first: it is the one that operators can act on.
    for name, asked in aligned_devices(facts, pod).items():
        yield from _of_devices(facts.devices[name], name, asked, rules)
    # Under best-effort and none, memory and CPUs may come from any NUMA nodes.
    is_aligned = policy in (TopologyPolicy.SINGLE_NUMA_NODE, TopologyPolicy.RESTRICTED)
    if not is_aligned:
        return
    for name, asked in aligned_memory(facts, pod).items():
        yield from _of_memory(facts, name, asked, policy)
    static = facts.node_class.static_cpus
    cpus = aligned_cpus(facts, pod)
    if cpus and static is not None:
        every = [part.cpus.bit_count() for part in static.topology.nodes]
        if policy is TopologyPolicy.SINGLE_NUMA_NODE and cpus > max(every, default=0):
            yield NeverTogether(
                resources.CPU, 1000 * cpus, 1000 * max(every, default=0), policy.value
            )
        if _most(facts.free_cpus, _width(every, cpus, policy)) < cpus:
            yield TooLittleTogether(resources.CPU, 1000 * cpus)


def _width(every: Sequence[int], asked: int, policy: TopologyPolicy) -> int:
    """Return how many NUMA nodes the policy accepts: the fewest of an empty machine."""
    if policy is TopologyPolicy.SINGLE_NUMA_NODE:
        return 1
    # The policy restricted accepts the smallest number of nodes that an empty machine would need,
    # as the providers prefer that number.
    fitting = (n for n in range(1, len(every) + 1) if _most(every, n) >= asked)
    return next(fitting, len(every))


def _most(by_numa_node: Sequence[int], width: int) -> int:
    return sum(sorted(by_numa_node, reverse=True)[:width])


def _of_devices(
    devices: DeviceFacts, resource: str, asked: int, rules: NodeRules
) -> Iterator[Obstacle]:
    policy, node_ids = rules.topology.policy, rules.machine.node_ids
    masks = devices.devices.masks
    every = [sum(1 for mask in masks if mask >> node & 1) for node in node_ids]
    free = [
        sum(count for mask, count in devices.free_by_mask().items() if mask >> node & 1)
        for node in node_ids
    ]
    in_all, has_nodes = devices.free.bit_count(), any(masks)
    is_single = policy is TopologyPolicy.SINGLE_NUMA_NODE and has_nodes
    if is_single and asked > max(every, default=0):
        yield NeverTogether(resource, asked, max(every, default=0), policy.value)
    width = _width(every, asked, policy)
    is_aligned = has_nodes and policy in (
        TopologyPolicy.SINGLE_NUMA_NODE,
        TopologyPolicy.RESTRICTED,
    )
    if in_all < asked or (is_aligned and _most(free, width) < asked):
        # NUMA nodes without such devices would only add zeros to the sentence.
        shown = tuple(count for count, there in zip(free, every, strict=True) if there)
        yield DevicesApart(resource, in_all, shown)


def _of_memory(
    facts: StateFacts, resource: str, asked: int, policy: TopologyPolicy
) -> Iterator[Obstacle]:
    tables = {node_id: node for node_id, node in facts.memory.items() if resource in node.tables}
    every = [node.tables[resource].allocatable for node in tables.values()]
    most = max(every, default=0)
    if policy is TopologyPolicy.SINGLE_NUMA_NODE and asked > most:
        yield NeverTogether(resource, asked, most, policy.value)
    width = _width(every, asked, policy)
    alone = [
        node.tables[resource].free
        for node in tables.values()
        # Memory of one NUMA node comes from nodes outside groups; a group is made of unused nodes
        # only.
        if (node.group.bit_count() < 2 if width == 1 else not node.assignments)
    ]
    if _most(alone, width) >= asked:
        return
    groups = {node.group for node in tables.values() if node.group.bit_count() > 1}
    if groups and width == 1:
        yield MemoryInGroup(tuple(map(numa_mask.text, sorted(groups))))
    elif width == 1:
        yield TooLittleTogether(resource, asked)


def _named(facts: StateFacts, pod: Pod) -> tuple[str, ...]:
    names = []
    if cpus := aligned_cpus(facts, pod):
        names.append(f"{cpus} CPUs")
    memory = aligned_memory(facts, pod).items()
    names += [f"{numbers.amount(name, size)} of {name}" for name, size in memory if size]
    devices = aligned_devices(facts, pod).items()
    names += [f"{count} of {name}" for name, count in devices]
    return tuple(names)
