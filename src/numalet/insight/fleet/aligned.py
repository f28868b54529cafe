"""Amounts of a pod that must come from NUMA nodes accepted by the topology policy.

In scope pod these are the sums of the pod. In scope container each container is aligned by itself,
so the largest request of one container for each resource decides.
"""

from __future__ import annotations

from collections.abc import Mapping

from numalet.core.cluster.facts import StateFacts
from numalet.core.config.rules import NodeRules, Scope
from numalet.core.managers.cpu import static_policy as cpu_demand
from numalet.core.managers.memory import demand as memory_demand
from numalet.core.managers.memory.reasons import NotAnInteger
from numalet.core.model import pod_demand
from numalet.core.model.pod import Pod
from numalet.core.model.pod_demand import Overhead


def is_whole(rules: NodeRules) -> bool:
    return rules.topology.scope is Scope.POD


def devices(facts: StateFacts, pod: Pod) -> dict[str, int]:
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


def memory(facts: StateFacts, pod: Pod) -> Mapping[str, int]:
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


def cpus(facts: StateFacts, pod: Pod) -> int:
    """Return whole CPUs; 0 without exclusive CPUs."""
    if facts.node_class.static_cpus is None:
        return 0
    if is_whole(facts.node.rules):
        return cpu_demand.of_pod(pod)
    return max((cpu_demand.of_container(pod, each) for each in pod.containers()), default=0)
