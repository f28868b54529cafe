"""A node rebuilt from the pods that are bound to it, admitted again in the order of their starts.

That is a guess. Pods that are gone have shaped what the others got: a pod that came when a GPU of
NUMA node 0 was in use may sit on NUMA node 1, where it would not sit today. If no pod ever left,
the guess is the truth. The kubelet writes ``startTime`` when it sees a pod first (v1.32:
``status_manager``, ``updateStatusInternal``), to the second; of one second the pod that was made
first comes first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from numalet.core.cluster.cluster import ClusterPod
from numalet.core.findings.cluster import ClusterPodRefusedNow
from numalet.core.model.findings import Finding
from numalet.core.model.value import Value
from numalet.core.node.node import Node


class RebuiltNode(Value):
    """The node, and notes about pods that did not fit in."""

    node: Node
    notes: tuple[Finding, ...] = ()


def in_order(pods: Iterable[ClusterPod]) -> Sequence[ClusterPod]:
    """The pods that hold something, as they came; those that no kubelet has seen come last."""
    return sorted((each for each in pods if not each.is_over), key=_came)


def by_node(pods: Iterable[ClusterPod]) -> dict[str, Sequence[ClusterPod]]:
    """The pods that are bound to each node and hold something, as they came; by its name."""
    bound: dict[str, list[ClusterPod]] = {}
    for each in pods:
        if each.pod.node_name:
            bound.setdefault(each.pod.node_name, []).append(each)
    return {name: in_order(there) for name, there in bound.items()}


def rebuilt(empty: Node, pods: Iterable[ClusterPod]) -> RebuiltNode:
    """The node after these pods, which are bound to it, came to it.

    A pod that would be refused now, or that others would have to go for, is active all the same:
    it runs. It holds nothing then.
    """
    node = empty
    notes: list[Finding] = []
    for each in in_order(pods):
        after, decision = node.admit(each.pod)
        if decision.admitted and not decision.evicted:
            node = after.pod_started(each.pod.uid)
            continue
        node = node.keep_active(each.pod)
        reason = "others are evicted for it"
        if decision.rejection is not None:
            reason = decision.rejection.code
        notes.append(ClusterPodRefusedNow(pod=str(each.pod), reason=reason))
    return RebuiltNode(node, tuple(notes))


def _came(each: ClusterPod) -> tuple[bool, float, float, str, str]:
    created, started = each.created_at_seconds, each.started_at_seconds
    seen = started if started is not None else created
    first = created if created is not None else seen
    pod = each.pod
    return (started is None, seen or 0.0, first or 0.0, str(pod), pod.uid)
