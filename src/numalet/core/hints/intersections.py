"""Every intersection of one member from each family of sets.

The module has two exact methods and picks the one with the lower estimated cost:

*Folding*: keep the set of intersections over the families so far, and intersect each with
each member of the next family. Good while the families are short.

*Counting*: for a set X let c(X) be the number of members of a family that contain X. The
product of the families' c(X) counts the choices whose intersection contains X. Subtracting
the choices that contain a larger set (Moebius inversion over the subset lattice) leaves
the choices whose intersection is exactly X. X is reachable if that number is not 0. The numbers
are exact integers. For n nodes this takes n * 2^n additions per family of any length.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from operator import add, mul, sub

from numalet.core.model import numa_mask
from numalet.core.model.numa_mask import NumaMask

Family = Set[NumaMask]


def reachable(families: Sequence[Family], all_nodes: NumaMask) -> set[NumaMask]:
    """Return every intersection of one member of each family, the empty set included.

    Members are subsets of ``all_nodes``. Without families the result is ``all_nodes`` alone.
    """
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
