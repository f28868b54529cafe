"""The best merged hint, without walking the cross product of the lists.

The kubelet takes one hint of every list in every possible way, intersects the sets, and keeps the
best result. The result depends only on *which* intersections are reachable: by ``fitness`` it is
their minimum. Two stages are enough, the second only if the first finds nothing (proofs in
docs/explanation/merging.md).

If a list is empty, or every intersection is empty, the result is all nodes, not preferred.
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
"""Maximum number of sets of one size that ``_ideal_set`` compares by distance."""


def merge(
    lists: Sequence[HintList], all_nodes: NumaMask, distances: Distances | None = None
) -> Hint:
    """Return the kubelet's best merged hint of these lists (``HintMerger.Merge``, v1.32).

    ``all_nodes`` is the set of the machine's NUMA nodes. Pass ``distances`` only with the option
    prefer-closest-numa-nodes.
    """
    preferred = _preferred_sets(lists, all_nodes)
    if preferred:
        return Hint(fitness.best_preferred(preferred, distances), True)
    return not_preferred(lists, all_nodes, distances)


def not_preferred(
    lists: Sequence[HintList], all_nodes: NumaMask, distances: Distances | None = None
) -> Hint:
    """Return the best merged hint of lists that have no preferred one in common."""
    if not all(lists):
        return Hint(all_nodes, False)
    # "Any node, preferred" cuts no intersection. Most managers answer it for most containers.
    lists = [hints for hints in lists if hints is not ANY_PREFERRED]
    if all(hints[0].mask is None and len(hints) == 1 for hints in lists):
        return Hint(all_nodes, False)
    wanted = size_of_the_neediest(lists)
    # Every reachable intersection is a candidate, with any flags. If the set with the best
    # possible rank is reachable, it is the answer, and no other set needs to be found.
    ideal = _ideal_set(wanted, all_nodes, distances)
    if ideal is not None and _surely_comes_out(ideal, lists, all_nodes):
        return Hint(ideal, False)
    reached = reached_sets(lists, all_nodes)
    if not reached:
        return Hint(all_nodes, False)
    return Hint(fitness.best_not_preferred(reached, wanted, distances), False)


def _distinct(lists: Sequence[HintList]) -> Sequence[HintList]:
    """Return each list object once: resources of one provider often share one list."""
    return lists if len(lists) == 1 else list({id(hints): hints for hints in lists}.values())


def named_by_all(lists: Sequence[HintList]) -> set[NumaMask] | None:
    """Return the sets that every list prefers; None: every list prefers any node."""
    common: set[NumaMask | None] | None = None
    for hints in _distinct(lists):
        named = {mask for mask, preferred in hints if preferred}
        if None not in named:
            common = named if common is None else common & named
    return cast("set[NumaMask] | None", common)


def _preferred_sets(lists: Sequence[HintList], all_nodes: NumaMask) -> set[NumaMask]:
    # A combination is preferred only if all its hints are preferred and have one set. That set
    # must be a preferred hint of every list, except of those that say "any node, preferred".
    common = named_by_all(lists)
    if common is None:
        hints = (hint for one in _distinct(lists) for hint in one if hint.preferred)
        common = {hint.mask for hint in hints if hint.mask is not None} | {all_nodes}
    # Like the kubelet, compare the sets first and remove unknown node ids afterwards.
    return {mask & all_nodes for mask in common} - {0}


def _ideal_set(wanted: int, all_nodes: NumaMask, distances: Distances | None) -> NumaMask | None:
    """Return the set with the best possible rank, unless it is too slow to find."""
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
    """Return whether one list has this set and all others have a superset; False proves nothing."""

    def cut(hints: HintList) -> Iterator[NumaMask]:
        return (all_nodes if hint.mask is None else hint.mask & all_nodes for hint in hints)

    distinct = _distinct(lists)
    return any(mask in cut(hints) for hints in distinct) and all(
        any(numa_mask.contains(each, mask) for each in cut(hints)) for hints in distinct
    )


def reached_sets(lists: Sequence[HintList], all_nodes: NumaMask) -> set[NumaMask]:
    families = [
        {all_nodes if hint.mask is None else hint.mask & all_nodes for hint in hints}
        for hints in lists
    ]
    return intersections.reachable(families, all_nodes) - {0}


def size_of_the_neediest(lists: Sequence[HintList]) -> int:
    sizes = [
        min([mask.bit_count() for mask, _ in hints if mask is not None], default=0)
        for hints in _distinct(lists)
    ]
    return max(sizes, default=0)
