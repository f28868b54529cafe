"""What should be known of decisions beside their verdicts: what was not asked, who was evicted.

The same for several pods is one note.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from numalet.admission.decision import Decision
from numalet.admission.reasons import Unknown
from numalet.model.findings import Finding, Severity

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


def notes(decisions: Iterable[Decision]) -> tuple[Finding, ...]:
    """One note for everything of one kind, in the order in which it came up."""
    predicates: dict[Unknown, dict[str, None]] = {}
    pods: dict[object, dict[str, None]] = {}
    found: list[Finding] = []
    for decision in decisions:
        pod = str(decision.pod)
        for each in decision.not_asked:
            predicates.setdefault(each.why, {})[each.predicate] = None
            pods.setdefault(each.why, {})[pod] = None
        for resource in decision.passed_over:
            pods.setdefault(resource, {})[pod] = None
        if decision.evicted:
            names = [str(decision.before.pods[uid]) for uid in decision.evicted]
            found.append(_note("decision/evicted", pod=pod, evicted=", ".join(names)))
    for what, asking in pods.items():
        if isinstance(what, Unknown):
            named = ", ".join(predicates[what])
            found.append(_note(_CODES[what], pods=_few(asking), predicates=named))
        else:
            found.append(_note("decision/resource-not-offered", pods=_few(asking), resource=what))
    return tuple(found)


def fields(decision: Decision) -> dict[str, Any]:
    """The same of one decision, as plain data."""
    return {
        "evicted": list(decision.evicted),
        "not_asked": [
            {"predicate": each.predicate, "why": each.why.value} for each in decision.not_asked
        ],
        "passed_over": list(decision.passed_over),
    }


def _note(code: str, **given: object) -> Finding:
    return Finding(code, given, severity=Severity.NOTE)


def _few(names: Iterable[str]) -> str:
    listed = list(names)
    more = len(listed) - _MOST_PODS
    shown = ", ".join(listed[:_MOST_PODS])
    return f"{shown} and {more} more" if more > 0 else shown
