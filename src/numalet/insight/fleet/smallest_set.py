"""The smallest set of pods to evict from one node so that it admits another pod.

Sets are tried by size, and of the smallest size that works every set that could cost less.
Admission is not monotone in free resources (the end of a memory group changes which hints are
preferred), so sets are left out only for reasons that do not depend on the managers:

- A resource, or one NUMA node, stays short even if the largest remaining pods are added
  (``size_bound``, ``one_numa_node``).
- Evicting a pod without an allocation, a short resource, or a wanted port changes nothing.
- Of pods without allocations that release the same short amounts, the cheaper ones are first.
- States or nodes that are alike to the pod have one verdict.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from numalet.core.cluster import keys, scheduler_sums
from numalet.core.cluster.asking import Asking
from numalet.core.cluster.cluster import DisruptionBudget
from numalet.core.cluster.keys import StateKey
from numalet.core.model import resources
from numalet.core.model.pod import Pod
from numalet.core.node.node import Node
from numalet.insight.fleet import size_bound, victims
from numalet.insight.fleet.assessing import StateJudge
from numalet.insight.fleet.size_bound import Lack, Need, SizeBound
from numalet.insight.fleet.victims import Candidate, SetCost


@dataclass(slots=True)
class SharedSearch:
    """The shared state of the searches on many nodes: the remaining budget, and known results.

    ``hopeless`` are searches and sizes without a working set.
    """

    sets_left: int
    hopeless: set[tuple[StateKey, int]] = field(default_factory=set)

    @property
    def is_spent(self) -> bool:
        return self.sets_left <= 0


@dataclass(slots=True)
class SetSearch:
    """The search on one node without stale allocations.

    ``candidates`` are in the order of their cost. ``is_bounded``: a set was not tried for lack of
    budget.
    """

    node: Node
    pod: Pod
    candidates: Sequence[Candidate]
    budgets: Sequence[DisruptionBudget]
    shared: SharedSearch
    judge: StateJudge
    is_bounded: bool = False
    _lacks: dict[str, int] = field(init=False)
    _useful: list[Candidate] = field(init=False)
    _before: list[int | None] = field(init=False)
    _bound: SizeBound = field(init=False)
    _best: list[tuple[SetCost, tuple[Candidate, ...]]] = field(init=False, default_factory=list)
    _key: StateKey = field(init=False, default=())

    def __post_init__(self) -> None:
        facts = self.judge.facts(self.node)
        asking = self.judge.asking(facts)
        self._lacks = _lacking(self.node, asking)
        snapshot = self.node.snapshot
        holders = {
            key.pod_uid for slot in self.node.roster.slots for key in slot.holders(snapshot, None)
        }
        self._useful = [each for each in self.candidates if self._matters(each, holders)]
        self._before = self._cheaper_equals(holders)
        uids = [each.uid for each in self._useful]
        numa = size_bound.needs(facts, asking.pod, uids)
        self._bound = SizeBound([*self._sums(), *numa], len(uids))

    @property
    def largest_size(self) -> int:
        """The size of the largest set worth trying; negative without such a set."""
        return -1 if self._bound.fewest is None else len(self._useful)

    def cheapest_of_size(self, size: int) -> tuple[Candidate, ...] | None:
        """Return the cheapest working set of this size, if any."""
        self._best.clear()
        if not self._bound.is_within(self._bound.short, size, 0):
            return None
        # The empty set depends on nothing but the state, whose verdict is cached anyway.
        known = (self._alike(), size) if size else None
        if known in self.shared.hopeless:
            return None
        self._extend(0, (), self.node, size, self._bound.short)
        if known is not None and not self._best and not self.is_bounded:
            self.shared.hopeless.add(known)
        return self._best[-1][1] if self._best else None

    def any_set(self) -> tuple[Candidate, ...] | None:
        """Return some minimal working set, if evicting all pods helps.

        For a bounded search: it is quick, and proves nothing about smaller sets.
        """
        chosen: list[Candidate] = []
        for each in self._useful:
            if self._is_allowed(chosen, each):
                chosen.append(each)
        if not self.works(chosen):
            return None
        # The most expensive pods are restored first.
        for each in reversed(list(chosen)):
            fewer = [other for other in chosen if other is not each]
            if self.works(fewer):
                chosen = fewer
        return tuple(chosen)

    def works(self, chosen: Sequence[Candidate]) -> bool:
        node = self.node
        for each in chosen:
            node = node.remove(each.uid)
        return self.judge.admits(node)

    def _alike(self) -> StateKey:
        """Return a key that is equal if evictions at equal positions have equal effects."""
        if not self._key:
            facts = self.judge.facts(self.node)
            uids = [each.uid for each in self._useful]
            budgets = [each.budget for each in self._useful]
            self._key = (
                keys.with_holders(facts, self.judge.asking(facts), uids),
                tuple(self._lacks.items()),
                tuple(map(self._gives, self._useful)),
                tuple(self._before),
                tuple([None if at is None else self.budgets[at].allowed for at in budgets]),
                tuple(map(budgets.index, budgets)),
            )
        return self._key

    def _extend(
        self,
        start: int,
        chosen: tuple[int, ...],
        node: Node,
        more: int,
        short: tuple[int, ...],
    ) -> None:
        """Try every extension of the chosen pods by ``more`` pods with index at least ``start``."""
        if more == 0:
            self._try(chosen, node)
            return
        useful = self._useful
        for at in range(start, len(useful) - more + 1):
            if not self._bound.is_within(short, more, at):
                return
            each, before = useful[at], self._before[at]
            # A set with this pod and without the cheaper equal one cannot be the cheapest.
            if before is not None and before not in chosen:
                continue
            if self.shared.is_spent:
                self.is_bounded = True
                return
            if self._is_allowed([useful[one] for one in chosen], each):
                left = self._bound.after(short, at)
                if self._bound.is_within(left, more - 1, at + 1):
                    self._extend(at + 1, (*chosen, at), node.remove(each.uid), more - 1, left)

    def _try(self, at: tuple[int, ...], node: Node) -> None:
        self.shared.sets_left -= 1
        chosen = tuple(self._useful[one] for one in at)
        cost = victims.cost(chosen)
        # Compare the cost first: it is cheaper than a decision.
        if self._best and self._best[-1][0] <= cost:
            return
        if self.judge.admits(node):
            # The last entry is the cheapest: each one had to be cheaper than the one before it.
            self._best.append((cost, chosen))

    def _is_allowed(self, chosen: Sequence[Candidate], more: Candidate) -> bool:
        """Return whether the pod's disruption budget allows its eviction after these."""
        if more.budget is None:
            return True
        gone = sum(1 for each in chosen if each.budget == more.budget)
        return gone < self.budgets[more.budget].allowed

    def _matters(self, each: Candidate, holders: set[str]) -> bool:
        return each.uid in holders or any(self._gives(each)) or bool(self._ports_in_the_way(each))

    def _gives(self, each: Candidate) -> tuple[int, ...]:
        """Return the amounts of short resources that the pod would release."""
        return tuple(
            1 if name == scheduler_sums.PODS else each.amounts.get(name, 0) for name in self._lacks
        )

    def _ports_in_the_way(self, each: Candidate) -> tuple[tuple[int, str, str], ...]:
        wanted = self.pod.constraints.ports if self.pod.constraints is not None else ()
        theirs = each.pod.pod.constraints
        if not wanted or theirs is None:
            return ()
        return tuple(
            (port.number, port.protocol, port.address)
            for port in theirs.ports
            if any(port.conflicts_with(other) for other in wanted)
        )

    def _cheaper_equals(self, holders: set[str]) -> list[int | None]:
        """Return for each pod a cheaper equal one that has to be evicted before it."""
        last: dict[object, int] = {}
        before: list[int | None] = []
        for at, each in enumerate(self._useful):
            # Allocations differ in their places, so their pods are never equal.
            if each.uid in holders:
                before.append(None)
                continue
            kind = (self._gives(each), self._ports_in_the_way(each), each.budget)
            before.append(last.get(kind))
            last[kind] = at
        return before

    def _sums(self) -> Iterator[Need]:
        given = [self._gives(each) for each in self._useful]
        if self._lacks:
            yield [
                [
                    Lack(short, [gives[at] for gives in given])
                    for at, short in enumerate(self._lacks.values())
                ]
            ]


def _lacking(node: Node, asking: Asking) -> dict[str, int]:
    """Return the missing amount by resource, CPU in thousandths; all must be released."""
    if not node.rules.behaviour.predicates_are_asked:
        return {}
    devices, left = node.snapshot.device, scheduler_sums.free(node)
    short = {scheduler_sums.PODS: 1 - left[scheduler_sums.PODS]}
    for name, amount in asking.amounts:
        # An unhealthy device is part of the sum only while it is in use, so an eviction lowers both
        # sides.
        is_ill = devices.in_use.get(name, frozenset()) - devices.inventory.healthy(name)
        if name in left and name != resources.EPHEMERAL_STORAGE and not is_ill:
            short[name] = amount - left[name]
    return {name: amount for name, amount in short.items() if amount > 0}
