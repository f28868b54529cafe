"""What was seen of a kubelet that owns the node, as documents: its books, its containers, its pods.

Sizes in bytes. A pod is called as the links to its logs call it; without any it is called by its
uid, in the namespace ``default``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from numalet.model.pod import ContainerKey
from numalet.reports import pod_placement
from numalet.reports.kubelet_look import KubeletLook, PodName, Problem
from numalet.reports.state_verify import FileReport
from numalet.snapshot.placement import Placement
from numalet.wording import english

OBSERVED: Final = "Observed"
"""The status of a pod that somebody else keeps."""


def kubelet_document(look: KubeletLook | None) -> dict[str, Any] | None:
    """What was seen, but for what the containers hold; None where nobody else owns the node."""
    if look is None:
        return None
    evidence = look.evidence
    asked = bool(evidence.config and evidence.files)
    return {
        "root": evidence.root,
        "configuration": evidence.config or None,
        "at": look.at.isoformat(),
        "startsWithItsFiles": evidence.refusal is None if asked else None,
        "files": [_file(each) for each in look.files],
        "containersFound": len(look.audits),
        "problems": [_problem(each) for each in look.told],
    }


def _file(report: FileReport) -> dict[str, Any]:
    return {
        "name": report.name,
        "policy": report.policy_name,
        "soundness": report.soundness.value,
    }


def _problem(problem: Problem) -> dict[str, Any]:
    finding, key = problem.finding, problem.key
    return {
        "code": finding.code,
        "text": english.sentence(finding),
        "since": problem.since.isoformat(),
        "podUID": None if key is None else key.pod_uid,
        "container": None if key is None else key.container,
    }


def placements(look: KubeletLook) -> list[dict[str, Any]]:
    """The placement of every pod of the kubelet that its state files know, as of our own pods."""
    pods: dict[str, dict[str, Placement]] = {}
    for key, held in look.held.items():
        pods.setdefault(key.pod_uid, {})[key.container] = held
    return [_placement(look, uid, held) for uid, held in pods.items()]


def _placement(look: KubeletLook, uid: str, held: Mapping[str, Placement]) -> dict[str, Any]:
    named = look.evidence.pods.get(uid, PodName("default", uid))
    audits = [look.audits[key] for name in held if (key := ContainerKey(uid, name)) in look.audits]
    return {
        "metadata": {
            "name": named.name,
            "namespace": named.namespace,
            "uid": uid,
            "creationTimestamp": None,
        },
        "ready": f"{len(audits)}/{len(held)}",
        "status": OBSERVED,
        "restarts": 0,
        **pod_placement.whole(held, audits),
        "containers": [
            pod_placement.container(name, each, look.audits.get(ContainerKey(uid, name)))
            for name, each in held.items()
        ],
    }
