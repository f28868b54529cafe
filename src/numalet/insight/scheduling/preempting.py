"""Whose going helps: victims that kube-scheduler has chosen by the sums, judged by the engine.

A scheduler that finds no node for a pod chooses pods of a lower priority to evict, by the sum of
what they would free. Four GPUs that come free two on each NUMA node are none to a pod that
wants four together, and their holders would have been killed for nothing. So a node stays a
candidate only if its kubelet would admit the pod once the victims are gone.

Where they do not help but a few more would, these are added: the scheduler takes other victims for
a node than those that it chose (``ProcessPreemption`` of the extender, v1.20 to v1.36), as long as
they are on it. Added are only pods that it could have chosen too, so of a lower priority, and of
these none that a disruption budget guards, that a DaemonSet makes, or that goes anyway. What it
chose stays in the set, so that what it checked still holds: room by the sums, ports, other pods
that the new one must not be beside. (One that has to be *beside* an added victim would wait on.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from numalet.core.cluster.cluster import ClusterPod, DisruptionBudget
from numalet.core.model import pod_demand
from numalet.core.model.pod import Pod
from numalet.core.model.value import Value
from numalet.core.node.node import Node
from numalet.insight.fleet import victims
from numalet.insight.fleet.judging import StateJudge
from numalet.insight.fleet.smallest_set import SetSearch, SharedSearch
from numalet.insight.fleet.victims import Candidate
from numalet.insight.scheduling import evictions, opinion
from numalet.insight.scheduling.filtering import NodeFilter
from numalet.insight.scheduling.shape_verdicts import ShapeVerdicts

MOST_SETS: Final = 400
"""So many sets of further victims are tried for one pod, on all nodes together."""
MOST_ADDED: Final = 4
"""The smallest set is searched for up to so many further victims; then any that works is taken."""


class VictimSet(Value):
    """Pods of one node that would go, those of the highest priority first.

    ``violations`` is how many of them a disruption budget would keep.
    """

    uids: tuple[str, ...]
    violations: int = 0


class RunningPods(Value, kw_only=True):
    """What the cluster knows of running pods: by uid, and which budgets guard them."""

    pods: Mapping[str, ClusterPod] = MappingProxyType({})
    budgets: Sequence[DisruptionBudget] = ()

    def guarded(self) -> frozenset[str]:
        """The uids of the pods that a disruption budget guards."""
        return frozenset[str]().union(*[each.pod_uids for each in self.budgets])


class Preempted(Value, kw_only=True):
    """The answer: the sets that stay, by the name of the node.

    ``useless`` are nodes whose sets do not help and were left out; ``enlarged`` those of the nodes
    that stay whose sets have more victims now. ``unexamined`` counts nodes for which there was no
    time.
    """

    sets: Mapping[str, VictimSet]
    useless: tuple[str, ...] = ()
    enlarged: tuple[str, ...] = ()
    unexamined: int = 0


def preempted(
    answers: NodeFilter,
    pod: ClusterPod,
    candidates: Mapping[str, VictimSet],
    running: RunningPods,
    may_go_on: Callable[[], bool] = lambda: True,
    now_seconds: float = 0.0,
) -> Preempted:
    """Which of these sets help the pod; ``may_go_on`` is asked before each node."""
    if not opinion.is_needed(pod.pod):
        return Preempted(sets=candidates)
    of = answers.memory.of(pod.pod)
    left_alone = answers.left_alone(of, pod.pod, now_seconds)
    larger = _LargerSets(of, pod.pod, running)
    sets: dict[str, VictimSet] = {}
    useless, enlarged, unexamined = [], [], 0
    for name, given in candidates.items():
        on = answers.nodes.nodes.get(name)
        if on is None:
            if answers.rules.passes_unknown:
                sets[name] = given
            continue
        if not may_go_on():
            unexamined += 1
            if answers.rules.passes_unexamined:
                sets[name] = given
            continue
        left = evictions.without(on.node, given.uids)
        if name in left_alone:
            useless.append(name)
        elif evictions.admits(of, left):
            sets[name] = given
        elif more := larger.beside(name, left, given):
            sets[name] = more
            enlarged.append(name)
        else:
            useless.append(name)
    return Preempted(
        sets=sets, useless=tuple(useless), enlarged=tuple(enlarged), unexamined=unexamined
    )


class _LargerSets:
    """Searches further victims for sets that do not help."""

    def __init__(self, of: ShapeVerdicts, pod: Pod, running: RunningPods) -> None:
        self._of = of
        self._pod = pod
        self._pods = running.pods
        self._guarded = running.guarded()
        self._shared = SharedSearch(MOST_SETS)
        self._judge = StateJudge(pod)

    def beside(self, name: str, left: Node, given: VictimSet) -> VictimSet | None:
        """The set with as few more as help; ``left`` is the node without the victims in it."""
        known = [self._pods[uid] for uid in left.snapshot.pods if uid in self._pods]
        added = [
            Candidate(each, None, pod_demand.amounts(each.pod))
            for each in known
            if self._may_be_added(each, name)
        ]
        most = evictions.without(left, [each.uid for each in added])
        if not added or self._shared.is_spent or not evictions.admits(self._of, most):
            return None
        chosen = self._fewest(left, sorted(added, key=lambda each: victims.cost([each])))
        every = sorted([*given.uids, *[each.uid for each in chosen]], key=self._rank)
        return VictimSet(tuple(every), given.violations) if chosen else None

    def _fewest(self, left: Node, added: Sequence[Candidate]) -> tuple[Candidate, ...]:
        search = SetSearch(left.release_stale(), self._pod, added, (), self._shared, self._judge)
        for size in range(1, min(search.largest_size, MOST_ADDED) + 1):
            chosen = search.cheapest_of_size(size)
            if chosen is not None:
                return chosen
        return search.any_set() or ()

    def _may_be_added(self, each: ClusterPod, name: str) -> bool:
        return (
            each.pod.node_name == name
            and evictions.may_go(each.pod, self._pod)
            and each.pod.uid not in self._guarded
            and not (each.comes_with_its_node or each.is_being_deleted or each.is_over)
        )

    def _rank(self, uid: str) -> int:
        """kube-scheduler reads the highest priority of a set off its first pod."""
        known = self._pods.get(uid)
        return 0 if known is None else -victims.priority(known.pod)
