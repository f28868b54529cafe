"""The general predicates: whether the node has room for the pod, and whether the pod may run there.

They run after the managers, in the kubelet's order. With incomplete data numalet lists a predicate
as not evaluated instead of rejecting the pod; a predicate that fails on the known data always
fails.

Taints are not checked: a node without a control plane has only the taints it registers with.
Recorded scenarios end before this stage, so it follows the documentation of v1.32 and not
recordings. Kubelet: ``predicateAdmitHandler.Admit``, ``generalFilter``, ``noderesources.Fits``,
v1.32.
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
from numalet.core.snapshot.snapshot import Requested, Snapshot

OS_LABEL: Final = "kubernetes.io/os"
HOST_LABEL: Final = "kubernetes.io/hostname"

OS: Final = "PodOSSelectorNodeLabelDoesNotMatch"
OS_FIELD: Final = "PodOSNotSupported"
GROUPS: Final = "SupplementalGroupsPolicyNotSupported"
SELECTOR: Final = "NodeAffinity"
NAME: Final = "NodeName"
PORTS: Final = "NodePorts"

_FIRST: Final = (resources.CPU, resources.MEMORY)

# For pods with unknown constraints.
_SELECTOR_NOT_ASKED: Final = NotAsked(SELECTOR, Unknown.CONSTRAINTS)
_PORTS_NOT_ASKED: Final = NotAsked(PORTS, Unknown.CONSTRAINTS)

Failure: TypeAlias = OutOfResource | PredicateFailed | SidecarForbidden | NothingToPreempt


class PredicatesAnswer(Value):
    """The predicates' result for a pod that the managers admitted.

    ``evicted`` are uids of pods that end for it, in this order. ``passed_over`` are extended
    resources that the pod requests and no plugin offers.
    """

    failure: Failure | None = None
    evicted: tuple[str, ...] = ()
    not_asked: tuple[NotAsked, ...] = ()
    passed_over: tuple[str, ...] = ()


NO_PREDICATE: Final = PredicatesAnswer()
"""For a pod that a manager rejected: no predicate ran."""

NONE_ASKED: Final = PredicatesAnswer(not_asked=(NotAsked("all", Unknown.SWITCHED_OFF),))


def ask(roster: Roster, before: Snapshot, after: Snapshot, pod: Pod) -> PredicatesAnswer:
    """Evaluate the predicates; ``before`` is the node without the pod, ``after`` with it."""
    if not roster.rules.behaviour.predicates_are_asked:
        return NONE_ASKED
    question = _Question(roster, after, pod, before.requested_by_others(pod.uid))
    rules = roster.rules.behaviour
    # Operating system, strict groups and sidecars reject immediately.
    wrong = question.unsupported() if rules.constraints_are_asked else None
    if wrong is not None:
        return PredicatesAnswer(wrong)
    # All of these run, and the first failure is the reason.
    lacking = list(question.lacking())
    misplaced = list(question.misplaced()) if rules.constraints_are_asked else []
    evicted: tuple[str, ...] = ()
    failed: list[Failure] = [*lacking, *misplaced]
    if pod.is_critical and rules.critical_pods_evict:
        # A missing resource does not reject a critical pod yet, but eviction cannot repair a wrong
        # place.
        failed = [*misplaced]
        # A critical pod is not rejected for lack of resources: pods that are not critical or have
        # a lower priority are evicted. It is rejected only if all of them together free too
        # little.
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
    """Evaluate all predicates except room, for a pod that is not on the node yet.

    The results compare equal if the predicates agree.
    """
    question = _Question(roster, snapshot, pod, snapshot.requested)
    return (question.unsupported(), *question.misplaced(), *question.not_asked)


class _Question(Mutable):
    """One pod, the node with it, and the other pods' requests; lives in one call of ``ask``."""

    roster: Roster
    after: Snapshot
    pod: Pod
    others: Requested
    not_asked: list[NotAsked] = field(default_factory=list)
    passed_over: list[str] = field(default_factory=list)

    def unsupported(self) -> Failure | None:
        """Return the failure that the kubelet checks first and that no eviction could solve."""
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
        """Yield every resource that the node lacks, room for pods first."""
        others, room = self.others, self.roster.rules.max_pods
        assumed = self.after.assumed
        has_unknown = bool(assumed) and any(key.pod_uid != self.pod.uid for key in assumed)
        # Pods without a manifest request unknown amounts: never reject because of them, only
        # leave the predicate open.
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
            # As in the kubelet, an extended resource that the node does not know is ignored.
            if offered is None and unknown_pass and _is_extended(name):
                self.passed_over.append(name)
                continue
            used, capacity = others.amounts.get(name, 0), offered or 0
            if requested > capacity - used:
                yield OutOfResource(name, requested, used, capacity)
            elif has_unknown:
                self._leave_open(name)

    def _offered(self, name: str) -> int | None:
        """Return the allocatable amount. Devices: the healthy ones, or those in use if more."""
        devices = self.after.device
        if not devices.is_handled(name):
            return self.roster.offered.get(name)
        # The kubelet raises the allocatable of a resource to the devices in use
        # (``sanitizeNodeAllocatable``): after a restart the plugin may not have reported yet.
        return max(len(devices.inventory.healthy(name)), len(devices.in_use.get(name, ())))

    def _leave_open(self, resource: str) -> None:
        self.not_asked.append(NotAsked(f"OutOf{resource}", Unknown.PODS_WITHOUT_MANIFEST))

    def misplaced(self) -> Iterator[PredicateFailed]:
        """Yield every constraint of the pod that the node does not meet."""
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
    return resources.is_device(name) and "kubernetes.io/" not in name
