"""Which pods the kubelet evicts so that a critical pod fits.

It picks as few Guaranteed pods as possible, then as few Burstable ones, then the rest. Within a
class it repeatedly picks the pod whose requests are closest to the remaining need. An evicted pod
keeps its own grace period. Kubelet: ``CriticalPodAdmissionHandler``, v1.32.
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
    """A pod that may be evicted, and the amounts that this frees, by resource."""

    pod: Pod
    amounts: Mapping[str, int]

    def amount(self, resource: str) -> int:
        """Return its request for a resource, CPU in milli-CPUs; for pods 1."""
        return 1 if resource == _PODS else self.amounts.get(resource, 0)

    def size(self) -> tuple[int, int]:
        """Memory in bytes and CPU in milli-CPUs."""
        return self.amount(resources.MEMORY), self.amount(resources.CPU)


class Need(Value):
    """The missing amount of a resource; CPU in milli-CPUs."""

    resource: str
    amount: int


def victims(
    pod: Pod, others: Iterable[Pod], needs: Sequence[Need]
) -> tuple[str, ...] | NothingToPreempt:
    """Return uids of the pods to evict, in order, or the need that remains without all of them."""
    yielding = [Claim(each, pod_demand.amounts(each)) for each in others if yields_to(each, pod)]
    by_class = {qos: [each for each in yielding if each.pod.qos_class is qos] for qos in QosClass}
    none, some, all_ = (
        by_class[qos] for qos in (QosClass.BEST_EFFORT, QosClass.BURSTABLE, QosClass.GUARANTEED)
    )
    if missing := _less(needs, [*none, *some, *all_]):
        return NothingToPreempt(tuple((each.resource, each.amount) for each in missing))
    # Guaranteed pods only for the need that all lower classes leave, then Burstable ones.
    guaranteed = _closest(all_, _less(needs, [*none, *some]))
    burstable = _closest(some, _less(needs, [*none, *guaranteed]))
    best_effort = _closest(none, _less(needs, [*burstable, *guaranteed]))
    # The pods end in this order.
    return tuple(each.pod.uid for each in (*best_effort, *burstable, *guaranteed))


def yields_to(pod: Pod, other: Pod) -> bool:
    """Return whether the kubelet may evict ``pod`` for ``other``."""
    if other.is_critical and not pod.is_critical:
        return True
    if pod.priority is None or other.priority is None:
        return False
    return other.priority > pod.priority


def _less(needs: Sequence[Need], claims: Sequence[Claim]) -> tuple[Need, ...]:
    """Return the remaining needs without these pods."""
    left = (
        Need(need.resource, need.amount - sum(each.amount(need.resource) for each in claims))
        for need in needs
    )
    return tuple(need for need in left if need.amount > 0)


def _closest(claims: Sequence[Claim], needs: Sequence[Need]) -> list[Claim]:
    """Return pods of one class that cover the needs; the class must have enough of them."""
    left, chosen = list(claims), []
    while needs:
        at = _best(left, needs)
        chosen.append(left[at])
        needs = _less(needs, [left[at]])
        # As in the kubelet, the last pod moves into the gap; the order decides between equal pods.
        left[at] = left[-1]
        left.pop()
    return chosen


def _best(claims: Sequence[Claim], needs: Sequence[Need]) -> int:
    # Ties: less memory, then less CPU, then the later pod. The kubelet's order is random; numalet
    # uses the order of admission.
    ranks = [(_distance(each, needs), *each.size(), -at) for at, each in enumerate(claims)]
    return -min(ranks)[-1]


def _distance(claim: Claim, needs: Sequence[Need]) -> float:
    """Sum, over the missing resources, the squared share that would still be missing.

    In the kubelet's floating-point order.
    """
    total = 0.0
    for need in needs:
        left = need.amount - claim.amount(need.resource)
        if left > 0:
            total += (float(left) / float(need.amount)) ** 2
    return total
