"""The fields of a Pod that a runtime of host programs can not honour, and what is done about it.

*Refused* is what changes what the program does or finds: a mounted path that would be the host's
own, a hook that would not run, a variable from a place that does not exist, a deadline nobody
keeps. *Warned of* is protection or health that the manifest promises and nobody gives. *Ignored*
is what means nothing to a program of the host; it is named once for the whole pod. That the
program sees the host's network, processes and files is how this runtime works, so ``hostNetwork``
and its like are said by nobody.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, Final

from numalet.adapters.documents import typed
from numalet.adapters.documents.typed import Place
from numalet.adapters.documents.yaml_builder import DEEPEST_NESTING
from numalet.model.findings import Findings, Severity
from numalet.model.pod import ContainerKind

_UID: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
LONGEST_UID: Final = 253
"""A uid becomes part of a file's name and of a cgroup's."""

_REFUSED_OF_POD: Final = {
    "activeDeadlineSeconds": "workload/deadline",
    "ephemeralContainers": "workload/ephemeral-containers",
    "resourceClaims": "workload/resource-claims",
    "schedulingGates": "workload/scheduling-gates",
}
_REFUSED_OF_CONTAINER: Final = {
    "envFrom": "workload/env-from",
    "lifecycle": "workload/lifecycle-hooks",
    "restartPolicyRules": "workload/restart-rules",
    "volumeDevices": "workload/mounts",
    "volumeMounts": "workload/mounts",
}
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_IGNORED_OF_POD_TEXT: Final = """
    affinity dnsConfig dnsPolicy hostAliases hostname hostnameOverride imagePullSecrets
    nodeSelector readinessGates runtimeClassName schedulerName schedulingGroup serviceAccount
    serviceAccountName subdomain topologySpreadConstraints volumes workloadRef
"""
_IGNORED_OF_POD: Final = frozenset(_IGNORED_OF_POD_TEXT.split())
_IGNORED_OF_CONTAINER_TEXT: Final = """
    imagePullPolicy ports resizePolicy stdin stdinOnce terminationMessagePath
    terminationMessagePolicy tty
"""
_IGNORED_OF_CONTAINER: Final = frozenset(_IGNORED_OF_CONTAINER_TEXT.split())

REFUSED: Final = frozenset({*_REFUSED_OF_POD, *_REFUSED_OF_CONTAINER})
WARNED: Final = frozenset({*_PROBES, "securityContext", "hostUsers"})
IGNORED: Final = _IGNORED_OF_POD | _IGNORED_OF_CONTAINER

_HONOURED_SECURITY: Final = frozenset({"runAsUser", "runAsGroup", "runAsNonRoot"})


def check_uid(uid: object, place: Place, findings: Findings) -> None:
    """A finding for a uid that may not become a part of a path."""
    text = uid if isinstance(uid, str) else ""
    if len(text) > LONGEST_UID or _UID.fullmatch(text) is None or ".." in text:
        shown = typed.described(uid)
        findings.add("workload/uid", place.location, value=shown, most=LONGEST_UID)


def check_pod(spec: Mapping[str, Any], place: Place, findings: Findings) -> set[str]:
    """Findings for the pod's own fields; returns the names of those that are ignored."""
    for name, code in _REFUSED_OF_POD.items():
        if spec.get(name):
            findings.add(code, place.member(name).location, field=name)
    system = spec.get("os")
    if isinstance(system, Mapping) and system.get("name") not in (None, "linux"):
        where = place.member("os").member("name").location
        findings.add("workload/system", where, value=typed.described(system.get("name")))
    _check_protection(spec.get("securityContext"), place.member("securityContext"), findings)
    if spec.get("hostUsers") is False:
        where = place.member("hostUsers").location
        findings.add("workload/protection", where, Severity.WARNING, names="hostUsers: false")
    return {name for name in _IGNORED_OF_POD if spec.get(name)}


def check_container(
    value: Mapping[str, Any],
    kind: ContainerKind,
    place: Place,
    ignored: set[str],
    findings: Findings,
) -> None:
    """Findings for the fields of a container; ignored ones are added by name."""
    for name, code in _REFUSED_OF_CONTAINER.items():
        if value.get(name):
            findings.add(code, place.member(name).location, field=name)
    if kind is ContainerKind.APP and value.get("restartPolicy"):
        where = place.member("restartPolicy").location
        findings.add("workload/restart-rules", where, field="restartPolicy")
    if isinstance(resources := value.get("resources"), Mapping) and resources.get("claims"):
        where = place.member("resources").member("claims").location
        findings.add("workload/resource-claims", where, field="claims")
    for name in _PROBES:
        if value.get(name):
            findings.add("workload/probe", place.member(name).location, Severity.WARNING, name=name)
    _check_protection(value.get("securityContext"), place.member("securityContext"), findings)
    ignored |= {name for name in _IGNORED_OF_CONTAINER if value.get(name)}


def say_ignored(ignored: set[str], place: Place, findings: Findings) -> None:
    """One note for all that is ignored in the pod."""
    if ignored:
        names = ", ".join(sorted(ignored))
        findings.add("workload/ignored", place.location, Severity.NOTE, names=names)


def _check_protection(value: object, place: Place, findings: Findings) -> None:
    """A warning for what a security context promises and nobody keeps."""
    if isinstance(value, Mapping):
        given = {str(name) for name, member in value.items() if member not in (None, {}, [])}
        if names := ", ".join(sorted(given - _HONOURED_SECURITY)):
            findings.add("workload/protection", place.location, Severity.WARNING, names=names)


def check_kept(value: object, place: Place, findings: Findings) -> None:
    """A finding for every value and name that could not be written to a file and read back."""
    # Nearly always all is well, and then no place is needed.
    if not _are_kept(value, 0):
        _tell_not_kept(value, place, findings, 0)


def _are_kept(value: object, depth: int) -> bool:
    if depth > DEEPEST_NESTING:
        return False
    if isinstance(value, dict):
        return all(
            isinstance(name, str) and _is_kept(name) and _are_kept(member, depth + 1)
            for name, member in value.items()
        )
    if isinstance(value, list):
        return all(_are_kept(item, depth + 1) for item in value)
    return _is_kept(value)


def _tell_not_kept(value: object, place: Place, findings: Findings, depth: int) -> None:
    if depth > DEEPEST_NESTING:
        findings.add("document/too-deep", place.location, limit=DEEPEST_NESTING)
        return
    match value:
        case Mapping():
            for name, member in value.items():
                at = place.member(str(name))
                _tell_not_kept(name if isinstance(name, str) else (name,), at, findings, depth)
                _tell_not_kept(member, at, findings, depth + 1)
        case list():
            for index, item in enumerate(value):
                _tell_not_kept(item, place.item(index), findings, depth + 1)
        case _:
            if not _is_kept(value):
                findings.add("workload/not-json", place.location, value=typed.described(value))


def _is_kept(value: object) -> bool:
    match value:
        case None | bool():
            return True
        case int():
            return -(2**63) <= value < 2**64
        case float():
            return math.isfinite(value)
        case str():
            return value.isascii() or _SURROGATE.search(value) is None
        case _:
            return False
