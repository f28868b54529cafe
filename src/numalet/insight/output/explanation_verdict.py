"""The first line of an explanation: what was decided, the cause with its number, a way out.

Who is woken by a rejected pod reads one line. The cause is the nearest miss: the smallest sets of
NUMA nodes that were not offered, by how little was short. The way out is the cheapest offer: one
that rejects no other pod, that needs no restart of the kubelet, that deletes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from numalet.core.model import numa_mask
from numalet.insight.explain.considered_sets import AnswerKind
from numalet.insight.explain.tally import Category
from numalet.insight.output.explanation_types import (
    AnswerDocument,
    Explanation,
    OfferDocument,
    SetDocument,
)
from numalet.wording import explanations

_MOST_MISSES: Final = 3
_NO_POLICY_AT_ALL: Final = "explain/no-topology"
_SHORT_OF: Final = (
    ("asked_bytes", "free_bytes"),
    ("asked_bytes", "allocatable_bytes"),
    ("requested", "available"),
    ("requested", "usable"),
)
_CHEAPEST_FIRST: Final = (
    Category.SMALLER_REQUEST,
    Category.FEWER_CONTAINERS,
    Category.QUEUE_ORDER,
    Category.OTHER_MACHINE,
    Category.POLICY_OR_SCOPE,
    Category.FREED_PODS,
)


def rejected(explanation: Explanation) -> str:
    """The line of a pod that is rejected."""
    pod = f"{explanation.pod.namespace}/{explanation.pod.name} ({explanation.pod.qos_class.value})"
    because = cause(explanation).rstrip(".")
    return f"{pod} is rejected: {explanation.reason}: {because}.{_way_out(explanation)}"


def cause(explanation: Explanation) -> str:
    """Why a pod is rejected, with figures: the nearest miss. Empty where nothing was short."""
    refused = explanation.refused_allocation
    if refused is not None:
        chosen_among = refused.chosen_among
        considered = [] if chosen_among is None else [chosen_among]
        subjects = [each for each in explanation.subjects if each.subject == refused.container]
        answers = considered or [each for subject in subjects for each in subject.answers]
        of_provider = [each for each in answers if each.provider == refused.provider]
        return _nowhere(explanation, refused.container, of_provider) or refused.reason.text
    if explanation.subjects and not explanation.subjects[-1].merged.admit:
        subject = explanation.subjects[-1]
        nowhere = _nowhere(explanation, subject.subject, subject.answers)
        if nowhere:
            return nowhere
    return "" if explanation.why is None else explanation.why.text


def _nowhere(explanation: Explanation, subject: str, answers: Iterable[AnswerDocument]) -> str:
    """Where the subject would not go, and what was short there; empty if nothing was."""
    for answer in answers:
        if answer.answer is AnswerKind.IMPOSSIBLE and answer.reason is not None:
            return answer.reason.text
    for answer in answers:
        refused = [each for each in answer.sets if not each.offered and each.brief]
        if refused:
            fits = "" if any(each.offered for each in answer.sets) else " anywhere"
            alone = " on fewer NUMA nodes" if not fits else ""
            asked = _asked(explanation, subject, answer.resources)
            return f"{subject}{asked} does not fit{fits}{alone}: {_misses(refused)}"
    return ""


def _asked(explanation: Explanation, subject: str, names: Iterable[str]) -> str:
    """How much of these resources a container asks for, in brackets."""
    for container in explanation.pod.containers:
        if container.name == subject:
            asked = [f"{n} {container.requests[n]}" for n in names if n in container.requests]
            return f" ({', '.join(asked)})" if asked else ""
    return ""


def _misses(refused: list[SetDocument]) -> str:
    """The nearest misses: each reason once, with the sets that have it."""
    by_reason: dict[str, list[str]] = {}
    for each in sorted(refused, key=_distance):
        by_reason.setdefault(each.brief or "", []).append(numa_mask.text(numa_mask.of(each.nodes)))
    shown = [
        f"{', '.join(sets[:_MOST_MISSES])} {brief}"
        for brief, sets in list(by_reason.items())[:_MOST_MISSES]
    ]
    return "; ".join(shown)


def _distance(each: SetDocument) -> tuple[int, int]:
    """How near a set was: by its size, then by what is short."""
    figures: Mapping[str, Any] = {} if each.why_not is None else each.why_not.figures
    short = [figures[a] - figures[b] for a, b in _SHORT_OF if a in figures and b in figures]
    return len(each.nodes), min(short, default=0)


def _way_out(explanation: Explanation) -> str:
    """The cheapest change that would have admitted the pod, as a sentence after the cause."""
    if not explanation.would_admit:
        return ""
    offers = [
        (
            (_price(tally.category, offer), _CHEAPEST_FIRST.index(tally.category)),
            # Without a policy nothing is aligned any more: any other one is less of a change.
            offer.code == _NO_POLICY_AT_ALL,
            offer,
        )
        for tally in explanation.would_admit
        for offer in tally.offers
    ]
    if not offers:
        return f" {explanations.NO_WAY_OUT}"
    _, _, cheapest = min(offers, key=lambda each: each[:2])
    paid = explanations.price(cheapest.lost or ())
    return f" {explanations.WAY_OUT}: {cheapest.text}{f', {paid}' if paid else ''}."


def _price(category: Category, offer: OfferDocument) -> int:
    """How many pods pay for it: those that would be rejected, or are deleted."""
    deleted = len(offer.figures.get("uids", ())) if category is Category.FREED_PODS else 0
    return len(offer.lost or ()) + deleted
