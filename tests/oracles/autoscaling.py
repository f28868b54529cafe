"""The rule by which cluster-autoscaler and Karpenter add nodes for pending pods, as a function.

Both act on pods whose condition ``PodScheduled`` is False with the reason ``Unschedulable``, and
first simulate the filters of kube-scheduler: each pod is tried on the existing nodes by sums,
taints, labels and ports. A pod that fits somewhere gets no new node. The simulation knows neither
extenders nor NUMA nodes.

Therefore a pod that every kubelet would reject stays pending next to a node whose sums suffice, and
the pool does not grow. A taint on such a node excludes it from the simulation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from numalet.core.cluster import verdicts
from numalet.core.cluster.cluster import ClusterNode, ClusterPod
from numalet.core.model.value import replace
from numalet.core.node.node import Node
from numalet.insight.fleet import kube_scheduler


def without_a_place(
    nodes: Mapping[str, ClusterNode], waiting: Iterable[ClusterPod]
) -> tuple[ClusterPod, ...]:
    """Return the pods that fit on no node by the scheduler's own filters, in their order.

    A pod that fits occupies its node for the pods after it.
    """
    tried, homeless = dict(nodes), []
    for pod in waiting:
        on = next(
            (each for each in tried.values() if kube_scheduler.why_not(each, pod) is None), None
        )
        if on is None:
            homeless.append(pod)
        else:
            tried[on.name] = _with(on, pod)
    return tuple(homeless)


def nodes_added(
    nodes: Mapping[str, ClusterNode],
    waiting: Iterable[ClusterPod],
    template: ClusterNode,
    most: int,
) -> int:
    """Return how many nodes like the template an autoscaler adds, at most ``most``.

    The template has no pods, like the node that the autoscaler simulates.
    """
    homeless = without_a_place(nodes, waiting)
    added = 0
    while homeless and added < most:
        left = without_a_place({template.name: template}, homeless)
        if len(left) == len(homeless):
            break
        homeless, added = left, added + 1
    return added


def hiding(nodes: Mapping[str, ClusterNode], pod: ClusterPod) -> tuple[str, ...]:
    """Return the nodes that keep a pod from getting a new node though they would not admit it.

    The result is empty if a node admits the pod, because then it needs no new node.
    """
    open_to_it = [each for each in nodes.values() if kube_scheduler.why_not(each, pod) is None]
    if any(verdicts.try_out(each.node, pod.pod).admitted for each in open_to_it):
        return ()
    return tuple(sorted(each.name for each in open_to_it))


def _with(on: ClusterNode, pod: ClusterPod) -> ClusterNode:
    """Add the pod to the sums of the node, without an allocation."""
    node: Node = on.node.at(on.node.snapshot.with_pod(pod.pod))
    return replace(on, node=node)
