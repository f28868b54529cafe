"""What an autoscaler does about pods that wait, as far as that is known: its rule as a function.

cluster-autoscaler and Karpenter go by the pods whose condition ``PodScheduled`` is False for the
reason ``Unschedulable``. They do not believe the scheduler: each of these pods is first tried on
the nodes that exist, by sums, taints, labels and ports as kube-scheduler's own filters do. A pod
that fits somewhere by these gets no new node: it is expected to be scheduled soon. What an extender
says is no part of the trial, and NUMA nodes are in none of its filters.

So a pod that no kubelet would admit waits for ever beside a node that has room by the sums alone,
and the pool does not grow. Such a node is kept out of the trial by a taint.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from numalet.core.cluster import verdicts
from numalet.core.cluster.cluster import ClusterNode, ClusterPod
from numalet.core.model.value import replace
from numalet.core.node.node import Node
from numalet.insight.fleet import eligible


def without_a_place(
    nodes: Mapping[str, ClusterNode], waiting: Iterable[ClusterPod]
) -> tuple[ClusterPod, ...]:
    """The pods that fit on no node by the scheduler's own filters, in their order.

    A pod that fits counts on its node for those after it.
    """
    tried, homeless = dict(nodes), []
    for pod in waiting:
        on = next((each for each in tried.values() if eligible.why_not(each, pod) is None), None)
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
    """How many nodes like the template an autoscaler adds, of so many that it may add at most.

    The template is a node without pods, as the autoscaler expects a new one to be.
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
    """The nodes for whose sake the pod gets no new one, although none of them would admit it.

    None, if one of the nodes admits the pod: then it does not need a new one.
    """
    open_to_it = [each for each in nodes.values() if eligible.why_not(each, pod) is None]
    if any(verdicts.try_out(each.node, pod.pod).admitted for each in open_to_it):
        return ()
    return tuple(sorted(each.name for each in open_to_it))


def _with(on: ClusterNode, pod: ClusterPod) -> ClusterNode:
    """The node with the pod in its sums; where it would be placed is not asked."""
    node: Node = on.node.at(on.node.snapshot.with_pod(pod.pod))
    return replace(on, node=node)
