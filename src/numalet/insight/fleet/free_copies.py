"""Evictions for several copies of a pod, one copy after the other.

Each set is the smallest for its copy, not for all copies together.
"""

from __future__ import annotations

from numalet.core.cluster.cluster import Cluster, ClusterPod
from numalet.core.model.value import Value, replace
from numalet.insight.fleet import fit, free
from numalet.insight.fleet.assessing import copy_of
from numalet.insight.fleet.free import FreeAnswer, FreeQuestion, NodeAnswer

MOST_COPIES = 20


class CopyAnswer(Value):
    """The evictions for copy ``number``, in the cluster ``before`` it."""

    number: int
    before: Cluster
    answer: FreeAnswer


class CopiesAnswer(Value):
    """How many copies fit, and the evictions for the next ones.

    If all fit, the answer is about the first one. Otherwise it ends with a copy that no evictions
    help, if there is one.
    """

    asked: int
    fit: int
    copies: tuple[CopyAnswer, ...]

    @property
    def is_enough(self) -> bool:
        last = self.copies[-1]
        return last.answer.best is not None and (
            self.fit == self.asked or last.number == self.asked
        )


def free_copies(
    cluster: Cluster, pod: ClusterPod, count: int, question: FreeQuestion
) -> CopiesAnswer:
    """Find the evictions for ``count`` copies of the pod, at least one."""
    only = question.only or cluster.nodes.keys()
    nodes = {name: each for name, each in cluster.nodes.items() if name in only}
    landed, after = fit.place(replace(cluster, nodes=nodes), pod, count)
    number, now = landed.count + 1, cluster.with_nodes(after.nodes.values())
    if landed.count == count:
        number, now = 1, cluster
    copies: list[CopyAnswer] = []
    while number <= count and len(copies) < MOST_COPIES:
        answer = free.free(now, pod, question)
        copies.append(CopyAnswer(number, now, answer))
        if answer.best is None or landed.count == count:
            break
        now = _after(now, answer.best, answer.pod, number)
        number += 1
    return CopiesAnswer(count, landed.count, tuple(copies))


def _after(cluster: Cluster, best: NodeAnswer, pod: ClusterPod, number: int) -> Cluster:
    on = cluster.nodes[best.name]
    gone = {*best.leaving, *(each.pod.uid for each in best.going)}
    node, _ = free.without(on.node.without_plugins(), gone).admit(copy_of(pod.pod, number))
    return replace(
        cluster.with_nodes([replace(on, node=node)]),
        pods={uid: each for uid, each in cluster.pods.items() if uid not in gone},
        # Later copies must not exceed the disruption budgets that these evictions used up.
        budgets=tuple(
            replace(each, allowed=each.allowed - len(each.pod_uids.intersection(gone)))
            for each in cluster.budgets
        ),
    )
