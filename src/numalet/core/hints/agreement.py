"""The preferred stage of the merge without lists, where every family is tried on few NUMA nodes.

Most pods are admitted to a set that all families prefer. Where each of them knows its preferred
sets at once, these are compared as they are: hints are made of them only for who asks to see them.
It answers what ``merging`` would, or nothing (docs/explanation/merging.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from numalet.core.hints.hint import Impossible, NoPreference, ProviderHints, ResourceHints
from numalet.core.model.numa_mask import NumaMask

ANY_NODE: Final[Sequence[NumaMask | None]] = (None,)


def preferred_by_all(answers: Iterable[ProviderHints]) -> Sequence[NumaMask | None] | None:
    """The sets that every family prefers, as written; ``ANY_NODE`` if there is no family.

    Empty: no preferred hint can come out of the merge, whatever else is offered. None: only the
    lists say, because some family does not know its ``preferred_masks``.
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
