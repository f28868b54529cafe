"""The best set of nodes that the Memory Manager finds itself.

It searches if the merged hint is "any node", or if the hint's nodes have too little room because
another resource narrowed it. Best is: preferred, then fewer nodes, then the lower numbers. Kubelet:
``getDefaultHint``, ``extendTopologyManagerHint``, v1.32.
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
    """Return the best offered set that contains the given nodes, if any."""
    masks = _possible(offered, containing)
    if containing:
        masks = [mask for mask in masks if numa_mask.contains(mask, containing)]
    if not masks:
        return None
    fewest = min(map(int.bit_count, masks))
    smallest = min([mask for mask in masks if mask.bit_count() == fewest])
    # No offered set is smaller than the preferred size, so the smallest set is the best.
    return Hint(smallest, fewest == offered.preferred_size)


def _possible(offered: MemoryHintFamily, containing: NumaMask) -> Sequence[NumaMask]:
    """Return offered sets, including the best one that contains the given nodes."""
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
