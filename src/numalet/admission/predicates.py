"""The general predicates: whether a pod fits beside the others, and may be on this node at all.

They come after the managers. In this order, as in the kubelet: the label of the operating system,
which decides alone; room for one more pod; CPU, memory, and every other resource of the node that
the pod asks for; the node selector and the required node affinity; the node's name; ports of the
host. All but the first are gone through, and the first that fails is told.

A *critical* pod (a static pod, or one of a priority from 2,000,000,000 on) is not rejected for lack
of resources: others that are not critical, or of a lower priority, are to be *evicted* for it, and
the pod is rejected only if all of them together hold too little. Which ones: see ``preemption``.

What is not asked: taints, which a node without a control plane has only if it was told to register
with them; ephemeral storage, which nobody here measures. Extended resources that the node does not
know are left out, as in the kubelet. Recorded scenarios end before this stage, so
it follows the documentation of v1.32 and not recordings.
Kubelet: ``predicateAdmitHandler.Admit``, ``generalFilter``, ``noderesources.Fits``, v1.32.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, TypeAlias

from numalet.admission import host_ports, node_affinity, node_resources, preemption
from numalet.admission.node_affinity import Term
from numalet.admission.preemption import Claim, Need
from numalet.admission.reasons import NothingToPreempt, OutOfResource, PredicateFailed
from numalet.config.rules import NodeRules
from numalet.model import resources
from numalet.model.quantity import Quantity
from numalet.snapshot.snapshot import Snapshot

OS_LABEL: Final = "kubernetes.io/os"
HOST_LABEL: Final = "kubernetes.io/hostname"

OS: Final = "PodOSSelectorNodeLabelDoesNotMatch"
SELECTOR: Final = "NodeAffinity"
NAME: Final = "NodeName"
PORTS: Final = "NodePorts"

_NOT_MEASURED: Final = "ephemeral-storage"
_FIRST: Final = (resources.CPU, resources.MEMORY)

Failure: TypeAlias = OutOfResource | PredicateFailed | NothingToPreempt


@dataclass(frozen=True, slots=True)
class Asking:
    """A pod as the predicates see it: what it claims, and where it wants to be.

    ``affinity`` are the terms of the required node affinity, None without one.
    """

    claim: Claim
    selector: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    affinity: tuple[Term, ...] | None = None


@dataclass(frozen=True, slots=True)
class Passed:
    """The pod may run, when these pods, by uid and in this order, have been told to end."""

    evicted: tuple[str, ...] = ()


def ask(
    rules: NodeRules,
    snapshot: Snapshot,
    labels: Mapping[str, str],
    asking: Asking,
    others: Sequence[Claim],
) -> Passed | Failure:
    """What the predicates say of a pod that the managers admitted.

    ``labels`` are those of the Node object, ``others`` the active pods without this one, in the
    order in which they came.
    """
    pod = asking.claim.pod
    if pod.labels.get(OS_LABEL, labels.get(OS_LABEL)) != labels.get(OS_LABEL):
        return PredicateFailed(OS)
    lacking = list(_lacking(rules, snapshot, asking.claim, others))
    misplaced = list(_misplaced(labels, asking, others))
    if asking.claim.is_critical and lacking and not misplaced:
        needs = tuple(Need(each.resource, each.lack) for each in lacking)
        evicted = preemption.victims(asking.claim, others, needs)
        return evicted if isinstance(evicted, NothingToPreempt) else Passed(evicted)
    failed = [*(() if asking.claim.is_critical else lacking), *misplaced]
    return failed[0] if failed else Passed()


def _lacking(
    rules: NodeRules, snapshot: Snapshot, claim: Claim, others: Sequence[Claim]
) -> Iterator[OutOfResource]:
    """Everything that the node has too little of, room for pods first."""
    has = _raised(node_resources.allocatable(rules, snapshot), snapshot)
    room = rules.max_pods
    if len(others) + 1 > room:
        yield OutOfResource(node_resources.PODS, 1, len(others), room)
    asked = claim.requests
    for name in (*_FIRST, *sorted(set(asked) - {*_FIRST})):
        if name == _NOT_MEASURED or (name not in has and _is_extended(name)):
            continue
        requested = claim.amount(name)
        used = sum(each.amount(name) for each in others)
        capacity = preemption.number(name, has[name]) if name in has else 0
        if requested > 0 and requested > capacity - used:
            yield OutOfResource(name, requested, used, capacity)


def _is_extended(name: str) -> bool:
    """Whether it is a resource of somebody else's, such as a device."""
    return "/" in name and "kubernetes.io/" not in name


def _raised(has: dict[str, Quantity], snapshot: Snapshot) -> dict[str, Quantity]:
    """As many devices as are given out, though a plugin may be gone."""
    given: dict[str, set[str]] = {}
    for containers in snapshot.device.records.values():
        for records in containers.values():
            for name, record in records.items():
                given.setdefault(name, set()).update(record.device_ids)
    for name, ids in given.items():
        count = Quantity.from_int(len(ids))
        if name not in has or has[name] < count:
            has[name] = count
    return has


def _misplaced(
    labels: Mapping[str, str], asking: Asking, others: Sequence[Claim]
) -> Iterator[PredicateFailed]:
    host = labels.get(HOST_LABEL)
    if not _is_among_the_required(labels, host or "", asking):
        yield PredicateFailed(SELECTOR)
    if host is not None and asking.claim.pod.node_name not in ("", host):
        yield PredicateFailed(NAME)
    taken = (port for each in others for port in each.ports)
    if not host_ports.are_free(asking.claim.ports, taken):
        yield PredicateFailed(PORTS)


def _is_among_the_required(labels: Mapping[str, str], name: str, asking: Asking) -> bool:
    if any(labels.get(key) != value for key, value in asking.selector.items()):
        return False
    return asking.affinity is None or node_affinity.matches(asking.affinity, labels, name)
