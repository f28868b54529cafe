"""The hints of an explanation as a value to be drawn, from decisions that were made."""

from __future__ import annotations

import msgspec

from numalet.insight.explain import hint_maps, story
from numalet.insight.explain.cases import Case
from numalet.insight.explain.explanation_types import Explanation
from numalet.insight.explain.hint_maps import HintCell, HintMap, HintStatus
from numalet.insight.output import explanation_document
from numalet.wording import explanations
from values.explain_bench import (
    GPUS,
    STATIC_CPUS,
    asking,
    case,
    config,
    narrow,
    session,
    shape,
    wide,
)


def _explained(asked: Case) -> Explanation:
    traced = story.trace(asked)
    return explanation_document.explanation(asked, traced, ())


def _hints(asked: Case) -> HintMap:
    (hints,) = hint_maps.of_explanation(_explained(asked))
    return hints


def _column(hints: HintMap, title: str) -> dict[tuple[int, ...], HintCell]:
    at = [each.title for each in hints.columns].index(title)
    return {each.nodes: each.cells[at] for each in hints.sets}


def test_a_refused_pod_has_every_set_with_its_reason_and_the_verdict() -> None:
    hints = _hints(case(narrow(), wide()))
    memory = _column(hints, "memory manager")
    assert {nodes: each.status for nodes, each in memory.items()} == {
        (0, 1): HintStatus.NOT_PREFERRED,
        (0,): HintStatus.NOT_OFFERED,
        (1,): HintStatus.NOT_OFFERED,
    }
    assert memory[(0,)].brief == "node 0 belongs to group {0,1} of default/wide"
    assert memory[(0,)].why
    first = hints.sets[0]
    assert (first.nodes, first.rank, first.is_chosen) == ((0, 1), 1, True)
    assert (hints.more_offered, hints.more_not_offered) == (0, 0)
    assert not hints.is_accepted
    assert hints.verdict == (
        "restricted rejects it: the best set of NUMA nodes in common, {0,1}, is not preferred"
    )
    assert "size nearest to" in hints.order
    device = _column(hints, "device manager")
    assert {each.status for each in device.values()} == {HintStatus.ANY}


def test_an_admitted_pod_with_a_device() -> None:
    begun = session(config(**STATIC_CPUS), devices=GPUS)
    hints = _hints(case(asking(narrow(), gpu="1"), begun=begun))
    assert (hints.chosen, hints.is_preferred, hints.is_accepted) == ((0,), True, True)
    gpus = _column(hints, "device manager: example.com/gpu")
    assert gpus[(0,)].status is HintStatus.PREFERRED
    assert gpus[(0, 1)].status is HintStatus.NOT_PREFERRED


def test_of_many_sets_the_best_are_shown_and_the_others_counted() -> None:
    hints = _hints(case(narrow(), begun=session(on=shape("8n1c1t", "10Gi"))))
    assert len(hints.sets) == 12
    assert hints.sets[0].is_chosen
    assert {(node,) for node in range(6)} <= {each.nodes for each in hints.sets}
    assert hints.more_offered + hints.more_not_offered == 255 - 12
    assert hints.more_not_offered == 0


def test_what_else_an_answer_can_say() -> None:
    document = _explained(case(narrow(), wide()))
    (subject,) = document.subjects
    answer = next(each for each in subject.answers if each.provider == "memory")
    plain = msgspec.to_builtins(subject)
    at = subject.answers.index(answer)

    def changed(**fields: object) -> HintMap:
        answers = [*plain["answers"]]
        answers[at] = {**answers[at], **fields}
        return hint_maps.of_subject(
            msgspec.convert({**plain, "answers": answers}, type(subject)), "restricted"
        )

    def note(hints: HintMap) -> str:
        return hints.columns[at].note

    assert note(changed(answer="nothing-fits")) == explanations.NOTHING_FITS
    assert note(changed(answer="impossible")) == "impossible."
    reason = {"code": "a/b", "text": "No.", "figures": {}}
    assert note(changed(answer="impossible", reason=reason)) == "impossible. No."
    assert note(changed(all_sets=False)).startswith(f"{explanations.NOT_ALL_SETS}; not preferred (")
    assert note(changed(why_not_preferred=None)) == ""
    sets = [{"nodes": [0], "offered": True, "preferred": None}]
    sets += [{"nodes": [1], "offered": False, "preferred": None}]
    hints = changed(sets=sets)
    assert _column(hints, "memory manager") == {
        (0,): HintCell(HintStatus.OFFERED),
        (1,): HintCell(HintStatus.NOT_OFFERED),
        (0, 1): HintCell(HintStatus.NOT_LISTED),
    }


def test_what_the_merge_may_say() -> None:
    (subject,) = _explained(case(narrow(), wide())).subjects
    plain = msgspec.to_builtins(subject)

    def order(**fields: object) -> str:
        return hint_maps.of_subject(
            msgspec.convert({**plain, **fields}, type(subject)), "restricted"
        ).order

    assert order(finalists=None) == ""
    assert order(finalists=[]) == explanations.NO_FINALISTS
    assert order(merged={**plain["merged"], "bounded": True}) == explanations.BOUNDED
    anywhere = {"nodes": None, "preferred": True, "admit": True, "bounded": False}
    hints = hint_maps.of_subject(
        msgspec.convert({**plain, "merged": anywhere}, type(subject)), "best-effort"
    )
    assert hints.chosen is None
    assert not any(each.is_chosen for each in hints.sets)
