"""What should be known of decisions beside their verdicts: what was not asked, who was evicted.

The same for several pods is one note.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from numalet.core.admission.decision import Decision
from numalet.core.admission.reasons import NotAsked, Unknown
from numalet.core.model.findings import Finding, Severity

_CODES: Final[Mapping[Unknown, str]] = {
    Unknown.NODE_LABELS: "decision/node-labels-unknown",
    Unknown.NODE_NAME: "decision/node-name-unknown",
    Unknown.CONSTRAINTS: "decision/constraints-unknown",
    Unknown.PORTS_OF_OTHERS: "decision/ports-of-others-unknown",
    Unknown.PODS_WITHOUT_MANIFEST: "decision/pods-without-manifest",
    Unknown.NOT_MEASURED: "decision/not-measured",
    Unknown.SWITCHED_OFF: "decision/predicates-switched-off",
}
_MOST_PODS: Final = 3


@dataclass(frozen=True, slots=True)
class Beside:
    """What is to be known of decisions beside their verdicts; pods are named.

    ``not_asked`` are pods by predicate and why, ``passed_over`` pods by extended resource,
    ``evicted`` who ends for which critical pod.
    """

    not_asked: Mapping[NotAsked, tuple[str, ...]]
    passed_over: Mapping[str, tuple[str, ...]]
    evicted: tuple[tuple[str, tuple[str, ...]], ...]


def collect(decisions: Iterable[Decision]) -> Beside:
    """Everything of these decisions, in the order in which it came up."""
    not_asked: dict[NotAsked, list[str]] = {}
    passed_over: dict[str, list[str]] = {}
    evicted: list[tuple[str, tuple[str, ...]]] = []
    for decision in decisions:
        pod = str(decision.pod)
        for each in decision.not_asked:
            not_asked.setdefault(each, []).append(pod)
        for resource in decision.passed_over:
            passed_over.setdefault(resource, []).append(pod)
        if decision.evicted:
            names = tuple(str(decision.before.pods[uid]) for uid in decision.evicted)
            evicted.append((pod, names))
    return Beside(
        {each: tuple(pods) for each, pods in not_asked.items()},
        {resource: tuple(pods) for resource, pods in passed_over.items()},
        tuple(evicted),
    )


def notes(beside: Beside) -> tuple[Finding, ...]:
    """One note for everything of one kind."""
    findings = [
        _note("decision/evicted", pod=pod, evicted=", ".join(names))
        for pod, names in beside.evicted
    ]
    for why in dict.fromkeys(each.why for each in beside.not_asked):
        of_it = {each.predicate: pods for each, pods in beside.not_asked.items() if each.why is why}
        asking = dict.fromkeys(pod for pods in of_it.values() for pod in pods)
        findings.append(_note(_CODES[why], pods=_few(asking), predicates=", ".join(of_it)))
    for resource, pods in beside.passed_over.items():
        shown = _few(dict.fromkeys(pods))
        findings.append(_note("decision/resource-not-offered", pods=shown, resource=resource))
    return tuple(findings)


def of_document(explanation: Mapping[str, Any]) -> tuple[Finding, ...]:
    """The notes of a decision that is known from its explanation alone."""
    about = explanation["pod"]
    pod = (f"{about['namespace']}/{about['name']}",)
    not_asked = (
        NotAsked(each["predicate"], Unknown(each["why"])) for each in explanation["not_asked"]
    )
    names = {each["uid"]: each["name"] for each in explanation["queue"]}
    evicted = tuple(names.get(uid, uid) for uid in explanation["evicted"])
    return notes(
        Beside(
            dict.fromkeys(not_asked, pod),
            dict.fromkeys(explanation["passed_over"], pod),
            ((*pod, evicted),) if evicted else (),
        )
    )


def _note(code: str, **given: object) -> Finding:
    return Finding(code, given, severity=Severity.NOTE)


def _few(names: Iterable[str]) -> str:
    listed = list(names)
    more = len(listed) - _MOST_PODS
    shown = ", ".join(listed[:_MOST_PODS])
    return f"{shown} and {more} more" if more > 0 else shown
