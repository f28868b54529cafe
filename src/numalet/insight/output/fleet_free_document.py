"""The document of ``numalet fleet free -o json``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from numalet.core.cluster.cluster import Cluster
from numalet.insight.fleet import parts
from numalet.insight.fleet.evicting import CopiesAnswer, NodeAnswer
from numalet.insight.fleet.moves import AdmissionStep, MovePlan, Step
from numalet.insight.fleet.parts import FleetPlacement, Origins, controller_text
from numalet.insight.fleet.victims import priority
from numalet.insight.output.json_schema import OutputDocument

SCHEMA: Final = "numalet.fleet-free/1"


class GoingDocument(OutputDocument, kw_only=True):
    """A pod to evict; ``controller`` is empty for a bare pod, which is not created again."""

    namespace: str
    name: str
    uid: str
    priority: int
    controller: str


class FreeNodeDocument(OutputDocument, kw_only=True):
    """One node. ``proof`` is ``smallest``, or ``not-proved`` if the search stopped at its limit.

    ``outcome``: ``makes-room``; ``larger`` (more evictions than on the best node); ``no-set`` (no
    evictable pods make room); ``undecided`` (the search stopped before it found a set).
    ``going`` are the pods to evict, ``leaving`` uids of pods that are already being deleted.
    ``kept`` has the reason why a pod is not evicted, by uid. ``rejection`` is the code of the
    present rejection, or null. ``never`` explains a rejection even by an empty node, else it is
    empty.
    """

    node: str
    origin: str
    outcome: str
    proof: str
    going: list[GoingDocument]
    leaving: list[str]
    kept: dict[str, str]
    rejection: str | None
    never: str
    containers: dict[str, FleetPlacement]


class MoveStepDocument(OutputDocument, kw_only=True):
    """One step: ``evict`` or ``admit``; ``containers`` has the allocations of an admission."""

    step: Literal["evict", "admit"]
    namespace: str
    name: str
    uid: str
    node: str
    containers: dict[str, FleetPlacement]


class MovePlanDocument(OutputDocument, kw_only=True):
    """Steps in their order; ``homeless`` are uids of pods that no node admits."""

    node: str
    steps: list[MoveStepDocument]
    homeless: list[str]
    is_bounded: bool


class FreeCopyDocument(OutputDocument, kw_only=True):
    """A further copy without room after the ones before it; the best node is first."""

    copy: int
    is_proved: bool
    nodes: list[FreeNodeDocument]
    plan: MovePlanDocument | None


class FleetFreeDocument(OutputDocument, kw_only=True):
    """The nodes, the best one first; ``plan`` is null unless it was requested.

    ``fit`` of the ``copies`` fit without evictions. The answer is about the first copy that does
    not fit, or about the first copy if all fit; ``further`` are the copies after it.
    """

    schema: Literal["numalet.fleet-free/1"]
    shape: str
    copies: int
    fit: int
    is_proved: bool
    sets_tried: int
    not_eligible: int
    nodes: list[FreeNodeDocument]
    plan: MovePlanDocument | None
    further: list[FreeCopyDocument]
    origins: Origins


def of(
    cluster: Cluster, name: str, copies: CopiesAnswer, plans: Sequence[MovePlan | None]
) -> FleetFreeDocument:
    """Return the document; ``name`` is the shape's, ``plans`` has an entry for each copy."""
    answer, plan = copies.copies[0].answer, plans[0]
    return FleetFreeDocument(
        schema=SCHEMA,
        shape=name,
        copies=copies.asked,
        fit=copies.fit,
        is_proved=answer.is_proved,
        sets_tried=answer.sets_tried,
        not_eligible=answer.not_eligible,
        nodes=[_node(each) for each in answer.nodes],
        plan=None if plan is None else _plan(plan),
        further=[
            FreeCopyDocument(
                copy=each.number,
                is_proved=each.answer.is_proved,
                nodes=[_node(on) for on in each.answer.nodes],
                plan=None if moves is None else _plan(moves),
            )
            for each, moves in zip(copies.copies[1:], plans[1:], strict=True)
        ],
        origins=parts.origins(cluster),
    )


def _node(answer: NodeAnswer) -> FreeNodeDocument:
    decision = answer.decision
    return FreeNodeDocument(
        node=answer.name,
        origin=answer.origin.value,
        outcome=answer.outcome.value,
        proof=answer.proof.value,
        going=[
            GoingDocument(
                namespace=each.pod.namespace,
                name=each.pod.name,
                uid=each.pod.uid,
                priority=priority(each.pod),
                controller=controller_text(each),
            )
            for each in answer.going
        ],
        leaving=list(answer.leaving),
        kept={uid: why.value for uid, why in sorted(answer.kept.items())},
        rejection=None if answer.rejection is None else answer.rejection.code,
        never=answer.never,
        containers=parts.placements({} if decision is None else decision.placements),
    )


def _plan(plan: MovePlan) -> MovePlanDocument:
    return MovePlanDocument(
        node=plan.node_name,
        steps=[_step(each) for each in plan.steps],
        homeless=[each.pod.uid for each in plan.homeless],
        is_bounded=plan.is_bounded,
    )


def _step(step: Step) -> MoveStepDocument:
    pod = step.pod.pod
    is_admission = isinstance(step, AdmissionStep)
    return MoveStepDocument(
        step="admit" if is_admission else "evict",
        namespace=pod.namespace,
        name=pod.name,
        uid=pod.uid,
        node=step.node_name,
        containers=parts.placements(
            step.decision.placements if isinstance(step, AdmissionStep) else {}
        ),
    )
