"""The preferred stage of the merge without lists of hints, on few NUMA nodes.

Most pods are admitted to a set that all families prefer. If each family can name its preferred
sets, this module intersects these sets. The result equals that of ``merging``, or is unknown
(docs/explanation/merging.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from numalet.core.hints.hint import Impossible, NoPreference, ProviderHints, ResourceHints
from numalet.core.model.numa_mask import NumaMask

ANY_NODE: Final[Sequence[NumaMask | None]] = (None,)


def preferred_by_all(answers: Iterable[ProviderHints]) -> Sequence[NumaMask | None] | None:
    """Return the sets that every family prefers; ``ANY_NODE`` without families.

    An empty result proves that the merge has no preferred hint. The result is None (unknown) if
    some family lacks ``preferred_masks``.
    """
    common: Sequence[NumaMask] | None = None
    for answer in answers:
        before: ResourceHints | None = None
        for resource in answer.values():
            # Resources of one provider often share one family.
            if resource is before or isinstance(resource, NoPreference):
                continue
            if isinstance(resource, Impossible):
                return ()
            masks = getattr(resource, "preferred_masks", None)
            if masks is None:
                return None
            common = masks if common is None else [mask for mask in common if mask in masks]
            if not common:
                return ()
            before = resource
    return ANY_NODE if common is None else common
