"""An explanation as one plain document: what ``numalet explain -o json`` prints.

Every reason is there with its code, its figures and a sentence; sets of NUMA nodes are lists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from numalet.core.admission.reasons import Rejection
from numalet.core.config.rules import StartRefused
from numalet.core.hints.hint import Hint
from numalet.core.hints.reasons import Reason
from numalet.core.model import cpu_set, numa_mask
from numalet.core.model.pod import Pod
from numalet.core.model.quantity import Quantity
from numalet.insight import decision_notes
from numalet.insight.explain import measures, node_document
from numalet.insight.explain.case import Case
from numalet.insight.explain.change import Change, ChangeOutcome
from numalet.insight.explain.considered_sets import ProviderAnswer, SetAnswer
from numalet.insight.explain.story import AlignedSubject, AllocatedResources, Story
from numalet.insight.explain.tally import Tally
from numalet.wording import english, explanations, kubelet, kubelet_start

SCHEMA: Final = "numalet.explanation/1"

NameOf = Callable[[str], str]


def explanation(
    case: Case, told: Story, tallies: Iterable[Tally], assumed_running: int = 0
) -> dict[str, Any]:
    """The decision, its story, and what would have admitted the pod.

    ``assumed_running`` is how many pods only the state files know.
    """
    decision = told.decision
    rejection = decision.rejection
    rules = told.roster.rules
    return {
        "schema": SCHEMA,
        "pod": _pod(case.pod),
        "mode": rules.behaviour.mode.value,
        "policy": rules.topology.policy.value,
        "scope": rules.topology.scope.value,
        "queue": [
            {"name": str(pod), "uid": pod.uid, "admitted": pod.uid in case.admitted}
            for pod in case.queue
        ],
        "replay_refused": [
            refused(pod, case.refused[pod.uid]) for pod in case.queue if pod.uid in case.refused
        ],
        "admitted": decision.admitted,
        "reason": kubelet.reason(rejection),
        "message": kubelet.message(rejection),
        "why": None if rejection is None else _reason(rejection),
        **decision_notes.fields(decision),
        "nodes": list(numa_mask.ids(measures.span_of(told.roster, decision.after, decision.pod))),
        "nodes_before": node_document.nodes(case.node),
        "held_before": node_document.held(case),
        "subjects": [_subject(each, case.name_of) for each in told.subjects],
        "allocated": [_taken(each, case.name_of) for each in told.taken],
        "refused_allocation": _refusal(told, case.name_of),
        "would_admit": [_tally(each, case) for each in tallies],
        "assumed_running": assumed_running,
    }


def refused(pod: Pod, rejection: Rejection) -> dict[str, Any]:
    """A pod that was rejected, in the kubelet's words."""
    return {
        "pod": str(pod),
        "reason": kubelet.reason(rejection),
        "message": kubelet.message(rejection),
    }


def not_started(text: str, stage: str) -> dict[str, Any]:
    """The document where the kubelet does not even start."""
    return {"schema": SCHEMA, "start_error": text, "start_error_stage": stage}


def _pod(pod: Pod) -> dict[str, Any]:
    return {
        "namespace": pod.namespace,
        "name": pod.name,
        "uid": pod.uid,
        "qos_class": pod.qos_class.value,
        "containers": [
            {
                "name": container.name,
                "kind": container.kind.value,
                "requests": {name: str(q) for name, q in sorted(container.requests.items())},
            }
            for container in pod.containers()
        ],
    }


def _reason(reason: Reason) -> dict[str, Any]:
    figures = {name: _plain(name, value) for name, value in english.fields_of(reason).items()}
    return {"code": reason.code, "text": english.of_reason(reason)} | {"figures": figures}


def _plain(name: str, value: Any) -> Any:
    match value:
        case Hint():
            return _hint(value)
        case Quantity():
            return str(value)
        case Reason():
            return _reason(value)
        case int() if name in ("mask", "group", "best", "affinity", "nodes"):
            return list(numa_mask.ids(value))
        case tuple():
            return list(value)
        case _:
            return value


def _hint(hint: Hint) -> dict[str, Any]:
    nodes = None if hint.mask is None else list(numa_mask.ids(hint.mask))
    return {"nodes": nodes, "preferred": hint.preferred}


def _subject(subject: AlignedSubject, name_of: NameOf) -> dict[str, Any]:
    merged = subject.merged
    ranking = subject.ranking
    return {
        "subject": subject.name,
        "answers": [_answer(each, name_of) for each in subject.answers],
        "finalists": None if ranking is None else [_hint(each) for each in ranking.finalists],
        "wanted_size": None if ranking is None else ranking.wanted_size,
        "by_distance": None if ranking is None else ranking.by_distance,
        "merged": _hint(merged.affinity) | {"admit": merged.admit, "bounded": merged.bounded},
    }


def _answer(answer: ProviderAnswer, name_of: NameOf) -> dict[str, Any]:
    return {
        "provider": answer.provider,
        "resources": list(answer.resources),
        "answer": answer.kind.value,
        "reason": None if answer.reason is None else _reason(answer.reason),
        "sets": [_set(each, name_of) for each in answer.sets],
        "all_sets": answer.is_complete,
    }


def _set(each: SetAnswer, name_of: NameOf) -> dict[str, Any]:
    found: dict[str, Any] = {
        "nodes": list(numa_mask.ids(each.mask)),
        "offered": each.offered,
        "preferred": each.preferred,
    }
    if each.reason is not None:
        names = dict.fromkeys(name_of(uid) for uid, _ in each.holders)
        found["why_not"] = _reason(each.reason)
        found["brief"] = explanations.brief(each.reason, tuple(names))
        found["held_by"] = [
            {"pod": name_of(uid), "container": container} for uid, container in each.holders
        ]
    return found


def _taken(taken: AllocatedResources, name_of: NameOf) -> dict[str, Any]:
    return {
        "container": taken.container,
        "memory": [
            {"nodes": list(block.nodes), "type": block.resource, "size_bytes": block.size_bytes}
            for block in taken.memory
        ],
        "cpus_by_node": {str(node): cpu_set.text(cpus) for node, cpus in taken.cpus.items()},
        "devices": {name: list(ids) for name, ids in taken.devices.items()},
        "chosen_among": None if taken.looked_at is None else _answer(taken.looked_at, name_of),
    }


def _refusal(told: Story, name_of: NameOf) -> dict[str, Any] | None:
    refusal = told.refusal
    if refusal is None:
        return None
    looked_at = refusal.looked_at
    return {
        "container": refusal.container,
        "provider": refusal.provider,
        "reason": _reason(refusal.reason),
        "chosen_among": None if looked_at is None else _answer(looked_at, name_of),
    }


def _tally(tally: Tally, case: Case) -> dict[str, Any]:
    return {
        "category": tally.category.value,
        "tried": tally.tried,
        "ended_early": tally.ended_early,
        "offers": [_offer(each.change, each.outcome, case) for each in tally.offers],
        "would_not_start": [_offer(each.change, each.outcome, case) for each in tally.refusals],
    }


def _offer(change: Change, result: ChangeOutcome, case: Case) -> dict[str, Any]:
    found = _reason(change)
    if isinstance(result.decision, StartRefused):
        return found | {"start_error": kubelet_start.text(result.decision)}
    lost = [case.name_of(uid) for uid in result.lost]
    return found | {"nodes": list(numa_mask.ids(result.span)), "lost": lost}
