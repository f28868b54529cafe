"""The best merged hint of families given by rule, on up to 64 NUMA nodes.

The two stages of ``merging``, with predicates instead of lists. Exact, except if the second stage
spends its budget; then the result is ``bounded``. Proofs in docs/explanation/merging.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import TypeAlias

from numalet.core.hints import filtering, fitness, merging, nearest_set, remaining_set
from numalet.core.hints.filtering import HintList, Offer, Ruled
from numalet.core.hints.fitness import Distances
from numalet.core.hints.lowest_set import LowestSet
from numalet.core.hints.multi_knapsack import Budget, SharingOut
from numalet.core.hints.provider import Hint
from numalet.core.hints.remaining_set import Remaining
from numalet.core.hints.requirement import OpenSets
from numalet.core.hints.rule import MOST_NODES_LISTED, HintRule
from numalet.core.model import numa_mask
from numalet.core.model.numa_mask import NumaMask
from numalet.core.model.value import Value

MOST_NODES_SEARCHED = 300_000
"""Budget of one merge: nodes of search trees visited in the non-preferred stage."""

Rank: TypeAlias = tuple[tuple[int, int], int, NumaMask]
"""Class and size, distance, set; the smallest rank is the best."""


class BestHint(Value):
    """The merged hint; ``bounded`` if the search for the best one was stopped."""

    hint: Hint
    bounded: bool = False


class _Group(Value):
    """The sets that remain of ``ground``; each copy of a rule may remove nodes."""

    ground: NumaMask
    rules: tuple[HintRule, ...]


def merge(
    offers: Sequence[Offer],
    all_nodes: NumaMask,
    distances: Distances | None = None,
    budget: int | None = None,
) -> BestHint:
    """Return the kubelet's best merged hint of the offers (``HintMerger.Merge``, v1.32).

    ``budget`` replaces ``MOST_NODES_SEARCHED``.
    """
    lists = [offer for offer in offers if not isinstance(offer, Ruled)]
    if len(lists) == len(offers):
        return BestHint(merging.merge(lists, all_nodes, distances))
    rules = [offer.rule for offer in offers if isinstance(offer, Ruled)]
    # A provider without any hint leaves the kubelet no combination to try.
    if not all(lists) or any(rule.is_empty for rule in rules):
        return BestHint(Hint(all_nodes, False))
    preferred = _preferred(lists, list(dict.fromkeys(rules)), all_nodes, distances)
    if preferred is not None:
        return BestHint(Hint(preferred, True))
    remaining = _not_preferred(lists, rules, all_nodes, distances, _budget(budget))
    if remaining is None:
        return BestHint(Hint(all_nodes, False))
    # On a machine of this size the full lists are slow but possible, and their merge is exact.
    if not remaining.exact and all_nodes.bit_count() <= MOST_NODES_LISTED:
        return BestHint(merging.merge(filtering.written_out(offers), all_nodes, distances))
    return BestHint(Hint(remaining.mask, False), bounded=not remaining.exact)


def _budget(budget: int | None) -> Budget:
    return Budget(MOST_NODES_SEARCHED if budget is None else budget)


def _preferred(
    lists: Sequence[HintList],
    rules: Sequence[HintRule],
    all_nodes: NumaMask,
    distances: Distances | None,
) -> NumaMask | None:
    named = merging.named_by_all(lists)
    if named is not None:
        common = [mask & all_nodes for mask in named if _all_prefer(rules, mask)]
        return fitness.best_preferred(common, distances) if common else None
    # Preferred sets have one size for all families. Each island is tried; one search covers the
    # rest.
    for size in _preferred_sizes(rules, all_nodes.bit_count()):
        islands = (island for rule in rules for island in rule.islands)
        preferred = [
            mask for mask in islands if mask.bit_count() == size and _all_prefer(rules, mask)
        ]
        in_open_sets = nearest_set.best(_all_open(rules, size), size, distances)
        if in_open_sets is not None:
            preferred.append(in_open_sets)
        if preferred:
            return fitness.best_preferred(preferred, distances)
    return None


def _all_prefer(rules: Iterable[HintRule], mask: NumaMask) -> bool:
    return all(rule.offers(mask) and rule.prefers(mask) for rule in rules)


def _preferred_sizes(rules: Iterable[HintRule], nodes: int) -> Iterable[int]:
    """Return the possible sizes of a set that all prefer; any, if all rules are about sockets."""
    fixed = {rule.preferred_size for rule in rules if rule.spanning is None}
    if not fixed:
        return range(1, nodes + 1)
    return fixed if len(fixed) == 1 else ()


def _all_open(rules: Sequence[HintRule], size: int) -> LowestSet:
    if len(rules) == 1 and (rules[0].spanning is None or rules[0].preferred_size == size):
        return rules[0].open_search
    universe = rules[0].open_sets.universe
    for rule in rules:
        universe &= rule.open_sets.universe
    mandatory = numa_mask.union(rule.open_sets.mandatory for rule in rules)
    requirements = [each for rule in rules for each in rule.open_sets.requirements]
    spanning = [
        rule.spanning for rule in rules if rule.spanning is not None and rule.preferred_size != size
    ]
    return LowestSet(OpenSets(universe, mandatory, tuple(requirements)), spanning)


def _not_preferred(
    lists: Sequence[HintList],
    rules: Sequence[HintRule],
    all_nodes: NumaMask,
    distances: Distances | None,
    budget: Budget,
) -> Remaining | None:
    """Return the best reachable set, unless only the empty set is reachable."""
    if len(rules) == 1 and distances is None and _say_nothing(lists):
        of_rule = _smallest(rules[0], all_nodes)
        if of_rule is not None:
            return Remaining(of_rule, exact=True)
    wanted = max(merging.size_of_the_neediest(lists), *(rule.smallest_size for rule in rules))

    def rank(mask: NumaMask) -> Rank:
        distance = 0 if distances is None else distances.total(mask)
        return (fitness.size_rank(mask.bit_count(), wanted), distance, mask)

    best: Remaining | None = None
    exact = True
    # Each island, each set of the explicit lists, and the open part make a group. The best of the
    # groups' best sets is the answer; the most promising group first, so that others need no
    # search.
    for hope, group in sorted(
        ((_hope(group, wanted), group) for group in _groups(lists, rules, all_nodes)),
        key=lambda pair: pair[0],
    ):
        if best is not None and not _may_be_better(hope, rank(best.mask), distances):
            break
        of_group = _best_of_group(group, wanted, distances, budget)
        exact = exact and of_group.exact
        if best is None or rank(of_group.mask) < rank(best.mask):
            best = of_group
    return None if best is None else Remaining(best.mask, exact)


def _say_nothing(lists: Sequence[HintList]) -> bool:
    return all(hint.mask is None for hints in lists for hint in hints)


def _smallest(rule: HintRule, all_nodes: NumaMask) -> NumaMask | None:
    """Return the best set of the only rule, unless the rule may name unknown nodes.

    Its size is the wanted one: the size of the rule's smallest sets.
    """
    if rule.nodes & ~all_nodes:
        return None
    smallest = [*rule.islands, *([] if rule.smallest_open is None else [rule.smallest_open])]
    return min(smallest, key=lambda mask: (mask.bit_count(), mask))


def _hope(group: _Group, wanted: int) -> Rank:
    """Return a bound: no set of the group ranks better, ignoring distances."""
    size = group.ground.bit_count()
    if group.rules:
        size = min(size, wanted)
    return (fitness.size_rank(size, wanted), 0, numa_mask.lowest(group.ground, size))


def _may_be_better(hope: Rank, best: Rank, distances: Distances | None) -> bool:
    # A bound does not know distances. A group of an equally good size may contain a closer set, so
    # it has to be searched.
    return hope < best if distances is None else hope[0] <= best[0]


def _best_of_group(
    group: _Group, wanted: int, distances: Distances | None, budget: Budget
) -> Remaining:
    if not group.rules:
        return Remaining(group.ground, True)
    problem = SharingOut(group.ground, group.rules, budget)
    known = _known(group, wanted)
    if distances is None:
        return remaining_set.best(problem, wanted, known)
    return nearest_set.best_remaining(problem, wanted, known, distances)


def _known(group: _Group, wanted: int) -> NumaMask | None:
    """Return a reachable set of the wanted size that one rule alone gives, if any."""
    if group.ground.bit_count() < wanted:
        return None
    for rule in group.rules:
        core = (rule.smallest_open or numa_mask.EMPTY) & group.ground
        if core.bit_count() <= wanted:
            # The smallest set of a rule stays a set of it with more nodes; the other rules keep
            # everything.
            others = group.ground & ~core
            return core | numa_mask.lowest(others, wanted - core.bit_count())
    return None


def _groups(
    lists: Sequence[HintList], rules: Sequence[HintRule], all_nodes: NumaMask
) -> Iterator[_Group]:
    # Two resources with equal rules may still take different sets, so their number matters and not
    # only which rules there are.
    copies = Counter(rules)
    ways = [list(_ways(rule, count, all_nodes)) for rule, count in copies.items()]
    for fixed in sorted(merging.reached_sets(lists, all_nodes)):
        for chosen in product(*ways):
            ground, open_rules = fixed, []
            for rule, (island, count) in zip(copies, chosen, strict=True):
                ground &= island & rule.open_sets.universe if count else island
                open_rules += [rule] * count
            if ground:
                yield _Group(ground, tuple(open_rules))


def _ways(rule: HintRule, copies: int, all_nodes: NumaMask) -> Iterator[tuple[NumaMask, int]]:
    """Yield the choices of a rule's copies: the islands' intersection, and how many stay open."""
    if rule.has_open_sets:
        yield all_nodes, copies
    for island, used in _intersections(rule.islands, copies).items():
        yield island, 0
        if rule.has_open_sets and island & rule.open_sets.universe:
            for count in range(1, copies - used + 1):
                yield island, count


def _intersections(islands: Sequence[NumaMask], most: int) -> dict[NumaMask, int]:
    """Return the non-empty intersections of up to ``most`` islands, and the islands each takes."""
    intersections = dict.fromkeys(islands, 1)
    if numa_mask.union(islands).bit_count() == sum(map(int.bit_count, islands)):
        # Disjoint islands, the usual case: only a broken group makes islands overlap.
        return intersections
    for used in range(2, most + 1):
        for mask in {a & b for a in intersections for b in islands} - intersections.keys() - {0}:
            intersections[mask] = used
    return intersections
