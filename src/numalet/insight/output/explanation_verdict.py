"""The first line of an explanation: the decision, the scarce resource, and a suggestion.

An engineer on call for a rejected pod may read only this line.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from numalet.core.config.rules import Scope, TopologyPolicy
from numalet.core.model import cpu_set, numa_mask, resources
from numalet.insight.explain.explanation_types import (
    AnswerDocument,
    AnswerKind,
    CategoryDocument,
    Explanation,
    OfferDocument,
    PodDocument,
    ReasonDocument,
    RefusalDocument,
    SetDocument,
    SubjectDocument,
)
from numalet.wording import explanations
from numalet.wording.explanations import Gap

_MOST_REASONS: Final = 4
_MOST_NAMED: Final = 3
_NO_POLICY_AT_ALL: Final = "explain/no-topology"
_SHORT_OF: Final = (
    ("asked_bytes", "free_bytes"),
    ("asked_bytes", "allocatable_bytes"),
    ("requested", "available"),
    ("requested", "usable"),
)

_Set: TypeAlias = tuple[int, ...]


def first_line(explanation: Explanation) -> str:
    """Return the decision, its cause, and a suggestion if changes were searched."""
    asked = explanation.pod
    pod = f"{asked.namespace}/{asked.name} ({asked.qos_class.value})"
    because = explanation.cause.rstrip(".")
    if not explanation.admitted:
        for each in explanation.stranded[:1] if "CPU" in because else ():
            because += f"; {explanations.stranded(each.pod, each.container, each.cpus)}"
        line = f"{pod} is rejected: {explanation.reason}: {because}."
        return f"{line}{_suggested(explanation.would_admit, explanations.NO_WAY_OUT)}"
    nodes = numa_mask.text(numa_mask.of(explanation.nodes))
    where = f" on NUMA nodes {nodes}" if explanation.nodes else ", and bound to no NUMA node"
    line = f"{pod} is admitted{where}"
    if because:
        line += f", not aligned: {because}."
    return f"{line}{_suggested(explanation.would_align, explanations.NOTHING_ALIGNS)}"


class Traced(NamedTuple):
    """The fields of an explanation that its cause depends on."""

    pod: PodDocument
    policy: TopologyPolicy
    scope: Scope
    admitted: bool
    why: ReasonDocument | None
    subjects: list[SubjectDocument]
    refused_allocation: RefusalDocument | None


def cause(explanation: Explanation | Traced) -> str:
    """Return why a pod is rejected or not aligned, with figures; empty if nothing was short."""
    refused = explanation.refused_allocation
    if refused is not None:
        chosen_among = refused.chosen_among
        # The manager's own search is the reason if it made one; otherwise the hints are.
        considered = [] if chosen_among is None else [chosen_among]
        subjects = [each for each in explanation.subjects if each.subject == refused.container]
        answers = considered or [each for subject in subjects for each in subject.answers]
        of_provider = [each for each in answers if each.provider == refused.provider]
        # The manager searched by itself, without the topology policy.
        nowhere = _nowhere(explanation, refused.container, of_provider, is_single=False)
        return nowhere or refused.reason.text
    is_single = explanation.policy is TopologyPolicy.SINGLE_NUMA_NODE
    # The last subject with a bad merge is the one that ended the admission.
    for subject in reversed(explanation.subjects):
        merged = subject.merged
        if not (merged.preferred if explanation.admitted else merged.admit):
            answers = subject.answers
            nowhere = _nowhere(explanation, subject.subject, answers, is_single=is_single)
            if nowhere:
                return nowhere
    return "" if explanation.why is None else explanation.why.text


def _nowhere(
    explanation: Explanation | Traced,
    subject: str,
    answers: Sequence[AnswerDocument],
    *,
    is_single: bool,
) -> str:
    """Return the reasons against each set of NUMA nodes; empty if there are no reasons.

    ``is_single``: only single nodes matter.
    """
    is_merged = explanation.refused_allocation is None
    named = "the pod" if is_merged and explanation.scope is Scope.POD else subject
    impossible = [
        each.reason
        for each in answers
        if each.answer is AnswerKind.IMPOSSIBLE and each.reason is not None and not each.sets
    ]
    if impossible:
        lacks = {each.text: _lack(each) for each in impossible}
        gaps = [
            f"{named} {explanations.gap(Gap(*lack))}." if lack else text
            for text, lack in lacks.items()
        ]
        return " ".join(gaps)
    reasons = _reasons(answers, is_single)
    if not reasons:
        return ""
    # Requests that fit everywhere would only lengthen the line.
    refusing = [each for each in answers if any(not known.offered for known in each.sets)]
    names = dict.fromkeys(name for each in refusing or answers for name in each.resources)
    complete = is_single or all(each.all_sets for each in answers)
    rest = "" if complete else f"; {explanations.NOT_ALL_SETS}"
    fits_more = is_single or any(_is_offered(answers, nodes) for nodes in reasons)
    if not fits_more and (gap := _gap_anywhere(answers)):
        return f"{named} {gap}"
    gap, best = _gap(answers, is_single) if fits_more else ("", ())
    if gap:
        others = {nodes: text for nodes, text in reasons.items() if nodes not in best}
        return f"{named} {gap}{'; ' if others else ''}{_grouped(others)}{rest}"
    what = f"{named}{_asked(explanation, subject, names)}"
    if is_single:
        fits = "fits no single NUMA node"
    elif fits_more:
        fits = "does not fit on fewer NUMA nodes"
    else:
        fits = "does not fit anywhere"
    return f"{what} {fits}: {_grouped(reasons)}{rest}"


def _gap(answers: Sequence[AnswerDocument], is_single: bool) -> tuple[str, Sequence[_Set]]:
    """Say what is needed, and the best that exists; with the sets that are the best.

    Empty if the smallest sets of NUMA nodes do not all lack the same resource and nothing else.
    """
    listed = [each for answer in answers for each in answer.sets]
    smallest = 1 if is_single else min(len(each.nodes) for each in listed)
    refused = [each for each in listed if len(each.nodes) == smallest and not each.offered]
    nodes = [tuple(each.nodes) for each in refused]
    lacks = [None if each.why_not is None else _lack(each.why_not) for each in refused]
    found = {lack[:3] for lack in lacks if lack is not None}
    everywhere = {tuple(each.nodes) for each in listed if len(each.nodes) == smallest}
    if None in lacks or len(found) != 1 or len(nodes) != len(everywhere):
        return "", ()
    ((state, resource, asked),) = found
    most = max(lack[3] for lack in lacks if lack is not None)
    best = [each for each, lack in zip(nodes, lacks, strict=True) if lack and lack[3] == most]
    where = _named(best) if smallest > 1 else cpu_set.text(node for (node,) in best)
    of = Gap(state, resource, asked, most, smallest, len(best), where)
    return explanations.gap(of), best


def _gap_anywhere(answers: Sequence[AnswerDocument]) -> str:
    """Say what is needed and what the best set of any size has, if only one resource is short."""
    listed = [each for answer in answers for each in answer.sets if not each.offered]
    lacks = {tuple(each.nodes): each.why_not and _lack(each.why_not) for each in listed}
    short = {nodes: lack for nodes, lack in lacks.items() if lack}
    if len(short) < len(listed) or len({lack[1:3] for lack in short.values()}) != 1:
        return ""
    best = max(short, key=lambda nodes: (short[nodes][3], -len(nodes)))
    where = numa_mask.text(numa_mask.of(best)) if len(best) > 1 else f"node {best[0]}"
    return explanations.gap(Gap(*short[best], sets=len(best), where=where))


def _lack(why_not: ReasonDocument) -> tuple[str, str, int, int] | None:
    """Return a state and a resource, the requested amount, and the one there is, or nothing."""
    figures: Mapping[str, Any] = why_not.figures
    for asked, there in _SHORT_OF:
        if asked in figures and there in figures:
            state = "allocatable" if there == "allocatable_bytes" else "free"
            return state, figures.get("resource", resources.CPU), figures[asked], figures[there]
    return None


def _asked(explanation: Explanation | Traced, subject: str, names: Iterable[str]) -> str:
    for container in explanation.pod.containers:
        if container.name == subject:
            asked = [f"{n} {container.requests[n]}" for n in names if n in container.requests]
            return f" ({', '.join(asked)})" if asked else ""
    return ""


def _reasons(answers: Sequence[AnswerDocument], is_single: bool) -> dict[_Set, str]:
    """Return the reasons against each set that has some, the nearest misses first."""
    refused: dict[_Set, list[str]] = {}
    not_preferred: dict[_Set, list[str]] = {}
    distances: dict[_Set, tuple[int, int]] = {}
    for answer in answers:
        for each in answer.sets:
            nodes = tuple(each.nodes)
            if is_single and len(nodes) > 1:
                continue
            if not each.offered and each.brief:
                refused.setdefault(nodes, []).append(each.brief)
                distances[nodes] = min(distances.get(nodes, _distance(each)), _distance(each))
            elif each.preferred is False and answer.why_not_preferred:
                not_preferred.setdefault(nodes, []).append(answer.why_not_preferred)
    texts = {
        nodes: " and ".join(dict.fromkeys(refused[nodes]))
        for nodes in sorted(refused, key=lambda each: (distances[each], each))
    }
    for nodes in sorted(not_preferred, key=lambda each: (len(each), each)):
        why = " and ".join(dict.fromkeys(not_preferred[nodes]))
        texts.setdefault(nodes, explanations.not_preferred(why))
    return texts


def _is_offered(answers: Iterable[AnswerDocument], nodes: _Set) -> bool:
    """Return whether every manager that lists this set offers it."""
    sets = (each for answer in answers for each in answer.sets if tuple(each.nodes) == nodes)
    return all(each.offered for each in sets)


def _grouped(reasons: Mapping[_Set, str]) -> str:
    """Return each reason once, with its sets; above a limit, only their number."""
    by_reason: dict[str, list[_Set]] = {}
    for nodes, text in reasons.items():
        by_reason.setdefault(text, []).append(nodes)
    groups = list(by_reason.items())
    shown = [f"{_named(sets)} {text}" for text, sets in groups[:_MOST_REASONS]]
    more = sum(len(sets) for _, sets in groups[_MOST_REASONS:])
    return "; ".join(shown) + (f"; and {explanations.more_sets(more)}" if more else "")


def _named(sets: Sequence[_Set]) -> str:
    """Name some sets of NUMA nodes: single ones as ranges, of many the first ones and a number."""
    if len(sets) > _MOST_NAMED and all(len(nodes) == 1 for nodes in sets):
        ranges = cpu_set.text(node for (node,) in sets).split(",")
        names = ["-".join(f"{{{end}}}" for end in each.split("-")) for each in ranges]
    else:
        names = [numa_mask.text(numa_mask.of(nodes)) for nodes in sets]
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more sets" if more > 0 else "")


def _distance(each: SetDocument) -> tuple[int, int]:
    """Return how near a set was: by its size, then by the missing amount."""
    figures: Mapping[str, Any] = {} if each.why_not is None else each.why_not.figures
    short = [figures[a] - figures[b] for a, b in _SHORT_OF if a in figures and b in figures]
    return len(each.nodes), min(short, default=0)


def _suggested(searched: Sequence[CategoryDocument], nothing: str) -> str:
    """Return the first offer that costs no other pod, as a sentence after the cause."""
    if not searched:
        return ""
    offer = suggestion(searched)
    if offer is None:
        return f" {nothing}"
    paid = explanations.price(offer.lost or ())
    return f" {explanations.SUGGESTION}: {offer.text}{f', {paid}' if paid else ''}."


def suggestion(searched: Iterable[CategoryDocument]) -> OfferDocument | None:
    """Return the offer to try first; one that rejects a pod, or aligns nothing, is last."""
    offers = [offer for tally in searched for offer in tally.offers]
    return min(
        offers,
        # Giving up alignment is the last resort.
        key=lambda each: (len(each.lost or ()), each.code == _NO_POLICY_AT_ALL),
        default=None,
    )
