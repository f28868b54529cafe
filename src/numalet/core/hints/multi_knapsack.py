"""Which subsets of a ground set remain when families remove nodes within their slack.

The merge intersects one set of each family, so the result lacks a node if at least one family's set
leaves it out. A set X is reachable if the nodes outside X can be assigned to the families so that
each family can spare its nodes. A family's *slack* is the surplus of its largest set over its need.

This is a multiple knapsack problem. Quick sufficient and necessary tests run first, then an exact
search with memory, which ends when its ``Budget`` is spent. Proofs in docs/explanation/merging.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import accumulate, product
from typing import NamedTuple

from numalet.core.hints.rule import HintRule
from numalet.core.model import numa_mask
from numalet.core.model.numa_mask import NumaMask
from numalet.core.model.value import Mutable

_SCALE = 1 << 96
_MOST_BOUNDS = 16


class BudgetUsedUp(Exception):  # noqa: N818 - not an error
    """Stops a search. The caller falls back to its best feasible set."""


class Budget(Mutable):
    """Number of search-tree nodes that one merge may still visit."""

    left: int

    def spend(self) -> None:
        """Count one visit; raise ``BudgetUsedUp`` if the budget is spent."""
        self.left -= 1
        if self.left < 0:
            raise BudgetUsedUp

    @contextmanager
    def at_most(self, visits: int) -> Iterator[None]:
        """Limit the block to ``visits``; the unused rest returns to the budget afterwards."""
        # The block may overdraw only its own part; what it did not use is available again
        # afterwards.
        kept = max(0, self.left - visits)
        self.left -= kept
        try:
            yield
        finally:
            self.left = max(0, self.left) + kept


class SharingState(NamedTuple):
    """Slack left by account, and the nodes assigned to each family that has shared parts."""

    slack: tuple[int, ...]
    got: tuple[NumaMask, ...]


class _Family:
    """One family: its slack accounts, the cost of leaving out each node, and its mandatory nodes.

    ``shared`` lists parts of several nodes, with their account: a part is lost with its last node.
    """

    def __init__(self, rule: HintRule, ground: NumaMask, first_account: int) -> None:
        open_sets = rule.open_sets
        self.rule = rule
        self.first = first_account
        self.keeps = open_sets.mandatory
        self.slack: list[int] = []
        self.alone: list[dict[NumaMask, int]] = []
        self.shared: list[tuple[NumaMask, int, int]] = []
        for requirement in open_sets.requirements:
            account = first_account + len(self.slack)
            self.slack.append(requirement.reached_by(open_sets.universe) - requirement.need)
            alone: dict[NumaMask, int] = {}
            for part, weight in requirement.parts:
                nodes = part & open_sets.universe
                # No search removes a node outside the ground, so its parts are never lost.
                if not weight or not nodes or nodes & ~ground:
                    continue
                if nodes.bit_count() == 1:
                    alone[nodes] = alone.get(nodes, 0) + weight
                else:
                    self.shared.append((nodes, account, weight))
            self.alone.append(alone)
        self.carriers = numa_mask.union(nodes for nodes, _, _ in self.shared)

    def cost(self, bit: NumaMask) -> tuple[tuple[int, int], ...] | None:
        """Return accounts and costs of leaving out this node alone; None: it must stay."""
        costs = []
        for at, alone in enumerate(self.alone):
            weight = alone.get(bit, 0)
            if weight > self.slack[at]:
                return None
            if weight:
                costs.append((self.first + at, weight))
        return None if bit & self.keeps else tuple(costs)


Cost = tuple[tuple[int, int], ...]
Choice = tuple[int, Cost]
"""A family's index, and its cost of leaving out the node."""


class SharingOut:
    """The assignment problem: one ground set, and the families that may remove nodes from it."""

    def __init__(self, ground: NumaMask, rules: Sequence[HintRule], budget: Budget) -> None:
        self.ground = ground
        self.budget = budget
        self.families: list[_Family] = []
        accounts = 0
        for rule in rules:
            self.families.append(_Family(rule, ground, accounts))
            accounts += len(self.families[-1].slack)
        slack = tuple(each for family in self.families for each in family.slack)
        self.start = SharingState(slack, (numa_mask.EMPTY,) * len(self.families))
        self.choices: dict[NumaMask, list[Choice]] = {}
        self.costless = numa_mask.EMPTY
        for node_id in numa_mask.ids(ground):
            bit = 1 << node_id
            costs = [(at, family.cost(bit)) for at, family in enumerate(self.families)]
            self.choices[bit] = [(at, cost) for at, cost in costs if cost is not None]
            if any(not c and not self.families[at].carriers & bit for at, c in self.choices[bit]):
                self.costless |= bit

    @cached_property
    def kinds(self) -> dict[NumaMask, int]:
        """Number the kinds of nodes: nodes of one kind have the same cost for every family."""
        carriers = numa_mask.union(family.carriers for family in self.families)
        numbers: dict[object, int] = {}
        # A node with a shared part is a kind with one member.
        return {
            bit: numbers.setdefault((choices, bit & carriers), len(numbers))
            for bit, choices in ((bit, tuple(each)) for bit, each in self.choices.items())
        }

    @cached_property
    def is_a_sum(self) -> bool:
        """Return whether the bounds are exact: a set may go if no bound exceeds its slack.

        This holds for one family without shared parts: there is nothing to assign.
        """
        return (
            len(self.families) == 1
            and not self.families[0].carriers
            and len(self.families[0].slack) <= _MOST_BOUNDS
        )

    def charged(self, state: SharingState, choice: Choice, bit: NumaMask) -> SharingState | None:
        """Return the state after assigning the node to this family, if its slack is enough."""
        at, cost = choice
        family = self.families[at]
        slack, got = list(state.slack), state.got
        for account, weight in cost:
            slack[account] -= weight
            if slack[account] < 0:
                return None
        if bit & family.carriers:
            together = got[at] | bit
            got = (*got[:at], together, *got[at + 1 :])
            # A part of several nodes is lost, and charged, only with its last node.
            for nodes, account, weight in family.shared:
                if nodes & bit and numa_mask.contains(together, nodes):
                    slack[account] -= weight
                    if slack[account] < 0:
                        return None
        return SharingState(tuple(slack), got)

    def can_be_shared_greedily(self, out: NumaMask) -> bool:
        """Return whether a greedy assignment of these nodes succeeds; False proves nothing."""
        if self.is_a_sum:
            return not self.is_too_much(out, numa_mask.EMPTY, 0)
        bits = [1 << node_id for node_id in numa_mask.ids(out & ~self.costless)]
        if not all(self.choices[bit] for bit in bits):
            return False
        return any(self._greedily(order) for order in self._orders(bits))

    def _orders(self, bits: list[NumaMask]) -> Iterator[list[NumaMask]]:
        # First order: nodes with few possible families first, the largest cost first among these,
        # as in first-fit decreasing. Second order: nodes first whose second choice would be much
        # worse. Each finds assignments that the other misses.
        yield sorted(bits, key=lambda bit: (len(self.choices[bit]), -self._burden(bit)))
        yield sorted(bits, key=self._regret, reverse=True)

    def _relative(self, choice: Choice, slack: Sequence[int]) -> float:
        """Return the largest share of an account's slack that the node uses; 1 is all of it."""
        return max((weight / max(slack[account], 1) for account, weight in choice[1]), default=0.0)

    def _burden(self, bit: NumaMask) -> float:
        return min(self._relative(choice, self.start.slack) for choice in self.choices[bit])

    def _regret(self, bit: NumaMask) -> float:
        """Return the cost difference between the cheapest family and the second one."""
        costs = sorted(self._relative(choice, self.start.slack) for choice in self.choices[bit])
        return costs[1] - costs[0] if len(costs) > 1 else float("inf")

    def _greedily(self, bits: Iterable[NumaMask]) -> bool:
        state = self.start
        for bit in bits:
            slack = state.slack
            ways = sorted(self.choices[bit], key=lambda choice: self._relative(choice, slack))
            states = (self.charged(state, choice, bit) for choice in ways)
            after = next((each for each in states if each is not None), None)
            if after is None:
                return False
            state = after
        return True

    @cached_property
    def bounds(self) -> list[tuple[dict[NumaMask, int], tuple[int, ...]]]:
        """Surrogate constraints: the least weighted cost of each node, and the weight by account.

        However the nodes are assigned, their weighted costs cannot exceed the weighted slack.
        """
        bounds = []
        accounts = [range(f.first, f.first + len(f.slack)) for f in self.families if f.slack]
        # Each bound weighs one account of each family.
        for chosen in list(product(*accounts))[:_MOST_BOUNDS]:
            weights = [0] * len(self.start.slack)
            for account in chosen:
                # In proportion to the slack, so that every account matters equally.
                weights[account] = _SCALE // max(self.start.slack[account], 1)
            bounds.append((self._least_costs(weights), tuple(weights)))
        return bounds

    def _least_costs(self, weights: Sequence[int]) -> dict[NumaMask, int]:
        return {
            bit: min(
                (sum(weights[account] * cost for account, cost in costs) for _, costs in choices),
                default=_SCALE << 32,
            )
            for bit, choices in self.choices.items()
        }

    def is_too_much(self, must: NumaMask, may: NumaMask, leave: int) -> bool:
        """Return whether a bound forbids removing ``must`` and ``leave`` nodes of ``may``.

        False proves nothing.
        """
        musts = [1 << node_id for node_id in numa_mask.ids(must & ~self.costless)]
        mays = [1 << node_id for node_id in numa_mask.ids(may)]
        # A valid lower bound: it charges each node to the family where that costs least.
        for costs, weights in self.bounds:
            slack = sum(map(int.__mul__, weights, self.start.slack))
            needed = sum(costs[bit] for bit in musts)
            if leave:
                needed += sum(sorted(0 if self.costless & b else costs[b] for b in mays)[:leave])
            if needed > slack:
                return True
        return False

    def share(self, must: NumaMask, may: NumaMask, leave: int) -> NumaMask | None:
        """Return ``must`` and ``leave`` nodes of ``may`` that can be removed together, if any.

        Exact; raises ``BudgetUsedUp``.
        """
        free = may & self.costless
        dear = max(0, leave - free.bit_count())
        shared = _Search(self, must & ~self.costless, may & ~free, dear).run()
        if shared is None:
            return None
        # Nodes without cost: remove the highest ones, so that the remaining set is the lowest.
        keep = free.bit_count() - (leave - dear)
        return shared | (must & self.costless) | (free & ~numa_mask.lowest(free, keep))


class _Search:
    """Depth-first: nodes that must go, expensive ones first; then others, cheap ones first."""

    def __init__(self, problem: SharingOut, must: NumaMask, may: NumaMask, leave: int) -> None:
        self.problem = problem
        costs = problem.bounds[0][0] if problem.bounds else {}
        bits = [1 << node_id for node_id in numa_mask.ids(must)]
        others = [1 << node_id for node_id in numa_mask.ids(may)]
        self.musts = len(bits)
        self.bits = [
            *sorted(bits, key=lambda bit: (-costs.get(bit, 0), bit)),
            *sorted(others, key=lambda bit: (costs.get(bit, 0), -bit)),
        ]
        self.leave = leave
        self.failed: dict[tuple[int, int, tuple[NumaMask, ...]], list[tuple[int, ...]]] = {}
        self._cheapest: dict[int, list[list[int]]] = {}

    def run(self) -> NumaMask | None:
        """Return the removed nodes, if it is possible."""
        return self._rest(0, self.leave, self.problem.start)

    def _rest(self, at: int, leave: int, state: SharingState) -> NumaMask | None:
        self.problem.budget.spend()
        if at >= self.musts and leave == 0:
            return numa_mask.EMPTY
        if len(self.bits) - max(at, self.musts) < leave or self._is_too_much(at, leave, state):
            return None
        key = (at, leave, state.got)
        failed = self.failed.setdefault(key, [])
        # Dominance: a state with at least this slack has failed already.
        if any(all(map(int.__ge__, earlier, state.slack)) for earlier in failed):
            return None
        solution = self._without(at, leave, state)
        if solution is None and at >= self.musts:
            # An optional node may also stay. This branch comes second, because the cheapest
            # optional nodes come first and most solutions remove them.
            solution = self._rest(at + 1, leave, state)
        if solution is None:
            failed.append(state.slack)
        return solution

    def _without(self, at: int, leave: int, state: SharingState) -> NumaMask | None:
        bit = self.bits[at]
        left = leave if at < self.musts else leave - 1
        tried: set[tuple[HintRule, tuple[int, ...], NumaMask]] = set()
        for choice in self.problem.choices[bit]:
            family = self.problem.families[choice[0]]
            own = state.slack[family.first : family.first + len(family.slack)]
            alike = (family.rule, own, state.got[choice[0]])
            if alike in tried:  # the result is the same for each copy of a rule in this state
                continue
            tried.add(alike)
            after = self.problem.charged(state, choice, bit)
            solution = None if after is None else self._rest(at + 1, left, after)
            if solution is not None:
                return solution | bit
        return None

    def _is_too_much(self, at: int, leave: int, state: SharingState) -> bool:
        cheapest = self._cheapest.get(at)
        if cheapest is None:
            cheapest = self._cheapest[at] = self._sums(at)
        for sums, (_, weights) in zip(cheapest, self.problem.bounds, strict=True):
            if sums[leave] > sum(map(int.__mul__, weights, state.slack)):
                return True
        return False

    def _sums(self, at: int) -> list[list[int]]:
        """Return by bound: the cost of nodes that must go plus the cheapest 0, 1, 2 ... others."""
        tables = []
        for costs, _ in self.problem.bounds:
            must = sum(costs[bit] for bit in self.bits[at : self.musts])
            others = sorted(costs[bit] for bit in self.bits[max(at, self.musts) :])
            tables.append([*accumulate(others, initial=must)])
        return tables
