"""Turns providers' answers into the merge's input: lists of hints, or rules.

    answer                          list                             meaning

    no entry for any resource       [(any, preferred)]               no preference at all
    entry without preference        [(any, preferred)]               no preference for this resource
    impossible                      [(any, not preferred)]           nothing can be preferred
    a family of hints               its hints, or its rule

Kubelet: ``filterProvidersHints`` and ``filterSingleNumaHints``, v1.32.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from numalet.core.hints.provider import (
    Hint,
    HintFamily,
    Impossible,
    NoPreference,
    ProviderHints,
    ResourceHints,
)
from numalet.core.hints.rule import HintRule
from numalet.core.model.value import Value

HintList: TypeAlias = Sequence[Hint]


class Ruled(Value):
    """A rule in place of the list of hints that it describes."""

    rule: HintRule
    family: HintFamily


Offer: TypeAlias = HintList | Ruled
"""The input of the merge for one resource."""

ANY_PREFERRED: HintList = (Hint(None, True),)
"""The list of a resource that any node can provide."""
_ANY_NOT_PREFERRED: HintList = (Hint(None, False),)


def lists_of(answers: Iterable[ProviderHints]) -> list[Offer]:
    """Return one list per resource with an answer, and one per provider without any."""
    return _offers(answers, "rule")


def ruled(answers: Iterable[ProviderHints]) -> list[Offer]:
    """Return the offers of ``lists_of``, with rules even where lists would be faster.

    Only a rule gives the preferred size if no set of that size is offered.
    """
    return _offers(answers, "as_rule")


def _offers(answers: Iterable[ProviderHints], rule: str) -> list[Offer]:
    """Return the offers; ``rule`` is the name of a family's attribute with its rule."""
    lists: list[Offer] = []
    for answer in answers:
        # As in the kubelet, a provider without any answer has one list, "any node, preferred".
        if not answer:
            lists.append(ANY_PREFERRED)
        before: ResourceHints | None = None
        offer: Offer = ()
        for resource in answer.values():
            # Resources of one provider often share one family.
            if resource is not before:
                offer, before = _list_of(resource, rule), resource
            lists.append(offer)
    return lists


def _list_of(resource: ResourceHints, by: str) -> Offer:
    if isinstance(resource, NoPreference):
        return ANY_PREFERRED
    if isinstance(resource, Impossible):
        return _ANY_NOT_PREFERRED
    # Not by isinstance: checking for a protocol takes longer than the whole merge.
    rule = getattr(resource, by, None)
    return Ruled(rule, resource) if isinstance(rule, HintRule) else resource.hints()


def written_out(offers: Iterable[Offer]) -> list[HintList]:
    """Write every rule out as a list of up to 2^n hints."""
    return [offer.family.hints() if isinstance(offer, Ruled) else offer for offer in offers]


def single_node_only(offers: Iterable[Offer]) -> list[HintList]:
    """Keep only preferred hints of one node or of any node; a list may become empty."""
    return [_single_node_only(offer) for offer in offers]


def _single_node_only(offer: Offer) -> HintList:
    if isinstance(offer, Ruled):
        # Writing out the whole rule for this filter would make up to 2^n hints to keep n of them.
        return tuple(offer.rule.preferred_singles())
    return tuple(
        hint
        for hint in offer
        if hint.preferred and (hint.mask is None or hint.mask.bit_count() == 1)
    )
