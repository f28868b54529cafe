"""The best set of nodes that the Memory Manager finds by itself.

Needed when the merged hint names no nodes ("any"), and when its nodes have too little room
because another resource cut them down. Best is: preferred, then fewer nodes, then the lower
numbers. Kubelet: ``getDefaultHint``, ``extendTopologyManagerHint``, v1.32.
"""

from __future__ import annotations

from collections.abc import Sequence

from numalet.hints.hint import Hint
from numalet.managers.memory.hints import OfferedSets
from numalet.model import numa_mask
from numalet.model.numa_mask import NumaMask


def best(offered: OfferedSets, containing: NumaMask = numa_mask.EMPTY) -> Hint | None:
    """The best offered set that contains the given nodes; None if there is none.

    Sets of the preferred size are the smallest that occur, so the order of hints by size makes
    preferred ones come first.
    """
    masks: Sequence[NumaMask] = offered.masks
    if containing:
        masks = [mask for mask in masks if numa_mask.contains(mask, containing)]
    if not masks:
        return None
    found = min(masks, key=lambda mask: (mask.bit_count(), mask))
    return Hint(found, found.bit_count() == offered.preferred_size)
