"""Providers' answers turned into the lists that the merge works on.

    answer                          list                             meaning
    no entry for any resource       [(any, preferred)]               no preference at all
    entry without preference        [(any, preferred)]               none for this resource
    impossible                      [(any, not preferred)]           nothing can be preferred
    a family of hints               its hints

Kubelet: ``filterProvidersHints`` and ``filterSingleNumaHints``, v1.32.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from numalet.hints.hint import Hint, Impossible, NoPreference, ProviderHints, ResourceHints

HintList = Sequence[Hint]

_ANY_PREFERRED: HintList = (Hint(None, True),)
_ANY_NOT_PREFERRED: HintList = (Hint(None, False),)


def lists_of(answers: Iterable[ProviderHints]) -> list[HintList]:
    """One list per resource that has an answer, one per provider that has none at all."""
    lists: list[HintList] = []
    for answer in answers:
        if answer:
            lists.extend(_list_of(resource) for resource in answer.values())
        else:
            lists.append(_ANY_PREFERRED)
    return lists


def _list_of(resource: ResourceHints) -> HintList:
    match resource:
        case NoPreference():
            return _ANY_PREFERRED
        case Impossible():
            return _ANY_NOT_PREFERRED
        case family:
            return family.hints()


def single_node_only(lists: Iterable[HintList]) -> list[HintList]:
    """The lists with only preferred hints of one node or of any node; a list may become empty."""
    return [
        tuple(
            hint
            for hint in hints
            if hint.preferred and (hint.mask is None or hint.mask.bit_count() == 1)
        )
        for hints in lists
    ]
