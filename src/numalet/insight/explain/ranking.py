"""How the merge ranked the possible sets of NUMA nodes, best first.

A *finalist* is the intersection of one hint from each list. If some are preferred, the others are
left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cmp_to_key
from typing import TypeAlias

from numalet.core.admission.roster import Roster
from numalet.core.config.rules import TopologyPolicy
from numalet.core.hints import filtering, fitness, merging
from numalet.core.hints.filtering import HintList
from numalet.core.hints.provider import Hint, ProviderHints
from numalet.core.model.numa_mask import NumaMask
from numalet.core.model.value import Value

_Best: TypeAlias = Callable[[tuple[NumaMask, NumaMask]], NumaMask]

MOST_NODES = 10
"""Larger machines have too many sets to list; there only the best one is known."""


class Ranking(Value):
    """The finalists, best first. ``wanted_size`` is the size that the neediest resource requires.

    Empty if every intersection is empty, or the policy uses no hint of some list.
    """

    finalists: tuple[Hint, ...]
    wanted_size: int
    by_distance: bool


def rank(roster: Roster, answers: Sequence[ProviderHints]) -> Ranking | None:
    """Return the finalists of these answers, on machines with at most ``MOST_NODES``."""
    if roster.all_nodes.bit_count() > MOST_NODES:
        return None
    offers = filtering.lists_of(answers)
    lists, distances = filtering.written_out(offers), roster.distances
    if roster.rules.topology.policy is TopologyPolicy.SINGLE_NUMA_NODE:
        # With single-numa-node all finalists have one node, so distances cannot order them.
        lists, distances = filtering.single_node_only(offers), None
    wanted = merging.size_of_the_neediest(lists)
    if not all(lists):
        return Ranking((), wanted, by_distance=False)
    preferred = _preferred(lists, roster.all_nodes)
    if preferred:
        ordered = _sorted(preferred, lambda two: fitness.best_preferred(two, distances))
    else:
        ordered = _sorted(
            merging.reached_sets(lists, roster.all_nodes),
            lambda two: fitness.best_not_preferred(two, wanted, distances),
        )
    is_preferred = bool(preferred)
    finalists = tuple(Hint(mask, is_preferred) for mask in ordered)
    return Ranking(finalists, wanted, by_distance=distances is not None)


def _preferred(lists: Sequence[HintList], all_nodes: NumaMask) -> set[NumaMask]:
    """Return the sets that the merge would return as preferred."""
    # The merge itself runs with the lists reduced to one set, so that no rule is repeated here.
    offered = {all_nodes} | {
        hint.mask & all_nodes for hints in lists for hint in hints if hint.mask is not None
    }
    return {mask for mask in offered if _alone(lists, mask, all_nodes) == Hint(mask, True)}


def _alone(lists: Sequence[HintList], mask: NumaMask, all_nodes: NumaMask) -> Hint:
    cut_down = [
        tuple(hint for hint in hints if hint.mask is None or hint.mask & all_nodes == mask)
        for hints in lists
    ]
    return merging.merge(cut_down, all_nodes)


def _sorted(masks: set[NumaMask], best: _Best) -> list[NumaMask]:
    def compare(one: NumaMask, other: NumaMask) -> int:
        return -1 if best((one, other)) == one else 1

    # Sorted before, so that ties are in the same order in every run.
    return sorted(sorted(masks), key=cmp_to_key(compare))
