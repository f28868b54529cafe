"""Changes: single differences in the input, and the decision that each would lead to.

``outcome`` repeats the decisions on the pod and on the other pods that the change may affect.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, TypeAlias, assert_never

from numalet.core.admission.decision import Decision
from numalet.core.admission.roster import Roster
from numalet.core.config.rules import StartRefused, TopologyPolicy
from numalet.core.model import numa_mask
from numalet.core.model.numa_mask import NumaMask
from numalet.core.model.pod import Container, Pod
from numalet.core.model.pod_demand import qos_class
from numalet.core.model.quantity import Quantity
from numalet.core.model.value import Value, replace
from numalet.core.node import largest_request
from numalet.core.node import node as nodes
from numalet.core.node.node import Node
from numalet.insight.explain import cases as cases
from numalet.insight.explain import measures
from numalet.insight.explain.cases import Case, OtherNode


class OtherTopology(Value):
    """A topology policy or scope that the node starts with."""

    code: ClassVar[str] = "explain/other-topology"
    sentence: ClassVar[str] = "topology policy {policy}, scope {scope}"
    policy: str
    scope: str


class NoTopology(Value):
    """The topology policy none: no alignment, and scopes have no effect."""

    code: ClassVar[str] = "explain/no-topology"
    sentence: ClassVar[str] = "topology policy none, which aligns nothing"


class SmallerRequest(Value):
    """A smaller request of one container; ``one_more`` is one unit more, and refused."""

    code: ClassVar[str] = "explain/smaller-request"
    sentence: ClassVar[str] = (
        "{container} asks for {amount} of {resource} instead of {asked} (one unit more is too much)"
    )
    container: str
    resource: str
    asked: Quantity
    amount: Quantity
    one_more: Quantity


class AdjustedRequest(Value):
    """A request rounded up to whole units, because its amount or form is refused."""

    code: ClassVar[str] = "explain/adjusted-request"
    sentence: ClassVar[str] = (
        "{container} asks for {amount} of {resource}, in whole units, instead of {asked}"
    )
    container: str
    resource: str
    asked: Quantity
    amount: Quantity


class WithoutContainer(Value):
    code: ClassVar[str] = "explain/without-container"
    sentence: ClassVar[str] = "the pod does without the container {container}"
    container: str


class WithoutPods(Value):
    code: ClassVar[str] = "explain/without-pods"
    sentence: ClassVar[str] = "delete {pods} first"
    uids: tuple[str, ...]
    pods: str


class Earlier(Value):
    """The pod comes before ``other``, at this position in the queue, counted from 0."""

    code: ClassVar[str] = "explain/earlier"
    sentence: ClassVar[str] = "the pod asks before {other}"
    position: int
    other: str


class Reordered(Value):
    """The whole queue, with the pod, in another order; ``order`` is its name."""

    code: ClassVar[str] = "explain/reordered"
    sentence: ClassVar[str] = "the whole queue asks in another order: {order}"
    uids: tuple[str, ...]
    order: str


class OtherMachine(Value):
    """The pod on another, empty machine with the same configuration."""

    code: ClassVar[str] = "explain/other-machine"
    sentence: ClassVar[str] = "the pod runs alone on the machine {machine}"
    position: int
    machine: str


Change: TypeAlias = (
    NoTopology
    | OtherTopology
    | SmallerRequest
    | AdjustedRequest
    | WithoutContainer
    | WithoutPods
    | Earlier
    | Reordered
    | OtherMachine
)


class ChangeOutcome(Value):
    """The decision after a change, or a kubelet that does not start.

    ``span`` are the NUMA nodes of the pod's allocation. ``lost`` are uids of other pods that are
    rejected only with the change.
    """

    decision: Decision | StartRefused
    span: NumaMask = numa_mask.EMPTY
    lost: tuple[str, ...] = ()

    @property
    def admitted(self) -> bool:
        return isinstance(self.decision, Decision) and self.decision.admitted


def outcome(case: Case, change: Change) -> ChangeOutcome:
    match change:
        case NoTopology():
            config = replace(case.config, topology_manager_policy=TopologyPolicy.NONE.value)
            return _from_beginning(case, case.begun_with(config), (*case.queue, case.pod))
        case OtherTopology(policy, scope):
            config = replace(
                case.config, topology_manager_policy=policy, topology_manager_scope=scope
            )
            return _from_beginning(case, case.begun_with(config), (*case.queue, case.pod))
        case SmallerRequest() | AdjustedRequest() | WithoutContainer():
            return _decided(case.node, changed_pod(case.pod, change))
        case WithoutPods(uids):
            node = case.node
            for uid in uids:
                node = node.remove(uid)
            return _decided(node, case.pod)
        case Earlier(position):
            return _earlier(case, position)
        case Reordered(uids):
            pods = {pod.uid: pod for pod in (*case.queue, case.pod)}
            order = [pods[uid] for uid in uids]
            return _from_beginning(case, case.beginning.node, order)
        case OtherMachine(position):
            return _elsewhere(case, case.fleet[position])
        case _:
            assert_never(change)


def _decided(node: Node, pod: Pod) -> ChangeOutcome:
    return _of_decision(node.roster, node.admit(pod)[1])


def _of_decision(roster: Roster, decision: Decision, lost: Iterable[str] = ()) -> ChangeOutcome:
    if not decision.admitted:
        return ChangeOutcome(decision)
    return ChangeOutcome(
        decision, measures.span_of(roster, decision.after, decision.pod), tuple(lost)
    )


def changed_pod(pod: Pod, change: SmallerRequest | AdjustedRequest | WithoutContainer) -> Pod:
    match change:
        case SmallerRequest() | AdjustedRequest():
            return largest_request.asking(pod, change.container, change.resource, change.amount)
        case WithoutContainer(container):
            return _without(pod, container)
        case _:
            assert_never(change)


def _without(pod: Pod, name: str) -> Pod:
    def others(containers: Iterable[Container]) -> tuple[Container, ...]:
        return tuple(each for each in containers if each.name != name)

    init, apps = others(pod.init_containers), others(pod.app_containers)
    # The QoS class depends on all containers, so removing one may change it.
    return replace(
        pod, init_containers=init, app_containers=apps, qos_class=qos_class((*init, *apps))
    )


def before_others(case: Case, position: int) -> ChangeOutcome:
    """Decide at a position of the queue, without the pods behind it."""
    return _decided(case.nodes_before[position], case.pod)


def _earlier(case: Case, position: int) -> ChangeOutcome:
    before = case.nodes_before[position]
    node, decision = before.admit(case.pod)
    if not decision.admitted:
        return ChangeOutcome(decision)
    lost = []
    node = node.pod_started(case.pod.uid)
    # Only the decisions behind the position can differ.
    for later in case.queue[position:]:
        node, rejection = cases.asked(node, later)
        if rejection is not None and later.uid in case.admitted:
            lost.append(later.uid)
    return _of_decision(before.roster, decision, lost)


def _from_beginning(case: Case, node: Node | StartRefused, order: Iterable[Pod]) -> ChangeOutcome:
    """Decide on all pods in this order, on a node without them."""
    if isinstance(node, StartRefused):
        return ChangeOutcome(node)
    outcome: ChangeOutcome | None = None
    # Pods that the node had at its start may be rejected under the new configuration.
    lost = [uid for uid in case.beginning.node.snapshot.pods if uid not in node.snapshot.pods]
    for pod in order:
        roster, (node, decision) = node.roster, node.admit(pod)
        if decision.admitted:
            node = node.pod_started(pod.uid)
        elif pod.uid in case.admitted:
            lost.append(pod.uid)
        if pod.uid == case.pod.uid:
            outcome = _of_decision(roster, decision)
            # The rest of the queue matters only as the price of an admission.
            if not outcome.admitted:
                return outcome
    assert outcome is not None
    return replace(outcome, lost=tuple(lost))


def _elsewhere(case: Case, neighbour: OtherNode) -> ChangeOutcome:
    node = nodes.start(
        case.config,
        neighbour.opened(),
        devices=case.beginning.devices,
        behaviour=case.node.rules.behaviour,
        managers=case.node.roster.extra,
    )
    if isinstance(node, StartRefused):
        return ChangeOutcome(node)
    return _decided(node, case.pod)
