"""An answer about evictions in words, for terminals and pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from numalet.core.snapshot.placement import Placement
from numalet.insight.fleet import parts, victims
from numalet.insight.fleet.evicting import FreeAnswer, NodeAnswer, Outcome, Proof
from numalet.insight.fleet.moves import AdmissionStep, MovePlan, Step
from numalet.wording import numbers


def verdict(name: str, answer: FreeAnswer) -> str:
    """Return what must go so that the pod fits, or that nothing helps; ``name`` is the pod's."""
    best, never = answer.best, answer.never
    if best is None:
        why = f"never fits: {never}" if never else "no set of pods that may go makes room"
        return f"{name}: {why}"
    if not best.going:
        return f"{name}: there is room on {best.name}; nothing must go"
    return f"{name}: {numbers.counted(len(best.going), 'pod')} must go on {best.name}"


def proof(answer: FreeAnswer) -> str:
    """Return whether a smaller set is ruled out; empty if no pod must go."""
    if answer.best is None or not answer.best.going:
        return ""
    if answer.is_proved:
        return "Proved smallest: every smaller set was ruled out."
    return "Not proved smallest: the search was bounded (see --most-sets)."


def other_nodes(answer: FreeAnswer) -> dict[str, list[str]]:
    """Return the names of the nodes besides the best one by what is true of them.

    Names of nodes that the scheduler would not choose are unknown, and empty here.
    """
    found: dict[str, list[str]] = {}
    for each in answer.nodes[1 if answer.best is not None else 0 :]:
        found.setdefault(_of_node(each), []).append(each.name)
    if answer.not_eligible:
        text = "the scheduler would not send it there: 'numalet fleet fit' says why"
        found[text] = [""] * answer.not_eligible
    return found


def _of_node(answer: NodeAnswer) -> str:
    kept = sorted({why.value for why in answer.kept.values()})
    because = f" (kept: {', '.join(kept)})" if kept else ""
    match answer.outcome:
        case Outcome.MAKES_ROOM:
            pods = numbers.counted(len(answer.going), "pod")
            proof = "" if answer.proof is Proof.SMALLEST else ", not proved smallest"
            return f"{pods} must go{proof}"
        case Outcome.LARGER:
            return "more must go"
        case Outcome.NO_SET if answer.never:
            return f"never fits: {answer.never}"
        case Outcome.NO_SET:
            return f"nothing that may go makes room{because}"
        case Outcome.UNDECIDED:
            return f"not decided: the search was bounded{because}"
        case _:
            assert_never(answer.outcome)


def gets(placements: Mapping[str, Placement]) -> str:
    """Return the devices, CPUs and memory of these containers."""
    held = victims.held(parts.placements(placements))
    words = (held.devices, f"CPUs {held.cpus}" if held.cpus != "-" else "-", held.memory)
    return "; ".join(each for each in words if each != "-") or "only shared resources"


def of_step(step: Step) -> tuple[str, str]:
    """Return ``evict`` or ``admit``, and what an admission allocates."""
    if isinstance(step, AdmissionStep):
        return "admit", gets(step.decision.placements)
    return "evict", ""


def homeless(plan: MovePlan) -> str:
    """Return the pods that no node admits; empty if there are none."""
    if not plan.homeless:
        return ""
    names = numbers.some([str(each.pod) for each in plan.homeless])
    bounded = " (the search was bounded)" if plan.is_bounded else ""
    return f"No node admits, before or after{bounded}: {names}"
