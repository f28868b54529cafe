"""The amounts that a node's managers allocate to a pod, without the concrete resources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from numalet.core.admission import counting, scopes
from numalet.core.config.rules import MemoryPolicy
from numalet.core.managers.cpu import static_policy as cpu_demand
from numalet.core.managers.memory import demand as memory_demand
from numalet.core.managers.memory.reasons import NotAnInteger
from numalet.core.model.pod import Container, Pod
from numalet.core.node.node import Node

CPUS = "CPUs"


def may_hold(node: Node, given: Pod) -> bool:
    """Return whether the admitted pod would have an entry in the node's state."""
    rules = node.rules.release_rules
    pod = counting.counted(given, rules)
    if not counting.is_placed_whole(pod, rules):
        return any(asked for _, asked in of_containers(node, pod))
    if scopes.is_placed_at_once(node.rules, pod):
        # If its devices are allocated later, the state has their affinity until then.
        return scopes.devices_wait(node.roster, pod) or _is_given_as_one(node, pod)
    # Only pod scope places it as a whole; in container scope only exclusive requests count.
    seen = counting.for_managers(pod, rules)
    return any(_of_container(node, seen, container) for container in seen.containers())


def _is_given_as_one(node: Node, pod: Pod) -> bool:
    has_memory = node.rules.memory.policy is not MemoryPolicy.NONE
    return (
        (node.roster.static_cpus is not None and cpu_demand.of_pod_level(pod) > 0)
        or (has_memory and memory_demand.is_guaranteed(pod))
        or any(_devices(node, container) for container in pod.containers())
    )


def of_containers(node: Node, given: Pod) -> Iterator[tuple[Container, Mapping[str, int]]]:
    """Yield each container's allocation: CPUs, bytes of memory types, devices by resource.

    Yields nothing for pods that are placed as a whole.
    """
    if given.pod_level is None and not _is_of_interest(node, given):
        return
    rules = node.rules.release_rules
    counted = counting.counted(given, rules)
    if counting.is_placed_whole(counted, rules):
        return
    pod = counting.for_managers(counted, rules)
    for container in pod.containers():
        yield container, _of_container(node, pod, container)


def _is_of_interest(node: Node, pod: Pod) -> bool:
    """Return whether the managers handle the pod at all; for most pods they do not."""
    if memory_demand.is_guaranteed(pod):
        return True
    handled = node.snapshot.device.handled
    return any(not handled.isdisjoint(each.requests) for each in pod.containers())


def _of_container(node: Node, pod: Pod, container: Container) -> Mapping[str, int]:
    asked: dict[str, int] = {}
    if node.roster.static_cpus is not None and (cpus := cpu_demand.of_container(pod, container)):
        asked[CPUS] = cpus
    if node.rules.memory.policy is not MemoryPolicy.NONE and memory_demand.is_guaranteed(pod):
        wanted = memory_demand.of_container(container, node.rules.behaviour)
        if not isinstance(wanted, NotAnInteger):
            asked |= {name: size for name, size in wanted.items() if size}
    return asked | _devices(node, container)


def _devices(node: Node, container: Container) -> dict[str, int]:
    names = sorted(node.snapshot.device.handled & container.requests.keys())
    asked = {name: container.requests[name] for name in names}
    return {name: count.value for name, count in asked.items() if count.sign > 0}
