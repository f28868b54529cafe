"""Builds an explanation: what ``numalet explain -o json`` prints.

Every reason has its code, its figures and a sentence; sets of NUMA nodes are lists.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from numalet.core.config.releases.release import Release
from numalet.core.config.releases.table import DEFAULT
from numalet.core.config.rules import StartRefused
from numalet.core.model import numa_mask
from numalet.core.model.pod import Pod
from numalet.insight.explain import measures
from numalet.insight.explain import tally as tally_order
from numalet.insight.explain.cases import Case
from numalet.insight.explain.change import Change, ChangeOutcome
from numalet.insight.explain.explanation_types import (
    CategoryDocument,
    Explanation,
    ExplanationContainerDocument,
    ExplanationNotStartedDocument,
    OfferDocument,
    PodDocument,
    QueuedDocument,
    reason_of,
)
from numalet.insight.explain.story import Story
from numalet.insight.explain.tally import Tally
from numalet.insight.output import explanation_nodes, explanation_verdict
from numalet.insight.simulate import simulation_document
from numalet.wording import kubelet, kubelet_start


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
        why=None if rejection is None else reason_of(rejection),
        evicted=list(decision.evicted),
        not_asked=simulation_document.not_asked(decision),
        passed_over=list(decision.passed_over),
        nodes=list(numa_mask.ids(measures.span_of(traced.roster, decision.after, decision.pod))),
        nodes_before=explanation_nodes.nodes(case.node),
        held_before=explanation_nodes.held(case),
        subjects=traced.subjects,
        allocated=traced.allocated,
        refused_allocation=traced.refusal,
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


def _tally(tally: Tally, case: Case) -> CategoryDocument:
    return CategoryDocument(
        category=tally.category,
        tried=tally.tried,
        ended_early=tally.ended_early,
        offers=[_offer(each.change, each.outcome, case) for each in tally.offers],
        would_not_start=[_offer(each.change, each.outcome, case) for each in tally.refusals],
    )


def _offer(change: Change, result: ChangeOutcome, case: Case) -> OfferDocument:
    why = reason_of(change)
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


def of(document: Any) -> Explanation:
    """Decode an explanation.

    Raises:
        msgspec.ValidationError: It is not an explanation, or it is from another release.
    """
    return msgspec.convert(document, Explanation)
