"""The plan of evictions as values for the page: the answer of ``numalet fleet free --plan``."""

from __future__ import annotations

from typing import Any

from numalet.dashboard.fleet_answers import PlannedCopies
from numalet.insight.fleet import free_words
from numalet.insight.fleet.evicting import CopyAnswer
from numalet.insight.fleet.moves import MovePlan


def shown(planned: PlannedCopies) -> dict[str, Any]:
    copies = planned.copies
    asked, last = copies.asked, copies.copies[-1].number
    names = [
        f"{planned.name}, copy {each.number} of {asked}" if asked > 1 else planned.name
        for each in copies.copies
    ]
    every = zip(names, copies.copies, planned.plans, strict=True)
    return {
        "name": planned.name,
        "copies": asked,
        "fit": copies.fit,
        "answers": [_answer(name, each, plan) for name, each, plan in every],
        "left": asked - last if copies.fit != asked else 0,
    }


def _answer(name: str, copy: CopyAnswer, plan: MovePlan | None) -> dict[str, Any]:
    answer, best = copy.answer, copy.answer.best
    # Without evictions the only step would be the admission, and the verdict has its node.
    steps = plan.steps if plan is not None and len(plan.steps) > 1 else ()
    return {
        "verdict": free_words.verdict(name, answer),
        "makes_room": best is not None,
        "proof": free_words.proof(answer),
        "going": () if best is None else best.going,
        "steps": [
            {
                "do": free_words.of_step(each)[0],
                "pod": str(each.pod.pod),
                "node": each.node_name,
                "gets": free_words.of_step(each)[1],
            }
            for each in steps
        ],
        "homeless": "" if plan is None else free_words.homeless(plan),
        "others": [
            {"nodes": len(names), "why": why, "first": names[0]}
            for why, names in free_words.other_nodes(answer).items()
        ],
    }  # fmt: skip
