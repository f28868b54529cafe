"""The best set of nodes that the Memory Manager finds by itself.

Needed when the merged hint names no nodes ("any"), and when its nodes have too little room
because another resource cut them down. Best is: preferred, then fewer nodes, then the lower
numbers. Kubelet: ``getDefaultHint``, ``extendTopologyManagerHint``, v1.32.
"""

from __future__ import annotations

from collections.abc import Sequence

from numalet.core.hints.hint import Hint
from numalet.core.hints.lowest_set import LowestSet
from numalet.core.hints.requirement import OpenSets
from numalet.core.managers.memory.hints import MemoryHintFamily
from numalet.core.model import numa_mask
from numalet.core.model.numa_mask import NumaMask


def best(offered: MemoryHintFamily, containing: NumaMask = numa_mask.EMPTY) -> Hint | None:
    """The best offered set that contains the given nodes; None if there is none.

    Sets of the preferred size are the smallest that occur, so the smallest set is the best.
    """
    masks = _possible(offered, containing)
    if containing:
        masks = [mask for mask in masks if numa_mask.contains(mask, containing)]
    if not masks:
        return None
    fewest = min(map(int.bit_count, masks))
    smallest = min([mask for mask in masks if mask.bit_count() == fewest])
    return Hint(smallest, fewest == offered.preferred_size)


def _possible(offered: MemoryHintFamily, containing: NumaMask) -> Sequence[NumaMask]:
    """Offered sets, the best one that contains the given nodes among them."""
    if offered.rule is None:
        return offered.masks
    if offered.is_empty:
        return ()
    islands, open_sets = offered.rule.islands, offered.rule.open_sets
    extended = OpenSets(
        open_sets.universe, open_sets.mandatory | containing, open_sets.requirements
    )
    smallest = LowestSet(extended).smallest()
    return islands if smallest is None else (*islands, smallest)
