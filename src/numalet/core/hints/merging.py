"""The best merged hint, without walking the cross product of the lists.

The kubelet takes one hint of every list in every possible way, intersects the sets, and keeps
the best result. The result depends only on *which* sets can come out, and by ``fitness`` it is
their minimum. So two questions suffice (proofs in docs/explanation/merging.md):

1. *Preferred stage.* A combination is preferred only if all its hints are, and all their sets
   are one set A. So A must be a preferred hint of every list that does not also say "any node,
   preferred". These A are an intersection of sets of masks.
2. *Non-preferred stage*, only if the first finds nothing. Then every intersection that can be
   reached counts, whatever its flags. If the set that none outranks can be reached, it is the
   answer. Else ``reach`` holds the intersections over the lists so far; where lists are long,
   they are all counted at once (``intersections``).

If no list is empty but nothing is left, or if a list is empty: all nodes, not preferred.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import cast

from numalet.core.hints import fitness, intersections
from numalet.core.hints.filtering import ANY_PREFERRED, HintList
from numalet.core.hints.fitness import Distances
from numalet.core.hints.hint import Hint
from numalet.core.model import numa_mask
from numalet.core.model.numa_mask import NumaMask

_MOST_SETS_COMPARED = 500
"""So many sets of one size are compared by distance; beyond it nothing is known beforehand."""


def merge(
    lists: Sequence[HintList], all_nodes: NumaMask, distances: Distances | None = None
) -> Hint:
    """The kubelet's best merged hint of these lists (``HintMerger.Merge``, v1.32).

    ``all_nodes`` is the set of the machine's NUMA nodes; ``distances`` is given only if the
    option prefer-closest-numa-nodes counts.
    """
    preferred = _preferred_sets(lists, all_nodes)
    if preferred:
        return Hint(fitness.best_preferred(preferred, distances), True)
    return not_preferred(lists, all_nodes, distances)


def not_preferred(
    lists: Sequence[HintList], all_nodes: NumaMask, distances: Distances | None = None
) -> Hint:
    """The best merged hint of lists out of which no preferred one can come."""
    if not all(lists):
        return Hint(all_nodes, False)
    # Most managers have nothing to say of most containers, and that changes nothing.
    lists = [hints for hints in lists if hints is not ANY_PREFERRED]
    if all(hints[0].mask is None and len(hints) == 1 for hints in lists):
        return Hint(all_nodes, False)
    wanted = size_of_the_neediest(lists)
    ideal = _ideal_set(wanted, all_nodes, distances)
    if ideal is not None and _surely_comes_out(ideal, lists, all_nodes):
        return Hint(ideal, False)
    reached = reached_sets(lists, all_nodes)
    if not reached:
        return Hint(all_nodes, False)
    return Hint(fitness.best_not_preferred(reached, wanted, distances), False)


def _distinct(lists: Sequence[HintList]) -> Sequence[HintList]:
    """Each list object once: resources of one provider often share one list."""
    return lists if len(lists) == 1 else list({id(hints): hints for hints in lists}.values())


def named_by_all(lists: Sequence[HintList]) -> set[NumaMask] | None:
    """The sets that every list prefers, as written; None if every list prefers any node."""
    common: set[NumaMask | None] | None = None
    for hints in _distinct(lists):
        named = {mask for mask, preferred in hints if preferred}
        if None not in named:
            common = named if common is None else common & named
    return cast("set[NumaMask] | None", common)


def _preferred_sets(lists: Sequence[HintList], all_nodes: NumaMask) -> set[NumaMask]:
    common = named_by_all(lists)
    if common is None:
        hints = (hint for one in _distinct(lists) for hint in one if hint.preferred)
        common = {hint.mask for hint in hints if hint.mask is not None} | {all_nodes}
    # Sets are compared as they were written; only then are foreign node ids cut off.
    return {mask & all_nodes for mask in common} - {0}


def _ideal_set(wanted: int, all_nodes: NumaMask, distances: Distances | None) -> NumaMask | None:
    """The set that none outranks, whatever can come out; None if it would take long to find."""
    nodes = all_nodes.bit_count()
    if not 0 < wanted <= nodes:
        return None
    if distances is None:
        return numa_mask.lowest(all_nodes, wanted)
    if math.comb(nodes, wanted) > _MOST_SETS_COMPARED:
        return None
    sets = map(numa_mask.of, combinations(numa_mask.ids(all_nodes), wanted))
    return fitness.best_not_preferred(sets, wanted, distances)


def _surely_comes_out(mask: NumaMask, lists: Sequence[HintList], all_nodes: NumaMask) -> bool:
    """A quick yes: one list has this very set, and every list has it or a larger one."""

    def cut(hints: HintList) -> Iterator[NumaMask]:
        return (all_nodes if hint.mask is None else hint.mask & all_nodes for hint in hints)

    distinct = _distinct(lists)
    return any(mask in cut(hints) for hints in distinct) and all(
        any(numa_mask.contains(each, mask) for each in cut(hints)) for hints in distinct
    )


def reached_sets(lists: Sequence[HintList], all_nodes: NumaMask) -> set[NumaMask]:
    """Every set that can come out of these lists, whatever its flags; never the empty one."""
    families = [
        {all_nodes if hint.mask is None else hint.mask & all_nodes for hint in hints}
        for hints in lists
    ]
    return intersections.reachable(families, all_nodes) - {0}


def size_of_the_neediest(lists: Sequence[HintList]) -> int:
    """Nodes that the neediest list must have: the largest of the lists' smallest sets."""
    sizes = [
        min([mask.bit_count() for mask, _ in hints if mask is not None], default=0)
        for hints in _distinct(lists)
    ]
    return max(sizes, default=0)
