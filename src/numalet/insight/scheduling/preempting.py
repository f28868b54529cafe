"""Preemption: the engine checks the victims that kube-scheduler has chosen by sums.

A node stays a candidate only if its kubelet would admit the pod without the victims. If a few more
victims would suffice, they are added: the scheduler accepts other victims than its own
(``ProcessPreemption`` of the extender, v1.20 to v1.36), as long as they run on the node.
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
from numalet.insight.fleet.assessing import StateJudge
from numalet.insight.fleet.smallest_set import SetSearch, SharedSearch
from numalet.insight.fleet.victims import Candidate
from numalet.insight.scheduling import evictions, expected_nodes
from numalet.insight.scheduling.expected_nodes import ShapeVerdicts
from numalet.insight.scheduling.filtering import NodeFilter

MOST_SETS: Final = 400
"""Limit of the sets of further victims that are tried for one pod, on all nodes together."""
MOST_ADDED: Final = 4
"""The smallest set is searched up to this many further victims; beyond, any set that helps."""


class VictimSet(Value):
    """Pods of one node to evict, those of the highest priority first.

    ``violations`` counts those that a disruption budget protects.
    """

    uids: tuple[str, ...]
    violations: int = 0


class RunningPods(Value, kw_only=True):
    pods: Mapping[str, ClusterPod] = MappingProxyType({})
    budgets: Sequence[DisruptionBudget] = ()

    def guarded(self) -> frozenset[str]:
        return frozenset[str]().union(*[each.pod_uids for each in self.budgets])


class Preempted(Value, kw_only=True):
    """The sets that help, by node name.

    ``useless`` are nodes whose sets do not help; ``enlarged`` are nodes whose sets got more
    victims; ``unexamined`` counts nodes not examined in time.
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
    """Return which of these sets help the pod; ``may_go_on`` is called before each node."""
    if not expected_nodes.needs_decision(pod.pod):
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
    def __init__(self, of: ShapeVerdicts, pod: Pod, running: RunningPods) -> None:
        self._of = of
        self._pod = pod
        self._pods = running.pods
        self._guarded = running.guarded()
        self._shared = SharedSearch(MOST_SETS)
        self._judge = StateJudge(pod)

    def beside(self, name: str, left: Node, given: VictimSet) -> VictimSet | None:
        """Return a set with added victims that helps; ``left`` is the node without ``given``."""
        known = [self._pods[uid] for uid in left.snapshot.pods if uid in self._pods]
        added = [
            Candidate(each, None, pod_demand.amounts(each.pod))
            for each in known
            if self._may_be_added(each, name)
        ]
        # If not even all of them help, no search is needed.
        most = evictions.without(left, [each.uid for each in added])
        if not added or self._shared.is_spent or not evictions.admits(self._of, most):
            return None
        chosen = self._fewest(left, sorted(added, key=lambda each: victims.cost([each])))
        # The scheduler's own victims stay in the set, so that its checks of sums, ports and
        # anti-affinity still hold.
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
        # Only pods that the scheduler could have chosen; without a budget, so that the number of
        # violations stays the same.
        return (
            each.pod.node_name == name
            and evictions.may_go(each.pod, self._pod)
            and each.pod.uid not in self._guarded
            and not (each.comes_with_its_node or each.is_being_deleted or each.is_over)
        )

    def _rank(self, uid: str) -> int:
        """kube-scheduler takes the highest priority of a set from its first pod."""
        known = self._pods.get(uid)
        return 0 if known is None else -victims.priority(known.pod)
