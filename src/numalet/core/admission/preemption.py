"""Which pods are evicted so that a critical pod has room.

As few as possible of the Guaranteed ones, then of the Burstable ones, then of the rest; within a
class, one after the other, the pod whose requests come closest to what is still needed. *Close* is
the sum, over the resources that are needed, of the square of the share that the pod would leave
missing; of equally close ones it is the pod that asks for less memory, then for less CPU, then
the later one. The evicted end in the order BestEffort, Burstable, Guaranteed.

The kubelet examines its pods in random order, which decides between equals; here it is the
order in which they came. An evicted pod has its own grace period to end.
Kubelet: ``CriticalPodAdmissionHandler``, v1.32.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from numalet.core.admission.reasons import NothingToPreempt
from numalet.core.model import pod_demand, resources
from numalet.core.model.pod import Pod, QosClass
from numalet.core.model.value import Value

_PODS: Final = "pods"


class Claim(Value):
    """A pod that might be evicted, and what would be free then, by resource."""

    pod: Pod
    amounts: Mapping[str, int]

    def amount(self, resource: str) -> int:
        """What it asks for of a resource, CPU in thousandths; it is one of the pods."""
        return 1 if resource == _PODS else self.amounts.get(resource, 0)

    def size(self) -> tuple[int, int]:
        """Memory in bytes and CPU in thousandths."""
        return self.amount(resources.MEMORY), self.amount(resources.CPU)


class Need(Value):
    """What is missing of a resource, more than 0; CPU in thousandths."""

    resource: str
    amount: int


def victims(
    pod: Pod, others: Iterable[Pod], needs: Sequence[Need]
) -> tuple[str, ...] | NothingToPreempt:
    """Uids of the pods to evict, in this order; or what all of them together would not give."""
    yielding = [Claim(each, pod_demand.amounts(each)) for each in others if yields_to(each, pod)]
    by_class = {qos: [each for each in yielding if each.pod.qos_class is qos] for qos in QosClass}
    none, some, all_ = (
        by_class[qos] for qos in (QosClass.BEST_EFFORT, QosClass.BURSTABLE, QosClass.GUARANTEED)
    )
    if missing := _less(needs, [*none, *some, *all_]):
        return NothingToPreempt(tuple((each.resource, each.amount) for each in missing))
    guaranteed = _closest(all_, _less(needs, [*none, *some]))
    burstable = _closest(some, _less(needs, [*none, *guaranteed]))
    best_effort = _closest(none, _less(needs, [*burstable, *guaranteed]))
    return tuple(each.pod.uid for each in (*best_effort, *burstable, *guaranteed))


def yields_to(pod: Pod, other: Pod) -> bool:
    """Whether it may be evicted for the other one."""
    if other.is_critical and not pod.is_critical:
        return True
    if pod.priority is None or other.priority is None:
        return False
    return other.priority > pod.priority


def _less(needs: Sequence[Need], claims: Sequence[Claim]) -> tuple[Need, ...]:
    """What is still needed without these pods."""
    left = (
        Need(need.resource, need.amount - sum(each.amount(need.resource) for each in claims))
        for need in needs
    )
    return tuple(need for need in left if need.amount > 0)


def _closest(claims: Sequence[Claim], needs: Sequence[Need]) -> list[Claim]:
    """Pods of one class that give what is needed, of which there is enough."""
    left, chosen = list(claims), []
    while needs:
        at = _best(left, needs)
        chosen.append(left[at])
        needs = _less(needs, [left[at]])
        # The last one takes its place, which counts among equals.
        left[at] = left[-1]
        left.pop()
    return chosen


def _best(claims: Sequence[Claim], needs: Sequence[Need]) -> int:
    ranks = [(_distance(each, needs), *each.size(), -at) for at, each in enumerate(claims)]
    return -min(ranks)[-1]


def _distance(claim: Claim, needs: Sequence[Need]) -> float:
    """In the kubelet's floating point, need by need."""
    total = 0.0
    for need in needs:
        left = need.amount - claim.amount(need.resource)
        if left > 0:
            total += (float(left) / float(need.amount)) ** 2
    return total
