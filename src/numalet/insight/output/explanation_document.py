"""Builds an explanation: what ``numalet explain -o json`` prints.

Every reason has its code, its figures and a sentence; sets of NUMA nodes are lists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from numalet.core.config.releases.release import Release
from numalet.core.config.releases.table import DEFAULT
from numalet.core.config.rules import StartRefused
from numalet.core.hints.provider import Hint, Reason
from numalet.core.managers.cpu.reasons import ReuseElsewhere
from numalet.core.model import cpu_set, numa_mask
from numalet.core.model.pod import Pod
from numalet.core.model.quantity import Quantity
from numalet.insight.explain import measures
from numalet.insight.explain import tally as tally_order
from numalet.insight.explain.cases import Case
from numalet.insight.explain.change import Change, ChangeOutcome
from numalet.insight.explain.considered_sets import ProviderAnswer, SetAnswer
from numalet.insight.explain.story import AlignedSubject, AllocatedResources, Story
from numalet.insight.explain.tally import Tally
from numalet.insight.output import explanation_nodes, explanation_verdict
from numalet.insight.output.explanation_types import (
    AllocatedDocument,
    AnswerDocument,
    CategoryDocument,
    Explanation,
    ExplanationBlockDocument,
    ExplanationContainerDocument,
    ExplanationHintDocument,
    ExplanationHolderDocument,
    ExplanationMergedDocument,
    ExplanationNotStartedDocument,
    OfferDocument,
    PodDocument,
    QueuedDocument,
    ReasonDocument,
    RefusalDocument,
    SetDocument,
    SubjectDocument,
)
from numalet.insight.simulate import simulation_document
from numalet.wording import explanations, kubelet, kubelet_start, numbers

NameOf = Callable[[str], str]


def explanation(
    case: Case, traced: Story, tallies: Iterable[Tally], assumed_running: int = 0
) -> Explanation:
    """Return the decision, its story, and the changes that would have admitted or aligned the pod.

    ``assumed_running`` is the number of pods that only the state files know.
    """
    decision = traced.decision
    rejection = decision.rejection
    rules = traced.roster.rules
    offered = [_tally(each, case) for each in tally_order.in_order(tallies)]
    made = Explanation(
        schema="numalet.explanation/2",
        pod=_pod(decision.pod),
        mode=rules.behaviour.mode,
        release=rules.release.name,
        policy=rules.topology.policy,
        scope=rules.topology.scope,
        queue=[QueuedDocument(str(pod), pod.uid, pod.uid in case.admitted) for pod in case.queue],
        replay_refused=[
            simulation_document.refused(pod, case.refused[pod.uid])
            for pod in case.queue
            if pod.uid in case.refused
        ],
        admitted=decision.admitted,
        reason=kubelet.reason(rejection),
        message=kubelet.message(rejection),
        why=None if rejection is None else _reason(rejection),
        evicted=list(decision.evicted),
        not_asked=simulation_document.not_asked(decision),
        passed_over=list(decision.passed_over),
        nodes=list(numa_mask.ids(measures.span_of(traced.roster, decision.after, decision.pod))),
        nodes_before=explanation_nodes.nodes(case.node),
        held_before=explanation_nodes.held(case),
        subjects=[_subject(each, case.name_of) for each in traced.subjects],
        allocated=[_allocated(each, case.name_of) for each in traced.allocated],
        refused_allocation=_refusal(traced, case.name_of),
        would_admit=[] if decision.admitted else offered,
        would_align=offered if decision.admitted else [],
        stranded=explanation_nodes.stranded(case),
        assumed_running=assumed_running,
        contradiction=case.contradiction,
    )
    made.cause = explanation_verdict.cause(made)
    made.first_line = explanation_verdict.first_line(made)
    return made


def not_started(refused: StartRefused, release: Release = DEFAULT) -> ExplanationNotStartedDocument:
    return ExplanationNotStartedDocument(
        schema="numalet.explanation/2",
        release=release.name,
        start_error=kubelet_start.text(refused),
        start_error_stage=refused.stage.value,
    )


def _pod(pod: Pod) -> PodDocument:
    """Return the pod, with pod-level requests only if the kubelet uses them."""
    whole = pod.pod_level if pod.pod_level is not None and pod.pod_level.count else None
    return PodDocument(
        namespace=pod.namespace,
        name=pod.name,
        uid=pod.uid,
        qos_class=pod.qos_class,
        containers=[
            ExplanationContainerDocument(
                container.name,
                container.kind,
                {name: str(q) for name, q in sorted(container.requests.items())},
            )
            for container in pod.containers()
        ],
        pod_requests={} if whole is None else {name: str(q) for name, q in whole.requests.items()},
    )


def _reason(reason: Reason) -> ReasonDocument:
    figures = {name: _plain(name, value) for name, value in explanations.fields_of(reason).items()}
    return ReasonDocument(reason.code, explanations.of_reason(reason), figures)


def _plain(name: str, value: Any) -> Any:
    match value:
        case Hint():
            return _hint(value)
        case Quantity():
            return str(value)
        case Reason():
            return _reason(value)
        # Fields of reasons with these names are NUMA masks, other integers are amounts.
        case int() if name in ("mask", "group", "best", "affinity", "nodes"):
            return list(numa_mask.ids(value))
        case tuple():
            return list(value)
        case _:
            return value


def _hint(hint: Hint) -> ExplanationHintDocument:
    return ExplanationHintDocument(_nodes(hint), hint.preferred)


def _nodes(hint: Hint) -> list[int] | None:
    return None if hint.mask is None else list(numa_mask.ids(hint.mask))


def _subject(subject: AlignedSubject, name_of: NameOf) -> SubjectDocument:
    merged = subject.merged
    ranking = subject.ranking
    return SubjectDocument(
        subject=subject.name,
        answers=[_answer(each, name_of) for each in subject.answers],
        finalists=None if ranking is None else [_hint(each) for each in ranking.finalists],
        wanted_size=None if ranking is None else ranking.wanted_size,
        by_distance=None if ranking is None else ranking.by_distance,
        merged=ExplanationMergedDocument(
            nodes=_nodes(merged.affinity),
            preferred=merged.affinity.preferred,
            admit=merged.admit,
            bounded=merged.bounded,
        ),
    )


def _answer(answer: ProviderAnswer, name_of: NameOf) -> AnswerDocument:
    return AnswerDocument(
        provider=answer.provider,
        resources=list(answer.resources),
        answer=answer.kind,
        reason=None if answer.reason is None else _reason(answer.reason),
        sets=[_set(each, name_of) for each in answer.sets],
        all_sets=answer.is_complete,
        why_not_preferred=_why_not_preferred(answer),
    )


def _why_not_preferred(answer: ProviderAnswer) -> str | None:
    """Return why some set is offered and not preferred, if there is such a set."""
    needed = answer.needed
    if needed is None or all(each.preferred is not False for each in answer.sets):
        return None
    names = ", ".join(answer.resources)
    asked = numbers.counted(needed.requested, "CPU") if needed.cpus else f"the {names}"
    if needed.requested and not needed.cpus:
        asked = f"{needed.requested} of {names}"
    return explanations.needed(needed.count, asked, cpus=needed.cpus, reserved=needed.reserved)


def _set(each: SetAnswer, name_of: NameOf) -> SetDocument:
    document = SetDocument(list(numa_mask.ids(each.mask)), each.offered, each.preferred)
    if each.reason is not None:
        is_own = isinstance(each.reason, ReuseElsewhere)
        names = dict.fromkeys(
            key.container if is_own else name_of(key.pod_uid) for key in each.holders
        )
        document.why_not = _reason(each.reason)
        document.brief = explanations.brief(each.reason, tuple(names))
        document.held_by = [
            ExplanationHolderDocument(name_of(uid), container) for uid, container in each.holders
        ]
    return document


def _allocated(allocated: AllocatedResources, name_of: NameOf) -> AllocatedDocument:
    among = allocated.considered
    return AllocatedDocument(
        container=allocated.container,
        memory=[
            ExplanationBlockDocument(list(block.nodes), block.resource, block.size_bytes)
            for block in allocated.memory
        ],
        cpus_by_node={str(node): cpu_set.text(cpus) for node, cpus in allocated.cpus.items()},
        devices={name: list(ids) for name, ids in allocated.devices.items()},
        chosen_among=None if among is None else _answer(among, name_of),
    )


def _refusal(traced: Story, name_of: NameOf) -> RefusalDocument | None:
    refusal = traced.refusal
    if refusal is None:
        return None
    among = refusal.considered
    return RefusalDocument(
        container=refusal.container,
        provider=refusal.provider,
        reason=_reason(refusal.reason),
        chosen_among=None if among is None else _answer(among, name_of),
    )


def _tally(tally: Tally, case: Case) -> CategoryDocument:
    return CategoryDocument(
        category=tally.category,
        tried=tally.tried,
        ended_early=tally.ended_early,
        offers=[_offer(each.change, each.outcome, case) for each in tally.offers],
        would_not_start=[_offer(each.change, each.outcome, case) for each in tally.refusals],
    )


def _offer(change: Change, result: ChangeOutcome, case: Case) -> OfferDocument:
    why = _reason(change)
    if isinstance(result.decision, StartRefused):
        text = kubelet_start.text(result.decision)
        return OfferDocument(why.code, why.text, why.figures, start_error=text)
    return OfferDocument(
        why.code,
        why.text,
        why.figures,
        nodes=list(numa_mask.ids(result.span)),
        lost=[case.name_of(uid) for uid in result.lost],
    )
