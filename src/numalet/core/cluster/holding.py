"""The amounts that a node's managers allocate to a pod, without the concrete resources.

``expected`` is a node after the arrival of all pods that were sent to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from numalet.core.admission import counting, scopes
from numalet.core.cluster.arrivals import Arrivals
from numalet.core.cluster.cluster import ClusterNode, Origin
from numalet.core.config.rules import MemoryPolicy
from numalet.core.managers.cpu import static_policy as cpu_demand
from numalet.core.managers.memory import demand as memory_demand
from numalet.core.managers.memory.reasons import NotAnInteger
from numalet.core.model.pod import Container, Pod
from numalet.core.model.value import replace
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


# A published state has the kubelet's decisions so far. A pod that was bound since then is on its
# way: it is part of the sums but has no allocation. ``expected`` admits it in advance, and then the
# pods that are expected but not yet bound.

_RUNNING: Final = "Running"


def expected(
    on: ClusterNode, promised: Iterable[Pod] = (), arrivals: Arrivals | None = None
) -> ClusterNode:
    """Return the node with the pods on their way, and then the ``promised`` ones, in order.

    Without such pods it is the same object. A promised pod that is already bound counts once.
    ``arrivals`` are those of this node, for callers that ask again after each change.
    """
    node, known = decided(on), on.node.snapshot.pods
    # A bound pod is known to the API server already.
    coming = [*on_the_way(on), *[pod for pod in promised if pod.uid not in known]]
    arrivals = arrivals or Arrivals()
    for pod in coming:
        node = arrivals.after(node, pod)
    return on if node.snapshot is on.node.snapshot else replace(on, node=node)


def decided(on: ClusterNode) -> Node:
    """Return the node without the pods on their way."""
    node = on.node.without_plugins()
    # All are removed before the first is admitted: as active pods they would count against each
    # other in the sums of the predicates.
    for pod in on_the_way(on):
        node = node.remove(pod.uid)
    return node


def on_the_way(on: ClusterNode) -> tuple[Pod, ...]:
    """Return pods that are bound to a node but missing from its published state.

    They may include a running pod, if its status is newer than the state. In a rebuilt state all
    pods are already admitted.
    """
    if on.origin is not Origin.PUBLISHED:
        return ()
    node = on.node
    # A state does not list pods without allocations. A pod that was admitted while its device
    # plugin was stopped therefore seems to be on its way once the plugin returns: its devices
    # stay reserved.
    return tuple([pod for pod in node.snapshot.pods.values() if not _is_decided(node, pod)])


def awaited(on: ClusterNode) -> tuple[Pod, ...]:
    """Return pods on their way that will appear in the node's state after their admission."""
    return tuple([pod for pod in on_the_way(on) if may_hold(on.node, pod)])


def with_departed(on: ClusterNode, departed: Iterable[Pod]) -> tuple[ClusterNode, list[Pod]]:
    """Return the node with the allocations of pods that ended after its publication.

    The second value has those of them that the published state does not have.
    """
    node, undecided = on.node, []
    for pod in departed:
        if _has_record(node, pod.uid):
            # A record counts while its container is active; a state lacks the containers' names.
            snapshot = node.snapshot
            records = (snapshot.cpu.exclusive, snapshot.memory.blocks, snapshot.device.records)
            names = dict.fromkeys(name for each in records for name in each.get(pod.uid, ()))
            kept = Pod(uid=pod.uid, name=pod.name, app_containers=tuple(map(Container, names)))
            node = node.keep_active(kept)
        elif may_hold(node, pod):
            undecided.append(pod)
    return replace(on, node=node), undecided


def _is_decided(node: Node, pod: Pod) -> bool:
    return _has_record(node, pod.uid) or (pod.phase == _RUNNING and not may_hold(node, pod))


def _has_record(node: Node, uid: str) -> bool:
    snapshot = node.snapshot
    return (
        uid in snapshot.cpu.exclusive
        or uid in snapshot.cpu.pods
        or uid in snapshot.memory.blocks
        or uid in snapshot.memory.pods
        or uid in snapshot.device.records
        or uid in snapshot.affinities
    )
