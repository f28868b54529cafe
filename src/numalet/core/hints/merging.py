"""The best merged hint, without walking the cross product of the lists.

The kubelet takes one hint of every list in every possible way, intersects the sets, and keeps the
best result. The result depends only on *which* intersections are reachable: by ``fitness`` it is
their minimum. Two stages are enough, the second only if the first finds nothing (proofs in
docs/explanation/merging.md).

If a list is empty, or every intersection is empty, the result is all nodes, not preferred.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence, Set
from itertools import combinations
from operator import add, mul, sub
from typing import cast

from numalet.core.hints import fitness
from numalet.core.hints.filtering import ANY_PREFERRED, HintList
from numalet.core.hints.fitness import Distances
from numalet.core.hints.provider import Hint
from numalet.core.model import numa_mask
from numalet.core.model.numa_mask import NumaMask

Family = Set[NumaMask]


# ``reachable`` has two exact methods and uses the one with the lower estimated cost:
#
# *Folding*: keep the set of intersections over the families so far, and intersect each with
# each member of the next family. Good while the families are short.
#
# *Counting*: for a set X let c(X) be the number of members of a family that contain X. The
# product of the families' c(X) counts the choices whose intersection contains X. Subtracting
# the choices that contain a larger set (Moebius inversion over the subset lattice) leaves
# the choices whose intersection is exactly X. X is reachable if that number is not 0. The numbers
# are exact integers. For n nodes this takes n * 2^n additions per family of any length.


def reachable(families: Sequence[Family], all_nodes: NumaMask) -> set[NumaMask]:
    """Return every intersection of one member of each family, the empty set included.

    Members are subsets of ``all_nodes``. Without families the result is ``all_nodes`` alone.
    """
    # Short families first: they keep the set of intersections small for the longest time.
    families = sorted(families, key=len)
    sets = 1 << all_nodes.bit_count()
    reach: set[NumaMask] = {all_nodes}
    for position, family in enumerate(families):
        remaining = families[position:]
        counting_cost = (len(remaining) + 2) * sets * all_nodes.bit_count()
        # ``reach`` never exceeds the number of sets, which bounds the cost of a step.
        folding_cost = min(len(reach) * len(family), sets * len(family)) * len(remaining)
        if folding_cost > counting_cost:
            return by_counting([reach, *remaining], all_nodes)
        reach = {a & b for a in reach for b in family}
    return reach


def by_counting(families: Sequence[Family], all_nodes: NumaMask) -> set[NumaMask]:
    """The method *counting*: one inversion for all sets."""
    bits = [1 << node_id for node_id in numa_mask.ids(all_nodes)]
    masks = _subsets_by_position(bits)
    position_of = {mask: position for position, mask in enumerate(masks)}
    product = [1] * len(masks)
    for family in families:
        counts = [0] * len(masks)
        for member in family:
            counts[position_of[member]] += 1
        _sum_over_supersets(counts, len(bits))
        # c(X) for every X; the product over the families counts the choices that contain X.
        product = list(map(mul, product, counts))
    # Moebius inversion: what remains at X counts the choices that give exactly X.
    _undo_sum_over_supersets(product, len(bits))
    return {masks[position] for position, count in enumerate(product) if count}


def _subsets_by_position(bits: Sequence[int]) -> list[NumaMask]:
    """Return all subsets of the nodes; bit i of a subset's position stands for the i-th node."""
    masks = [0]
    for bit in bits:
        masks += [mask | bit for mask in masks]
    return masks


def _sum_over_supersets(counts: list[int], nodes: int) -> None:
    for without, having in _pairs_of_slices(nodes):
        counts[without] = map(add, counts[without], counts[having])


def _undo_sum_over_supersets(counts: list[int], nodes: int) -> None:
    for without, having in _pairs_of_slices(nodes):
        counts[without] = map(sub, counts[without], counts[having])


def _pairs_of_slices(nodes: int) -> Iterator[tuple[slice, slice]]:
    """Yield the positions without a node and the same positions with it, node by node.

    A node's positions form blocks of ``step``. The shorter list of slices wins: one slice for each
    block, or one stride through all blocks for each place in a block.
    """
    size = 1 << nodes
    for node in range(nodes):
        step = 1 << node
        if step * step < size:
            for place in range(step):
                yield slice(place, size, 2 * step), slice(place + step, size, 2 * step)
        else:
            for start in range(0, size, 2 * step):
                yield slice(start, start + step), slice(start + step, start + 2 * step)


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
    # Identity is enough: ``filtering`` uses this one object for every such list. An equal list from
    # elsewhere stays in and changes only the time.
    lists = [hints for hints in lists if hints is not ANY_PREFERRED]
    # Only "any node, not preferred" is left, so every intersection is the whole machine.
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
        # Every list accepts any node as preferred. Then each preferred set of one list alone is a
        # result, and all nodes as well.
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
    return reachable(families, all_nodes) - {0}


def size_of_the_neediest(lists: Sequence[HintList]) -> int:
    sizes = [
        min([mask.bit_count() for mask, _ in hints if mask is not None], default=0)
        for hints in _distinct(lists)
    ]
    return max(sizes, default=0)
