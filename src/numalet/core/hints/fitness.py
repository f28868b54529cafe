"""Which of two node sets is better: the smaller, then the closer, then the lower number.

The kubelet compares two merged hints case by case. This module states the same order as a sort key.
It is a strict total order, so the best set is a plain minimum and the order of the candidates does
not matter::

    preferred                fewer nodes first
    not preferred            exactly ``wanted_size`` nodes, then fewer (the most first), then more
    same number of nodes     smaller mean distance, if distances count; then the smaller integer

``wanted_size`` is the number of nodes that the neediest resource requires. Without it the narrowest
intersection would win and starve that resource. Kubelet: ``HintMerger.compare`` and
``NUMADistances.CalculateAverageFor``, v1.32.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from numalet.core.model import numa_mask
from numalet.core.model.numa_mask import NumaMask
from numalet.core.model.value import Value

FAR: Final = 1 << 32
"""Replaces an unreadable distance; larger than the distances of any machine."""


class Distances(Value):
    """Distance between NUMA nodes by id: ``rows[from][to]``. Need not be symmetric.

    ``readable_ids``: the kubelet uses a node's id as an index into a row, and so reads only ids
    below this limit of the row. If it is None, every id is readable, or ``rows`` has ``FAR`` where
    the kubelet reads nothing.
    """

    rows: Mapping[int, Mapping[int, int]]
    readable_ids: Mapping[int, int] | None = None

    def total(self, mask: NumaMask) -> int:
        """Return the sum over all ordered pairs of the set, each node with itself included.

        Sets of equal size have the same order by sum as by mean.
        """
        node_ids = numa_mask.ids(mask)
        return sum(self.rows[i][j] for i in node_ids for j in node_ids)

    def are_readable(self, mask: NumaMask) -> bool:
        """Return whether the kubelet can read every distance inside this non-empty set."""
        limits = self.readable_ids
        highest = mask.bit_length() - 1
        return limits is None or all(highest < limits[i] for i in numa_mask.ids(mask))


def best_preferred(masks: Iterable[NumaMask], distances: Distances | None) -> NumaMask:
    """Return the best of at least one preferred set."""
    masks = tuple(masks)
    if len(masks) == 1:
        return masks[0]
    smallest = min([mask.bit_count() for mask in masks])
    return _closest([mask for mask in masks if mask.bit_count() == smallest], distances)


def best_not_preferred(
    masks: Iterable[NumaMask], wanted_size: int, distances: Distances | None
) -> NumaMask:
    """Return the best of at least one non-preferred, non-empty set."""
    masks = tuple(masks)
    size = min((mask.bit_count() for mask in masks), key=lambda s: size_rank(s, wanted_size))
    return _closest([mask for mask in masks if mask.bit_count() == size], distances)


def size_rank(size: int, wanted_size: int) -> tuple[int, int]:
    """Rank a number of nodes among non-preferred sets; the smallest rank is the best."""
    if size == wanted_size:
        return (0, 0)
    if size < wanted_size:
        # Below the wanted size the kubelet prefers the larger set: it is closer to the need of the
        # neediest resource.
        return (1, -size)
    return (2, size)


def _closest(masks: Iterable[NumaMask], distances: Distances | None) -> NumaMask:
    if distances is None:
        return min(masks)
    return min(masks, key=lambda mask: (distances.total(mask), mask))
