"""The hints of an explanation as values for drawings, one for each subject."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Final

from numalet.core.config.rules import TopologyPolicy
from numalet.core.hints.provider import Hint
from numalet.core.model import numa_mask
from numalet.core.model.value import Value
from numalet.insight.explain.explanation_types import (
    AnswerDocument,
    AnswerKind,
    Explanation,
    ExplanationMergedDocument,
    SetDocument,
    SubjectDocument,
)
from numalet.wording import explanations

_MOST_SETS: Final = 12

_Nodes = tuple[int, ...]


class HintStatus(Enum):
    """The answer of one provider on one node set."""

    PREFERRED = "preferred"
    OFFERED = "offered"
    """Offered, unknown whether preferred."""
    NOT_PREFERRED = "not preferred"
    NOT_OFFERED = "not offered"
    NOT_LISTED = "not listed"
    """Not evaluated, because there are too many sets."""
    ANY = "any"
    """The provider has no preference."""


class HintCell(Value):
    """One answer on one set; ``brief`` and ``why`` are set if it is not offered."""

    status: HintStatus
    brief: str = ""
    why: str = ""


class HintColumn(Value):
    """One answer of a provider for some resources; ``note`` applies to all its sets."""

    title: str
    note: str = ""


class HintSet(Value, kw_only=True):
    """One node set: a cell per column; ``rank`` counts from 1 among the results of the merge."""

    nodes: tuple[int, ...]
    cells: tuple[HintCell, ...]
    rank: int | None = None
    is_chosen: bool = False


class HintMap(Value, kw_only=True):
    """All answers for a subject, which is a container or the pod.

    ``sets`` are the sets to show, best first; ``more_offered`` and ``more_not_offered`` count the
    others by whether every provider offers them. Without ``chosen``, any node will do. ``order`` is
    the criterion of the merge, ``verdict`` the result of the policy.
    """

    subject: str
    columns: tuple[HintColumn, ...]
    sets: tuple[HintSet, ...]
    more_offered: int
    more_not_offered: int
    chosen: tuple[int, ...] | None
    is_preferred: bool
    is_accepted: bool
    order: str
    verdict: str


def of_explanation(explanation: Explanation) -> tuple[HintMap, ...]:
    return tuple(of_subject(each, explanation.policy.value) for each in explanation.subjects)


def of_subject(subject: SubjectDocument, policy: str) -> HintMap:
    answers = subject.answers
    by_answer = [{tuple(each.nodes): each for each in answer.sets} for answer in answers]
    merged = subject.merged
    chosen = None if merged.nodes is None else tuple(merged.nodes)
    finalists = [tuple(each.nodes) for each in subject.finalists or () if each.nodes is not None]
    ranks = {nodes: at + 1 for at, nodes in enumerate(finalists)}
    sets = [
        HintSet(
            nodes=nodes,
            cells=tuple(
                _cell(answer, known.get(nodes))
                for answer, known in zip(answers, by_answer, strict=True)
            ),
            rank=ranks.get(nodes),
            is_chosen=nodes == chosen,
        )
        for nodes in _all_sets(by_answer, finalists, chosen)
    ]
    shown = _worth_showing(sets)
    # A preferred set, or a policy that accepts only one node, makes the size of others irrelevant.
    is_clear = merged.preferred or policy == TopologyPolicy.SINGLE_NUMA_NODE.value
    others = [each for each in sets if each not in shown]
    not_offered = sum(_is_refused(each) for each in others)
    return HintMap(
        subject=subject.subject,
        columns=tuple(_column(each, is_clear) for each in answers),
        sets=tuple(shown),
        more_offered=len(others) - not_offered,
        more_not_offered=not_offered,
        chosen=chosen,
        is_preferred=merged.preferred,
        is_accepted=merged.admit,
        order=_order(subject),
        verdict=verdict(merged, policy),
    )


def _all_sets(
    by_answer: Iterable[Mapping[_Nodes, SetDocument]],
    finalists: Iterable[_Nodes],
    chosen: _Nodes | None,
) -> list[_Nodes]:
    """Return every set that an answer or the merge names, smallest first."""
    # A merge may reach sets that are in no answer.
    named = {nodes for known in by_answer for nodes in known} | {*finalists}
    if chosen is not None:
        named.add(chosen)
    return sorted(named, key=lambda nodes: (len(nodes), nodes))


def _worth_showing(sets: list[HintSet]) -> list[HintSet]:
    """Return the chosen set, ranked ones, single nodes, then others, up to a limit."""

    def interest(each: HintSet) -> tuple[bool, int, bool, int, _Nodes]:
        rank = len(sets) + 1 if each.rank is None else each.rank
        return (not each.is_chosen, rank, _is_refused(each), len(each.nodes), each.nodes)

    best = sorted(sets, key=interest)
    # Half of the table is for single nodes, so that readers see what each node lacks.
    single = [each for each in sets if len(each.nodes) == 1][: _MOST_SETS // 2]
    kept = {each.nodes for each in [*best[: _MOST_SETS // 2], *single]}
    for each in best:
        if len(kept) >= _MOST_SETS:
            break
        kept.add(each.nodes)
    return [each for each in best if each.nodes in kept]


def _is_refused(each: HintSet) -> bool:
    return any(cell.status is HintStatus.NOT_OFFERED for cell in each.cells)


def _cell(answer: AnswerDocument, known: SetDocument | None) -> HintCell:
    if answer.answer is AnswerKind.NO_PREFERENCE:
        return HintCell(HintStatus.ANY)
    if known is None:
        return HintCell(HintStatus.NOT_LISTED)
    if known.offered:
        match known.preferred:
            case None:
                return HintCell(HintStatus.OFFERED)
            case is_preferred:
                preferred = HintStatus.PREFERRED if is_preferred else HintStatus.NOT_PREFERRED
                return HintCell(preferred)
    why = "" if known.why_not is None else known.why_not.text
    return HintCell(HintStatus.NOT_OFFERED, known.brief or why, why)


def _column(answer: AnswerDocument, is_clear: bool) -> HintColumn:
    """Return the answer's column; ``is_clear``: why a set is not preferred does not matter."""
    names = [name for name in answer.resources if name != answer.provider]
    title = f"{answer.provider} manager" + (f": {', '.join(names)}" if names else "")
    match answer.answer:
        case AnswerKind.NO_PREFERENCE:
            return HintColumn(title, "no preference")
        case AnswerKind.NOTHING_FITS:
            return HintColumn(title, explanations.NOTHING_FITS)
        case AnswerKind.IMPOSSIBLE:
            reason = "" if answer.reason is None else answer.reason.text
            return HintColumn(title, f"impossible. {reason}".rstrip())
        case _:
            notes = [] if answer.all_sets else [explanations.NOT_ALL_SETS]
            if answer.why_not_preferred is not None and not is_clear:
                notes.append(explanations.not_preferred(answer.why_not_preferred))
            return HintColumn(title, "; ".join(notes))


def _order(subject: SubjectDocument) -> str:
    finalists = subject.finalists
    if subject.merged.bounded:
        return explanations.BOUNDED
    if finalists is None or subject.wanted_size is None:
        return ""
    if not finalists:
        return explanations.NO_FINALISTS
    return explanations.ranking(
        subject.wanted_size,
        is_preferred=finalists[0].preferred,
        by_distance=bool(subject.by_distance),
    )


def verdict(merged: ExplanationMergedDocument, policy: str) -> str:
    """Say whether the topology policy accepts the result of the merge."""
    mask = None if merged.nodes is None else numa_mask.of(merged.nodes)
    return explanations.verdict(policy, Hint(mask, merged.preferred), admitted=merged.admit)
