"""Documents about an observed kubelet: state files, containers, pods. Sizes in bytes.

Names of pods are from log links; a pod without one has its uid as name, in ``default``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from numalet.agent.kubelet.observed import KubeletObservation, KubeletProblem, PodName
from numalet.core.model import moments
from numalet.core.model.pod import ContainerKey
from numalet.core.snapshot.placement import Placement
from numalet.insight.state.verify import FileReport
from numalet.shared.kubernetes import pod_placement

OBSERVED: Final = "Observed"
"""Status of another owner's pod."""
STALE: Final = "Stale"
"""Status of a pod in the state files that the kubelet no longer has."""


def kubelet_document(observation: KubeletObservation | None) -> dict[str, Any] | None:
    """The observation without the containers' allocations."""
    if observation is None:
        return None
    evidence = observation.evidence
    release = evidence.followed
    # Without these, nothing is known about a start, so the field is null.
    asked = bool(evidence.config and evidence.files) and not release.may_have_unknown_rules
    return {
        "root": evidence.root,
        "configuration": evidence.config or None,
        "release": release.release.name,
        "version": release.kubelet_version or None,
        "at": moments.seconds(observation.at),
        "running": None if evidence.running is None else bool(evidence.running),
        "process": evidence.running or None,
        "since": moments.seconds(observation.state_since),
        "startsWithItsFiles": evidence.refusal is None if asked else None,
        "files": [_file(each) for each in observation.files],
        "containersFound": len(observation.audits),
        "problems": [_problem(each) for each in observation.lasting_problems],
    }


def _file(report: FileReport) -> dict[str, Any]:
    return {
        "name": report.name,
        "policy": report.policy_name,
        "soundness": report.soundness.value,
    }


def _problem(problem: KubeletProblem) -> dict[str, Any]:
    finding, key = problem.finding, problem.key
    return {
        "code": finding.code,
        "text": finding.located,
        "since": moments.seconds(problem.since),
        "podUID": None if key is None else key.pod_uid,
        "container": None if key is None else key.container,
    }


def placements(observation: KubeletObservation) -> list[dict[str, Any]]:
    """PodPlacement documents of all pods in the state files."""
    pods: dict[str, dict[str, Placement]] = {}
    for key, held in observation.held.items():
        pods.setdefault(key.pod_uid, {})[key.container] = held
    return [_placement(observation, uid, held) for uid, held in pods.items()]


def _placement(
    observation: KubeletObservation, uid: str, held: Mapping[str, Placement]
) -> dict[str, Any]:
    named = observation.evidence.pods.get(uid, PodName("default", uid))
    audits = [
        observation.audits[key]
        for name in held
        if (key := ContainerKey(uid, name)) in observation.audits
    ]
    return {
        "metadata": {
            "name": named.name,
            "namespace": named.namespace,
            "uid": uid,
            "creationTimestamp": None,
        },
        "ready": _ready(observation, uid, named, held),
        "status": STALE if observation.is_stale(uid) else OBSERVED,
        "restarts": 0,
        **pod_placement.whole(held, audits),
        "containers": [
            pod_placement.container(name, each, observation.audits.get(ContainerKey(uid, name)))
            for name, each in held.items()
        ],
    }


def _ready(
    observation: KubeletObservation, uid: str, named: PodName, held: Mapping[str, Placement]
) -> str:
    """Containers running and total, as in ``kubectl get pods``.

    Init containers other than sidecars are not counted. Only the kubelet can distinguish them;
    without its list, all known containers count.
    """
    running = {key.container for key in observation.evidence.realities if key.pod_uid == uid}
    counted = (observation.evidence.app_containers or {}).get(named)
    names = frozenset(held) | running if counted is None else counted
    return f"{len(running & names)}/{len(names)}"
