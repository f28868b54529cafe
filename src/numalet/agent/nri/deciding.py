"""The decision on one pod: what the engine is given, and in which order it is tried.

A pod that is *confined* to one NUMA node is decided with the policy ``single-numa-node`` in pod
scope. Of its containers without exclusive CPUs, the engine sees the CPU request as a request of
shared CPUs, and the memory limit (without one, the request) as memory that it allocates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from numalet.agent.nri.choices import Mode
from numalet.agent.nri.pod_annotations import NO_CHOICE, Cpus, Placement, PodChoice
from numalet.core.admission import roster
from numalet.core.admission.reasons import Rejection
from numalet.core.config.rules import Scope, TopologyPolicy
from numalet.core.managers.cpu import static_policy
from numalet.core.managers.cpu.confinement import SHARED_CPU, Spread
from numalet.core.managers.memory.ledger import MemoryLedger, NodeMemory
from numalet.core.model import numa_mask, pod_demand, resources
from numalet.core.model.machine_queries import NodeClass, classes_by_node
from numalet.core.model.pod import Container, ContainerKey, Pod, QosClass, Resources
from numalet.core.model.quantity import ZERO, Quantity
from numalet.core.model.value import Value, replace
from numalet.core.node.node import Node
from numalet.core.snapshot import placement
from numalet.core.snapshot.snapshot import Snapshot


class PoolWouldBeEmpty(Value):
    """The pod would take the last CPU of the shared pool, which other containers need."""

    message: str = "the shared pool would be empty: every container without exclusive CPUs needs it"


class NoSingleNode(Value):
    """No NUMA node has room for a confined pod."""

    message: str = (
        "no single NUMA node has enough CPUs and memory for the pod next to its devices, and the "
        "annotation numalet.dev/placement is one-numa-node"
    )


class NoMemoryOfClass(Value):
    """The machine has no free NUMA node of the classes that the pod chose."""

    message: str = "no NUMA node of the classes in the annotation numalet.dev/memory-nodes is free"


OwnRefusal = PoolWouldBeEmpty | NoSingleNode | NoMemoryOfClass
Refusal = Rejection | OwnRefusal


class Terms(Value):
    """What holds for all pods: the mode, and the classes of NUMA nodes whose memory a pod gets.

    ``memory_nodes`` None: the engine's own, which then no pod can change.
    """

    mode: Mode = Mode.ENFORCE
    memory_nodes: frozenset[NodeClass] | None = None


ENFORCED: Final = Terms()


class _Attempt(Value):
    pod: Pod
    policy: TopologyPolicy | None = None
    scope: Scope | None = None
    spread: Spread = Spread.ANY
    is_confined: bool = False


def admitted(
    node: Node, pod: Pod, terms: Terms, choice: PodChoice = NO_CHOICE, seen: Pod | None = None
) -> tuple[Node, Refusal | None]:
    """Return the node with the pod, or the same node and why it has no room.

    ``seen`` is the pod as the engine should see it, if that differs.
    """
    if pod.uid in node.snapshot.pods:
        return node, None
    if node.snapshot.sources_ready:
        node = node.release_stale()
    given = _view(node, pod, choice.memory_nodes or terms.memory_nodes)
    if node.snapshot.memory.nodes and not given.snapshot.memory.nodes:
        return node, NoMemoryOfClass()
    refusal: Refusal | None = None
    for attempt in _attempts(node, seen or pod, terms, choice):
        staff = roster.choosing(given.roster, attempt.policy, attempt.scope)
        if attempt.spread is not Spread.ANY:
            staff = roster.confining(staff, attempt.spread)
        after, decision = replace(given, roster=staff).admit(attempt.pod)
        if decision.rejection is not None:
            refusal = NoSingleNode() if attempt.is_confined else decision.rejection
        elif node.snapshot.cpu.default and not after.snapshot.cpu.default:
            refusal = PoolWouldBeEmpty()
        else:
            after = node.at(_with_other_nodes(after.snapshot, node.snapshot))
            return (after if attempt.pod is pod else after.keep_active(pod)), None
    return node, refusal


def _attempts(node: Node, pod: Pod, terms: Terms, choice: PodChoice) -> Iterator[_Attempt]:
    shares_only = terms.mode is Mode.SHARED_ONLY and not any(
        node.snapshot.cpu.cpus_of(*key) for key in pod.keys
    )
    if shares_only:
        pod = replace(pod, qos_class=QosClass.BURSTABLE)
    elif choice.cpus is Cpus.EXCLUSIVE and pod.qos_class is not QosClass.GUARANTEED:
        pod = _as_guaranteed(pod, lambda each: _sized(each.requests, each.limits))
    is_asked = choice.placement is Placement.ONE_NUMA_NODE
    if is_asked or (shares_only and _is_limited(pod, node)):
        confined = _as_guaranteed(pod, lambda each: _confined(pod, each))
        for spread in (Spread.ROOMIEST, Spread.ANY):
            single = (TopologyPolicy.SINGLE_NUMA_NODE, Scope.POD)
            yield _Attempt(confined, *single, spread, is_confined=True)
    if shares_only and not is_asked:
        # It has no exclusive resources, so only its devices could be a reason to refuse it.
        yield _Attempt(pod, TopologyPolicy.NONE)
    elif not is_asked:
        yield _Attempt(pod, choice.policy, choice.scope)


def _is_limited(pod: Pod, node: Node) -> bool:
    """Return whether the limits of all containers together fit on a NUMA node without pods."""
    if not all(
        each.limits.get(name, ZERO).sign > 0
        for each in pod.containers()
        for name in (resources.CPU, resources.MEMORY)
    ):
        return False
    most = max(sum(len(core.threads) for core in each.cores) for each in node.rules.machine.nodes)
    return pod_demand.effective_limits(pod)[resources.CPU].milli_value <= most * 1000


def _as_guaranteed(pod: Pod, requests: Callable[[Container], Resources]) -> Pod:
    def changed(each: Container) -> Container:
        return replace(each, requests=requests(each))

    return replace(
        pod,
        qos_class=QosClass.GUARANTEED,
        init_containers=tuple(map(changed, pod.init_containers)),
        app_containers=tuple(map(changed, pod.app_containers)),
        pod_level=None,
    )


def _sized(requests: Resources, sizes: Resources) -> dict[str, Quantity]:
    """Return the requests with memory of these sizes, which a container cannot outgrow."""
    others = {name: each for name, each in requests.items() if not resources.is_memory_type(name)}
    return others | {name: each for name, each in sizes.items() if resources.is_memory_type(name)}


def _confined(pod: Pod, container: Container) -> dict[str, Quantity]:
    requests = _sized(container.requests, {**container.requests, **container.limits})
    if not static_policy.of_container(pod, container):
        requests[SHARED_CPU] = requests.pop(resources.CPU, ZERO)
    return requests


def holds(snapshot: Snapshot, key: ContainerKey) -> bool:
    place = placement.of_container(snapshot, *key)
    return bool(place.cpus or place.memory)


# The memory of other classes of NUMA nodes is hidden from the engine for the decision on one pod.


def _view(node: Node, pod: Pod, classes: frozenset[NodeClass] | None) -> Node:
    ledger = node.snapshot.memory
    if classes is None or ledger.blocks.get(pod.uid):
        return node
    of_node = classes_by_node(node.rules.machine)
    shown = numa_mask.of(each for each in ledger.nodes if of_node[each] in classes)
    nodes = {
        node_id: each
        for node_id, each in ledger.nodes.items()
        # A node of a group is only usable as a part of it.
        if numa_mask.contains(shown, each.group)
    }
    return node if len(nodes) == len(ledger.nodes) else node.at(_with_nodes(node.snapshot, nodes))


def _with_other_nodes(after: Snapshot, before: Snapshot) -> Snapshot:
    if after.memory.nodes.keys() == before.memory.nodes.keys():
        return after
    nodes = {**before.memory.nodes, **after.memory.nodes}
    return _with_nodes(after, dict(sorted(nodes.items())))


def _with_nodes(snapshot: Snapshot, nodes: Mapping[int, NodeMemory]) -> Snapshot:
    of = snapshot.memory
    return replace(snapshot, memory=MemoryLedger(nodes, of.blocks, of.reusable, of.pods))
