"""Notes on decisions: skipped predicates, evicted pods and so on, one note for all pods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from numalet.core.admission.decision import Decision
from numalet.core.admission.reasons import NotAsked, Unknown
from numalet.core.model.findings import Finding, NoteFinding
from numalet.core.model.value import OutputDocument, Value
from numalet.wording import numbers


class DecisionNote(NoteFinding):
    why = (
        "After the managers the kubelet checks sums, room for pods, labels, names and ports; "
        "the answer depends on the known facts about them."
    )
    fix = "give whole manifests, --node-name and --node-labels, and all pods of the node"


class NotAskedNote(DecisionNote):
    """Predicates (the kubelet's names) that could not be evaluated for some pods."""

    pods: str
    predicates: str


class DecisionNodeLabelsUnknown(NotAskedNote):
    sentence = "{pods}: {predicates} not evaluated: the node's labels are unknown (--node-labels)"


class DecisionNodeNameUnknown(NotAskedNote):
    sentence = "{pods}: {predicates} not evaluated: the node's name is unknown (--node-name)"


class DecisionConstraintsUnknown(NotAskedNote):
    sentence = (
        "{pods}: {predicates} not evaluated: the pod's selector, affinity and ports are unknown"
    )


class DecisionPortsOfOthersUnknown(NotAskedNote):
    sentence = "{pods}: {predicates} only partly evaluated: the ports of other pods are unknown"


class DecisionPodsWithoutManifest(NotAskedNote):
    sentence = (
        "{pods}: {predicates} only partly evaluated: the requests of pods in the state "
        "files are unknown without manifests"
    )


class DecisionNotMeasured(NotAskedNote):
    sentence = "{pods}: {predicates} not evaluated: numalet does not measure it"


class DecisionNodeFeaturesUnknown(NotAskedNote):
    sentence = (
        "{pods}: {predicates} not evaluated: the features of the node's container runtime "
        "are unknown"
    )


class DecisionPredicatesSwitchedOff(NotAskedNote):
    sentence = (
        "the managers alone decided on {pods}; the general predicates (OutOfcpu, NodeAffinity, "
        "...) are switched off (generalPredicates)"
    )


class DecisionEvicted(DecisionNote):
    sentence = "{evicted}: evicted, so that the critical pod {pod} has room"
    pod: str
    evicted: str


class DecisionResourceNotOffered(DecisionNote):
    sentence = (
        "{resource}: no node offers it; the kubelet passes over it, so {pods} would run without "
        "(--device; native mode rejects such a pod)"
    )
    pods: str
    resource: str


class DecisionPodLevelIgnored(DecisionNote):
    sentence = (
        "{pods}: resources of the whole pod (spec.resources) are ignored, as the feature gate "
        "PodLevelResources is off, which it is by default before v1.34"
    )
    pods: str


_NOTES: Final[Mapping[Unknown, type[NotAskedNote]]] = {
    Unknown.NODE_LABELS: DecisionNodeLabelsUnknown,
    Unknown.NODE_NAME: DecisionNodeNameUnknown,
    Unknown.CONSTRAINTS: DecisionConstraintsUnknown,
    Unknown.PORTS_OF_OTHERS: DecisionPortsOfOthersUnknown,
    Unknown.PODS_WITHOUT_MANIFEST: DecisionPodsWithoutManifest,
    Unknown.NODE_FEATURES: DecisionNodeFeaturesUnknown,
    Unknown.NOT_MEASURED: DecisionNotMeasured,
    Unknown.SWITCHED_OFF: DecisionPredicatesSwitchedOff,
}


class EvictedDocument(OutputDocument):
    """Pods that are evicted for a critical pod."""

    pod: str
    evicted: list[str]


class PodsNotAskedDocument(OutputDocument):
    """A predicate that was not evaluated for these pods for lack of data."""

    predicate: str
    why: Unknown
    pods: list[str]


class PassedOverDocument(OutputDocument):
    """An extended resource that the node does not have, and the pods that run without it."""

    resource: str
    pods: list[str]


class Beside(Value):
    """Facts about decisions; pods are named.

    ``whole_ignored`` are pods with ignored pod-level requests.
    """

    not_asked: list[PodsNotAskedDocument]
    passed_over: list[PassedOverDocument]
    evicted: list[EvictedDocument]
    whole_ignored: list[str]


def collect(decisions: Iterable[Decision]) -> Beside:
    not_asked: dict[NotAsked, list[str]] = {}
    passed_over: dict[str, list[str]] = {}
    evicted: list[EvictedDocument] = []
    whole_ignored: dict[str, None] = {}
    for decision in decisions:
        pod = str(decision.pod)
        # The gate PodLevelResources is off: the kubelet ignores spec.resources.
        if decision.pod.pod_level is not None and not decision.pod.pod_level.count:
            whole_ignored[pod] = None
        for each in decision.not_asked:
            not_asked.setdefault(each, []).append(pod)
        for resource in decision.passed_over:
            passed_over.setdefault(resource, []).append(pod)
        if decision.evicted:
            names = [str(decision.before.pods[uid]) for uid in decision.evicted]
            evicted.append(EvictedDocument(pod, names))
    return Beside(
        [PodsNotAskedDocument(each.predicate, each.why, pods) for each, pods in not_asked.items()],
        [PassedOverDocument(resource, pods) for resource, pods in passed_over.items()],
        evicted,
        list(whole_ignored),
    )


def notes(beside: Beside) -> tuple[Finding, ...]:
    findings: list[Finding] = [
        DecisionEvicted(pod=each.pod, evicted=", ".join(each.evicted)) for each in beside.evicted
    ]
    for why in dict.fromkeys(each.why for each in beside.not_asked):
        of_it = {each.predicate: each.pods for each in beside.not_asked if each.why is why}
        asking = dict.fromkeys(pod for pods in of_it.values() for pod in pods)
        findings.append(_NOTES[why](pods=numbers.some(asking), predicates=", ".join(of_it)))
    for each in beside.passed_over:
        # A pod that was decided on several times is named once.
        shown = numbers.some(dict.fromkeys(each.pods))
        findings.append(DecisionResourceNotOffered(pods=shown, resource=each.resource))
    if beside.whole_ignored:
        findings.append(DecisionPodLevelIgnored(pods=numbers.some(beside.whole_ignored)))
    return tuple(findings)


def of_document(explanation: Mapping[str, Any]) -> tuple[Finding, ...]:
    """Return the notes on a decision, from its explanation document alone."""
    about = explanation["pod"]
    pod = f"{about['namespace']}/{about['name']}"
    names = {each["uid"]: each["name"] for each in explanation["queue"]}
    evicted = [names.get(uid, uid) for uid in explanation["evicted"]]
    return notes(
        Beside(
            [
                PodsNotAskedDocument(each["predicate"], Unknown(each["why"]), [pod])
                for each in explanation["not_asked"]
            ],
            [PassedOverDocument(resource, [pod]) for resource in explanation["passed_over"]],
            [EvictedDocument(pod, evicted)] if evicted else [],
            [],
        )
    )
