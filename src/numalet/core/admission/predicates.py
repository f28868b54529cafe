"""The general predicates: whether a pod fits beside the others, and may be on this node at all.

They come after the managers. In this order, as in the kubelet: the operating system, strict groups
and sidecars, each of which decides alone; room for one more pod; CPU, memory, and every other
resource of the node that the pod asks for; the node selector and the required node affinity; the
node's name; ports of the host. All that do not decide alone are gone through, and the first that
fails is the reason.

A *critical* pod (a static pod, or one of a priority from 2,000,000,000 on) is not rejected for lack
of resources: others that are not critical, or of a lower priority, are to be *evicted* for it, and
the pod is rejected only if all of them together hold too little. Which ones: see ``preemption``.

What is not known is not guessed. A predicate that would need it is named in the answer, and does
not reject; one that fails on what is known fails, whatever else there is.

What is not checked: taints, which a node without a control plane has only if it was configured
to register with them. Extended resources that the node does not know are left out, as in the
kubelet. Recorded scenarios end before this stage, so it follows the documentation of v1.32 and
not recordings.
Kubelet: ``predicateAdmitHandler.Admit``, ``generalFilter``, ``noderesources.Fits``, v1.32.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

from numalet.core.admission import node_affinity, node_resources, preemption
from numalet.core.admission.preemption import Need
from numalet.core.admission.reasons import (
    NotAsked,
    NothingToPreempt,
    OutOfResource,
    PredicateFailed,
    SidecarForbidden,
    Unknown,
)
from numalet.core.admission.roster import Roster
from numalet.core.model import pod_demand, resources
from numalet.core.model.pod import ContainerKind, Pod
from numalet.core.model.value import Mutable, Value, field
from numalet.core.snapshot.requested import Requested
from numalet.core.snapshot.snapshot import Snapshot

OS_LABEL: Final = "kubernetes.io/os"
HOST_LABEL: Final = "kubernetes.io/hostname"

OS: Final = "PodOSSelectorNodeLabelDoesNotMatch"
OS_FIELD: Final = "PodOSNotSupported"
GROUPS: Final = "SupplementalGroupsPolicyNotSupported"
SELECTOR: Final = "NodeAffinity"
NAME: Final = "NodeName"
PORTS: Final = "NodePorts"

_FIRST: Final = (resources.CPU, resources.MEMORY)

# Of a pod whose constraints are not known.
_SELECTOR_NOT_ASKED: Final = NotAsked(SELECTOR, Unknown.CONSTRAINTS)
_PORTS_NOT_ASKED: Final = NotAsked(PORTS, Unknown.CONSTRAINTS)

Failure: TypeAlias = OutOfResource | PredicateFailed | SidecarForbidden | NothingToPreempt


class PredicatesAnswer(Value):
    """What the predicates say of a pod that the managers admitted.

    ``evicted`` are uids of pods that end for it, in this order. ``passed_over`` are extended
    resources that the pod requests and that no plugin offers.
    """

    failure: Failure | None = None
    evicted: tuple[str, ...] = ()
    not_asked: tuple[NotAsked, ...] = ()
    passed_over: tuple[str, ...] = ()


NO_PREDICATE: Final = PredicatesAnswer()
"""The answer for a pod that a manager rejected: none was asked."""

NONE_ASKED: Final = PredicatesAnswer(not_asked=(NotAsked("all", Unknown.SWITCHED_OFF),))


def ask(roster: Roster, before: Snapshot, after: Snapshot, pod: Pod) -> PredicatesAnswer:
    """The answer; ``before`` is the node without the pod's admission, ``after`` with it."""
    if not roster.rules.behaviour.predicates_are_asked:
        return NONE_ASKED
    question = _Question(roster, after, pod, before.requested_by_others(pod.uid))
    rules = roster.rules.behaviour
    wrong = question.unsupported() if rules.constraints_are_asked else None
    if wrong is not None:
        return PredicatesAnswer(wrong)
    lacking = list(question.lacking())
    misplaced = list(question.misplaced()) if rules.constraints_are_asked else []
    evicted: tuple[str, ...] = ()
    failed: list[Failure] = [*lacking, *misplaced]
    if pod.is_critical and rules.critical_pods_evict:
        failed = [*misplaced]
        if lacking and not misplaced:
            others = (each for uid, each in before.pods.items() if uid != pod.uid)
            needs = tuple(Need(each.resource, each.lack) for each in lacking)
            victims = preemption.victims(pod, others, needs)
            if isinstance(victims, NothingToPreempt):
                failed = [victims]
            else:
                evicted = victims
    return PredicatesAnswer(
        failed[0] if failed else None,
        evicted,
        tuple(question.not_asked),
        tuple(question.passed_over),
    )


def about_place(roster: Roster, snapshot: Snapshot, pod: Pod) -> tuple[object, ...]:
    """What is said of a pod that is not on the node yet, room aside; equal for equal answers."""
    question = _Question(roster, snapshot, pod, snapshot.requested)
    return (question.unsupported(), *question.misplaced(), *question.not_asked)


class _Question(Mutable):
    """One pod, the node with it, and what the others ask for; alive in one call of ``ask``."""

    roster: Roster
    after: Snapshot
    pod: Pod
    others: Requested
    not_asked: list[NotAsked] = field(default_factory=list)
    passed_over: list[str] = field(default_factory=list)

    def unsupported(self) -> Failure | None:
        """What no eviction would help with, and the kubelet asks first."""
        rules, constraints = self.roster.rules, self.pod.constraints
        if OS_LABEL in self.pod.labels:
            node_label = rules.identity.labels.get(OS_LABEL, rules.machine.os.value)
            if self.pod.labels[OS_LABEL] != node_label:
                return PredicateFailed(OS)
        if constraints is not None and constraints.os_name not in ("", rules.machine.os.value):
            return PredicateFailed(OS_FIELD)
        needs_groups = constraints is not None and constraints.strict_groups
        if needs_groups and rules.release_rules.strict_groups_need_a_runtime:
            if rules.identity.has_strict_groups is None:
                self.not_asked.append(NotAsked(GROUPS, Unknown.NODE_FEATURES))
            elif not rules.identity.has_strict_groups:
                return PredicateFailed(GROUPS)
        for each in self.pod.init_containers:
            is_sidecar = each.kind is ContainerKind.SIDECAR
            if is_sidecar and rules.release_rules.sidecars_are_forbidden:
                return SidecarForbidden(each.name)
        return None

    def lacking(self) -> Iterator[OutOfResource]:
        """Everything that the node has too little of, room for pods first."""
        others, room = self.others, self.roster.rules.max_pods
        assumed = self.after.assumed
        has_unknown = bool(assumed) and any(key.pod_uid != self.pod.uid for key in assumed)
        if others.pods + 1 > room:
            yield OutOfResource(node_resources.PODS, 1, others.pods, room)
        elif has_unknown:
            self._leave_open(node_resources.PODS)
        asked = pod_demand.amounts(self.pod)
        unknown_pass = self.roster.rules.behaviour.unknown_resources_pass
        for name in dict.fromkeys((*_FIRST, *asked)):
            requested = asked.get(name, 0)
            if requested <= 0:
                continue
            if name == resources.EPHEMERAL_STORAGE:
                self.not_asked.append(NotAsked(f"OutOf{name}", Unknown.NOT_MEASURED))
                continue
            offered = self._offered(name)
            if offered is None and unknown_pass and _is_extended(name):
                self.passed_over.append(name)
                continue
            used, capacity = others.amounts.get(name, 0), offered or 0
            if requested > capacity - used:
                yield OutOfResource(name, requested, used, capacity)
            elif has_unknown:
                self._leave_open(name)

    def _offered(self, name: str) -> int | None:
        """How much pods may have: of devices as many as are healthy, or given out already."""
        devices = self.after.device
        if not devices.is_handled(name):
            return self.roster.offered.get(name)
        return max(len(devices.inventory.healthy(name)), len(devices.in_use.get(name, ())))

    def _leave_open(self, resource: str) -> None:
        self.not_asked.append(NotAsked(f"OutOf{resource}", Unknown.PODS_WITHOUT_MANIFEST))

    def misplaced(self) -> Iterator[PredicateFailed]:
        """Every constraint of the pod that the node does not meet."""
        node = self.roster.rules.identity
        constraints, wanted_name = self.pod.constraints, self.pod.node_name
        if constraints is None:
            self.not_asked.append(_SELECTOR_NOT_ASKED)
        else:
            labelled = node.with_labels({OS_LABEL: self.roster.rules.machine.os.value})
            matches = node_affinity.matches(constraints, labelled)
            if matches is None:
                self.not_asked.append(NotAsked(SELECTOR, Unknown.NODE_LABELS))
            elif not matches:
                yield PredicateFailed(SELECTOR)
        if wanted_name and not node.name:
            self.not_asked.append(NotAsked(NAME, Unknown.NODE_NAME))
        elif wanted_name not in ("", node.name):
            yield PredicateFailed(NAME)
        if constraints is None:
            self.not_asked.append(_PORTS_NOT_ASKED)
        elif not all(map(self.others.has_free, constraints.ports)):
            yield PredicateFailed(PORTS)
        elif constraints.ports and (self.others.unknown_ports or self.after.assumed):
            self.not_asked.append(NotAsked(PORTS, Unknown.PORTS_OF_OTHERS))


def _is_extended(name: str) -> bool:
    """Whether it is an extended resource, such as a device."""
    return "/" in name and "kubernetes.io/" not in name
