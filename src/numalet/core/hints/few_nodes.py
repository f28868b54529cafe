"""All sets of few NUMA nodes, and what the nodes of each have together.

Four nodes have fifteen sets. To try them all is quicker there than to find the best one by rule, so
families of hints list what they offer on so few nodes, and are known by rule on more.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from numalet.core.hints.hint import Hint
from numalet.core.model import numa_mask
from numalet.core.model.numa_mask import NumaMask
from numalet.core.model.value import Value

MOST_NODES: Final = 4


class TriedSets(Value):
    """What is offered after all sets were tried, smaller ones first, and the preferred size."""

    preferred_size: int
    offered: tuple[NumaMask, ...]

    @property
    def preferred(self) -> list[NumaMask]:
        """The sets of the preferred size."""
        size = self.preferred_size
        return [mask for mask in self.offered if mask.bit_count() == size]

    def hints(self) -> Sequence[Hint]:
        """The same as hints."""
        size = self.preferred_size
        return tuple([Hint(mask, mask.bit_count() == size) for mask in self.offered])


def are_few(nodes: NumaMask) -> bool:
    """Whether all sets of these nodes are tried."""
    return nodes.bit_count() <= MOST_NODES


@lru_cache(maxsize=64)
def every_set(nodes: NumaMask) -> tuple[NumaMask, ...]:
    """Every non-empty set, in the order of ``numa_mask.by_size``."""
    return tuple(numa_mask.by_size(numa_mask.ids(nodes)))


@lru_cache(maxsize=64)
def _steps(nodes: NumaMask) -> tuple[tuple[NumaMask, NumaMask, int], ...]:
    """Every set, the same without its highest node, and which of the nodes that is."""
    places = {node_id: at for at, node_id in enumerate(numa_mask.ids(nodes))}
    highest = [(mask, mask.bit_length() - 1) for mask in every_set(nodes)]
    return tuple((mask, mask ^ 1 << node_id, places[node_id]) for mask, node_id in highest)


def sums(nodes: NumaMask, amounts: Sequence[int]) -> dict[NumaMask, int]:
    """What the nodes of every set have together; ``amounts`` are in the order of the node ids."""
    totals = {numa_mask.EMPTY: 0}
    for mask, rest, at in _steps(nodes):
        totals[mask] = totals[rest] + amounts[at]
    return totals
