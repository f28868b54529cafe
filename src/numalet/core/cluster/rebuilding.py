"""Rebuilds a node by admitting its bound pods again in the order of their start.

An estimate, unless no pod was ever deleted: a pod that was admitted while a GPU of NUMA node 0 was
in use may be on NUMA node 1. The kubelet writes ``startTime`` when it first sees a pod (v1.32:
``status_manager``, ``updateStatusInternal``), in seconds; within one second the creation time
decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from numalet.core.cluster.cluster import ClusterPod
from numalet.core.findings.cluster import ClusterPodRefusedNow
from numalet.core.model.findings import Finding
from numalet.core.model.value import Value
from numalet.core.node.node import Node


class RebuiltNode(Value):
    """The node, and notes about pods that did not fit."""

    node: Node
    notes: tuple[Finding, ...] = ()


def in_order(pods: Iterable[ClusterPod]) -> Sequence[ClusterPod]:
    """Return the pods that are not over, in order of their start; unstarted ones are last."""
    return sorted((each for each in pods if not each.is_over), key=_came)


def by_node(pods: Iterable[ClusterPod]) -> dict[str, Sequence[ClusterPod]]:
    """Return the pods of each node that are not over, in order of their start, by its name."""
    bound: dict[str, list[ClusterPod]] = {}
    for each in pods:
        if each.pod.node_name:
            bound.setdefault(each.pod.node_name, []).append(each)
    return {name: in_order(there) for name, there in bound.items()}


def rebuilt(empty: Node, pods: Iterable[ClusterPod]) -> RebuiltNode:
    """Return the node after the admission of these bound pods.

    A pod that the node would reject now, or admit only with evictions, is active all the same,
    because it runs; it then has no allocation.
    """
    node = empty
    notes: list[Finding] = []
    for each in in_order(pods):
        after, decision = node.admit(each.pod)
        if decision.admitted and not decision.evicted:
            # Its init containers have ended, so their memory returns, and devices that wait for the
            # start of a container are allocated.
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
