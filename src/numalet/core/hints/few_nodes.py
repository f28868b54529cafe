"""All sets of up to four NUMA nodes, and the sum of an amount over each set.

Four nodes have fifteen sets. Trying them all is faster than a search by rule, so families of hints
are lists on so few nodes and rules on more.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from numalet.core.hints.provider import Hint
from numalet.core.model import numa_mask
from numalet.core.model.numa_mask import NumaMask
from numalet.core.model.value import Value

MOST_NODES: Final = 4


class TriedSets(Value):
    """The sets that passed a full enumeration, smaller ones first, and the preferred size."""

    preferred_size: int
    offered: tuple[NumaMask, ...]

    @property
    def preferred(self) -> list[NumaMask]:
        size = self.preferred_size
        return [mask for mask in self.offered if mask.bit_count() == size]

    def hints(self) -> Sequence[Hint]:
        size = self.preferred_size
        return tuple([Hint(mask, mask.bit_count() == size) for mask in self.offered])


def are_few(nodes: NumaMask) -> bool:
    return nodes.bit_count() <= MOST_NODES


@lru_cache(maxsize=64)
def every_set(nodes: NumaMask) -> tuple[NumaMask, ...]:
    """Return every non-empty set, in the order of ``numa_mask.by_size``."""
    return tuple(numa_mask.by_size(numa_mask.ids(nodes)))


@lru_cache(maxsize=64)
def _steps(nodes: NumaMask) -> tuple[tuple[NumaMask, NumaMask, int], ...]:
    """Return each set, the set without its highest node, and that node's index."""
    places = {node_id: at for at, node_id in enumerate(numa_mask.ids(nodes))}
    highest = [(mask, mask.bit_length() - 1) for mask in every_set(nodes)]
    return tuple((mask, mask ^ 1 << node_id, places[node_id]) for mask, node_id in highest)


def sums(nodes: NumaMask, amounts: Sequence[int]) -> dict[NumaMask, int]:
    """Return the sum over the nodes of every set; ``amounts`` are in the order of the node ids."""
    totals = {numa_mask.EMPTY: 0}
    # Smaller sets come first, so the sum without the highest node is already there: one addition
    # per set instead of one per node.
    for mask, rest, at in _steps(nodes):
        totals[mask] = totals[rest] + amounts[at]
    return totals
