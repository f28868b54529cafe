"""The best merged hint, without walking the cross product of the lists.

The kubelet takes one hint of every list in every possible way, intersects the sets, and keeps
the best result. The result depends only on *which* sets can come out, and by ``fitness`` it is
their minimum. So two questions suffice (proofs in docs/explanation/merging.md):

1. *Preferred stage.* A combination is preferred only if all its hints are, and all their sets
   are one set A. So A must be a preferred hint of every list that does not also say "any node,
   preferred". These A are an intersection of sets of masks.
2. *Non-preferred stage*, only if the first finds nothing. Then every intersection that can be
   reached counts, whatever its flags. ``reach`` holds the intersections over the lists so far;
   where lists are long, they are all counted at once (``intersections``).

If no list is empty but nothing is left, or if a list is empty: all nodes, not preferred.
"""

from __future__ import annotations

from collections.abc import Sequence

from numalet.hints import fitness, intersections
from numalet.hints.filtering import HintList
from numalet.hints.fitness import Distances
from numalet.hints.hint import Hint
from numalet.model.numa_mask import NumaMask


def merge(
    lists: Sequence[HintList], all_nodes: NumaMask, distances: Distances | None = None
) -> Hint:
    """The kubelet's best merged hint of these lists (``HintMerger.Merge``, v1.32).

    ``all_nodes`` is the set of the machine's NUMA nodes; ``distances`` is given only if the
    option prefer-closest-numa-nodes counts.
    """
    if not all(lists):
        return Hint(all_nodes, False)
    preferred = _preferred_sets(lists, all_nodes)
    if preferred:
        return Hint(fitness.best_preferred(preferred, distances), True)
    reached = reached_sets(lists, all_nodes)
    if not reached:
        return Hint(all_nodes, False)
    wanted = size_of_the_neediest(lists)
    return Hint(fitness.best_not_preferred(reached, wanted, distances), False)


def _distinct(lists: Sequence[HintList]) -> list[HintList]:
    """Each list object once: resources of one provider often share one list."""
    return list({id(hints): hints for hints in lists}.values())


def named_by_all(lists: Sequence[HintList]) -> set[NumaMask] | None:
    """The sets that every list prefers, as written; None if every list prefers any node."""
    common: set[NumaMask] | None = None
    for hints in _distinct(lists):
        masks = {mask for mask, preferred in hints if preferred}
        if None not in masks:
            named = {mask for mask in masks if mask is not None}
            common = named if common is None else common & named
    return common


def _preferred_sets(lists: Sequence[HintList], all_nodes: NumaMask) -> set[NumaMask]:
    common = named_by_all(lists)
    if common is None:
        hints = (hint for one in _distinct(lists) for hint in one if hint.preferred)
        common = {hint.mask for hint in hints if hint.mask is not None} | {all_nodes}
    # Sets are compared as they were written; only then are foreign node ids cut off.
    return {mask & all_nodes for mask in common} - {0}


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
        min((hint.mask.bit_count() for hint in hints if hint.mask is not None), default=0)
        for hints in _distinct(lists)
    ]
    return max(sizes, default=0)
