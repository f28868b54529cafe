"""The smallest sets of running pods to evict so that a pod fits, by node and over all nodes.

The engine decides on a node without each set again, so the answer contains the decision that proves
it. For several copies of a pod, each set is the smallest for its copy, not for all copies together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Final

from numalet.core.admission.decision import Decision
from numalet.core.admission.reasons import Rejection
from numalet.core.cluster.cluster import Cluster, ClusterNode, ClusterPod, Origin
from numalet.core.model.pod import Pod
from numalet.core.model.value import Value, field, replace
from numalet.core.node.node import Node
from numalet.insight.fleet import fit, kube_scheduler, victims
from numalet.insight.fleet.assessing import Assessor, StateJudge, copy_of
from numalet.insight.fleet.kube_scheduler import SchedulerQuestion
from numalet.insight.fleet.smallest_set import SetSearch, SharedSearch
from numalet.insight.fleet.victims import Candidate, SetCost, VictimRules, WhyKept

MOST_SETS: Final = 50_000
"""Default limit of tried sets: 10 to 30 seconds of one processor."""

MOST_COPIES = 20


class Proof(Enum):
    SMALLEST = "smallest"
    """No smaller set of evictable pods makes room on this node."""
    NOT_PROVED = "not-proved"
    """The search was bounded: a smaller set was not excluded."""


class Outcome(Enum):
    MAKES_ROOM = "makes-room"
    LARGER = "larger"
    """A set of this node would be larger than the smallest set of the cluster."""
    NO_SET = "no-set"
    """No set of evictable pods makes room."""
    UNDECIDED = "undecided"
    """The search was bounded before a set was known."""


class NodeAnswer(Value, kw_only=True):
    """One node: the pods to evict, and the decision on the pod without them.

    ``leaving`` are uids of pods that are being deleted; they are treated as deleted. ``rejection``
    is why the pod is rejected with only these deleted, if so. ``never`` is why the node rejects it
    even without any pod.
    """

    name: str
    origin: Origin
    outcome: Outcome
    proof: Proof
    going: tuple[ClusterPod, ...] = ()
    cost: SetCost | None = None
    leaving: tuple[str, ...] = ()
    kept: Mapping[str, WhyKept] = field(default_factory=dict)
    rejection: Rejection | None = None
    never: str = ""
    decision: Decision | None = None


class FreeAnswer(Value):
    """Every eligible node: first those that make room, the cheapest first."""

    pod: ClusterPod
    nodes: tuple[NodeAnswer, ...]
    not_eligible: int
    sets_tried: int

    @property
    def best(self) -> NodeAnswer | None:
        """The cheapest of the nodes with the fewest evictions, if any."""
        first = self.nodes[0] if self.nodes else None
        return first if first is not None and first.outcome is Outcome.MAKES_ROOM else None

    @property
    def never(self) -> str:
        """Why the pod never fits on any of the nodes; empty if it may fit on one."""
        reasons = [each.never for each in self.nodes]
        return reasons[0] if reasons and all(reasons) else ""

    @property
    def is_proved(self) -> bool:
        """True if no smaller set of any node makes room; without ``best``, if no set does."""
        return all(each.proof is Proof.SMALLEST for each in self.nodes)


class FreeQuestion(Value, kw_only=True):
    """The question.

    ``every_node``: find the smallest set of each node, also if it is larger than that of the best
    node. ``only``: names of the nodes to search; empty for all.
    """

    rules: VictimRules = field(default_factory=VictimRules)
    every_node: bool = False
    only: frozenset[str] = frozenset()
    most_sets: int = MOST_SETS


DEFAULT_QUESTION: Final = FreeQuestion()


def free(
    cluster: Cluster, pod: ClusterPod, question: FreeQuestion = DEFAULT_QUESTION
) -> FreeAnswer:
    """Find the smallest sets of running pods to evict so that this pod fits.

    Nodes that the scheduler would not choose even if they were empty are left out.
    """
    shared = SharedSearch(question.most_sets)
    budgets_of = victims.budgets_by_pod(cluster)
    new = kube_scheduler.as_new(pod)
    asked = [
        each
        for name, each in sorted(cluster.nodes.items())
        if not question.only or name in question.only
    ]
    scheduler = SchedulerQuestion.about(new)
    chosen = [each for each in asked if scheduler.about_the_node(each) is None]
    judge = StateJudge(new.pod)
    searches = [
        _NodeSearch(cluster, each, new.pod, question, budgets_of, shared, judge) for each in chosen
    ]
    # Size 0: a pod may fit once the pods that are being deleted are gone.
    size, is_answered, active = 0, False, list(searches)
    # Each size is tried on all nodes before the next one, so the search ends after all single pods
    # if one suffices.
    while active and not (is_answered and not question.every_node):
        for each in active:
            is_answered = each.try_size(size) or is_answered
        size += 1
        active = [each for each in active if not each.is_done(size)]
    answers = [each.answer(is_answered) for each in searches]
    answers = _with_reasons(cluster, new, answers)
    return FreeAnswer(
        pod=new,
        nodes=tuple(sorted(answers, key=_rank)),
        not_eligible=len(asked) - len(chosen),
        sets_tried=question.most_sets - shared.sets_left,
    )


def _with_reasons(
    cluster: Cluster, pod: ClusterPod, answers: Sequence[NodeAnswer]
) -> list[NodeAnswer]:
    hopeless = [cluster.nodes[each.name] for each in answers if each.outcome is Outcome.NO_SET]
    emptied = [
        replace(each, node=without(each.node.without_plugins(), each.node.snapshot.pods))
        for each in hopeless
    ]
    assessed = Assessor().anew(replace(cluster, nodes={}), emptied, pod)
    never = {
        name: each.obstacle.text for name, each in assessed.items() if each.obstacle is not None
    }
    return [replace(each, never=never.get(each.name, "")) for each in answers]


_ORDER: Final = (Outcome.MAKES_ROOM, Outcome.LARGER, Outcome.UNDECIDED, Outcome.NO_SET)


def _rank(answer: NodeAnswer) -> tuple[object, ...]:
    # Without the names of the pods in the cost, so that equal costs are ordered by node name.
    cost = () if answer.cost is None else (answer.cost[:-1],)
    return (_ORDER.index(answer.outcome), len(answer.going), *cost, answer.name)


class _NodeSearch:
    def __init__(
        self,
        cluster: Cluster,
        on: ClusterNode,
        pod: Pod,
        question: FreeQuestion,
        budgets_of: Mapping[str, list[int]],
        shared: SharedSearch,
        judge: StateJudge,
    ) -> None:
        self._on = on
        self._pod = pod
        self._victims = victims.of_node(
            cluster, on.node.snapshot.pods, pod, question.rules, budgets_of
        )
        self._node = without(on.node.without_plugins(), self._victims.leaving)
        self._judge = judge
        self._search = SetSearch(
            self._node, pod, self._victims.candidates, cluster.budgets, shared, judge
        )
        self._going: tuple[Candidate, ...] | None = None
        self._next_size = 0

    def try_size(self, size: int) -> bool:
        self._going = self._search.cheapest_of_size(size)
        self._next_size = size + 1
        return self._going is not None

    def is_done(self, size: int) -> bool:
        is_over = self._search.is_bounded or size > self._search.largest_size
        return self._going is not None or is_over

    def answer(self, is_answered: bool) -> NodeAnswer:
        """Return the answer for this node; ``is_answered``: a set is known on some node."""
        search, going = self._search, self._going
        if going is None and search.is_bounded:
            # Better some minimal set, marked as not proved, than no answer.
            going = search.any_set()
        proof = Proof.NOT_PROVED if search.is_bounded else Proof.SMALLEST
        common = NodeAnswer(
            name=self._on.name,
            origin=self._on.origin,
            outcome=Outcome.UNDECIDED if search.is_bounded else Outcome.NO_SET,
            proof=proof,
            leaving=self._victims.leaving,
            kept=self._victims.kept,
            rejection=self._judge.rejection(self._node),
        )
        if going is None:
            may_be_larger = is_answered and self._next_size <= search.largest_size
            if may_be_larger and not search.is_bounded:
                return replace(common, outcome=Outcome.LARGER)
            return common
        # The search compares states; the answer needs the full decision as its proof.
        _, decision = without(self._node, [each.uid for each in going]).admit(self._pod)
        return replace(
            common,
            outcome=Outcome.MAKES_ROOM,
            going=tuple(each.pod for each in going),
            cost=victims.cost(going),
            decision=decision,
        )


def without(node: Node, uids: Iterable[str]) -> Node:
    for uid in uids:
        node = node.remove(uid)
    return node.release_stale()


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
        answer = free(now, pod, question)
        copies.append(CopyAnswer(number, now, answer))
        if answer.best is None or landed.count == count:
            break
        now = _after(now, answer.best, answer.pod, number)
        number += 1
    return CopiesAnswer(count, landed.count, tuple(copies))


def _after(cluster: Cluster, best: NodeAnswer, pod: ClusterPod, number: int) -> Cluster:
    on = cluster.nodes[best.name]
    gone = {*best.leaving, *(each.pod.uid for each in best.going)}
    node, _ = without(on.node.without_plugins(), gone).admit(copy_of(pod.pod, number))
    return replace(
        cluster.with_nodes([replace(on, node=node)]),
        pods={uid: each for uid, each in cluster.pods.items() if uid not in gone},
        # Later copies must not exceed the disruption budgets that these evictions used up.
        budgets=tuple(
            replace(each, allowed=each.allowed - len(each.pod_uids.intersection(gone)))
            for each in cluster.budgets
        ),
    )
