"""Which of two node sets is the better one: smaller, then closer, then lower numbers.

The kubelet compares two merged hints case by case; written as one sort key it is a strict
total order, so that "first found" never matters and the best is a plain minimum:

    preferred                fewer nodes first
    not preferred            exactly ``wanted_size`` nodes, then fewer (the most first), then more
    same number of nodes     smaller mean distance, if distances count; then the smaller integer

``wanted_size`` is the number of nodes that the neediest resource must have. Without it the
narrowest intersection would win and starve that resource.
Kubelet: ``HintMerger.compare`` and ``NUMADistances.CalculateAverageFor``, v1.32.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from numalet.core.model import numa_mask
from numalet.core.model.numa_mask import NumaMask
from numalet.core.model.value import Value

FAR: Final = 1 << 32
"""Stands for a distance that can not be read; no machine has a larger one."""


class Distances(Value):
    """Distance between NUMA nodes by id: ``rows[from][to]``. Need not be symmetric.

    ``readable_ids``: the kubelet takes the distance to a node from that place of a row, and finds
    there only ids below this. None if it finds all; else ``rows`` say ``FAR`` where it does not.
    """

    rows: Mapping[int, Mapping[int, int]]
    readable_ids: Mapping[int, int] | None = None

    def total(self, mask: NumaMask) -> int:
        """Sum over all ordered pairs of the set, a node with itself included.

        Sets of equal size compare by their sums as they compare by their means.
        """
        node_ids = numa_mask.ids(mask)
        return sum(self.rows[i][j] for i in node_ids for j in node_ids)

    def are_readable(self, mask: NumaMask) -> bool:
        """Whether the kubelet finds every distance inside this set, which is not empty."""
        limits = self.readable_ids
        highest = mask.bit_length() - 1
        return limits is None or all(highest < limits[i] for i in numa_mask.ids(mask))


def best_preferred(masks: Iterable[NumaMask], distances: Distances | None) -> NumaMask:
    """The best of several preferred sets; at least one."""
    masks = tuple(masks)
    if len(masks) == 1:
        return masks[0]
    smallest = min([mask.bit_count() for mask in masks])
    return _closest([mask for mask in masks if mask.bit_count() == smallest], distances)


def best_not_preferred(
    masks: Iterable[NumaMask], wanted_size: int, distances: Distances | None
) -> NumaMask:
    """The best of several non-preferred sets; at least one, none of them empty."""
    masks = tuple(masks)
    size = min((mask.bit_count() for mask in masks), key=lambda s: size_rank(s, wanted_size))
    return _closest([mask for mask in masks if mask.bit_count() == size], distances)


def size_rank(size: int, wanted_size: int) -> tuple[int, int]:
    """The place of a number of nodes among non-preferred sets; the smallest is the best."""
    if size == wanted_size:
        return (0, 0)
    if size < wanted_size:
        return (1, -size)
    return (2, size)


def _closest(masks: Iterable[NumaMask], distances: Distances | None) -> NumaMask:
    if distances is None:
        return min(masks)
    return min(masks, key=lambda mask: (distances.total(mask), mask))
