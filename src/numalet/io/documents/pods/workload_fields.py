"""Findings for the fields of a Pod that do not fit programs of the host.

The agent *refuses* fields that would change the program's behaviour: mounts, hooks, variables from
config maps, deadlines. It *warns* of missing protection and probes. It *ignores* fields without
meaning for a program, and names them once per pod. All programs share the host's network, processes
and files, so ``hostNetwork`` and the like are not reported. ``pod_table`` has the use of each
field.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, Final

from numalet.core.config.behaviour import Behaviour
from numalet.core.model import input_error, limits
from numalet.core.model.findings import Findings, Severity
from numalet.core.model.pod import ContainerKind
from numalet.io.documents.pods.pod_table.kinds import FieldUse, ObjectType
from numalet.io.documents.pods.pod_table.table import TYPES
from numalet.io.documents.text import typed
from numalet.io.documents.text.typed import Place
from numalet.io.findings.documents import DocumentTooDeep

_UID: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
LONGEST_UID: Final = 253
"""The uid is part of file names and cgroup names."""

_SPEC: Final = TYPES["PodSpec"]
_SPEC_SECURITY: Final = TYPES["PodSecurityContext"]
_CONTAINER: Final = TYPES["Container"]
_SECURITY: Final = TYPES["SecurityContext"]
_RESOURCES: Final = TYPES["ResourceRequirements"]
_PROBES: Final = tuple(sorted(_CONTAINER.names(FieldUse.WARNED)))
_UNPROTECTED: Final = {
    kind.name: kind.names(FieldUse.WARNED) for kind in (_SPEC_SECURITY, _SECURITY)
}
_REFUSED: Final = {
    kind.name: tuple(
        (name, kind.fields[name].instead) for name in sorted(kind.names(FieldUse.REFUSED))
    )
    for kind in (_SPEC, _CONTAINER, _RESOURCES)
}
_IGNORED: Final = {kind.name: kind.names(FieldUse.IGNORED) for kind in (_SPEC, _CONTAINER)}
_UNDER_RULES: Final = {
    kind.name: tuple((name, each.rule) for name, each in kind.fields.items() if each.rule)
    for kind in (_SPEC, _CONTAINER)
}


def check_uid(uid: object, place: Place, findings: Findings) -> None:
    """Report a uid that is not safe in a path."""
    text = uid if isinstance(uid, str) else ""
    # Two dots could lead out of the folder.
    if len(text) > LONGEST_UID or _UID.fullmatch(text) is None or ".." in text:
        shown = typed.described(uid)
        findings.add(
            input_error.Invalid(
                f"invalid uid {shown}",
                expected=(
                    f"letters, digits, '-' and single '.', {LONGEST_UID} at most, with a "
                    "letter or digit at both ends"
                ),
                where=place.location,
            )
        )


def check_pod(
    spec: Mapping[str, Any], place: Place, behaviour: Behaviour, findings: Findings
) -> set[str]:
    """Report the pod's own fields; return the names of ignored ones."""
    _check_refused(spec, _SPEC, place, findings)
    system = spec.get("os")
    if isinstance(system, Mapping) and system.get("name") not in (None, "linux"):
        where = place.member("os").member("name").location
        findings.add(
            input_error.NotSupported(
                f"the pod is for {typed.described(system.get('name'))}",
                expected="linux",
                where=where,
            )
        )
    security = spec.get("securityContext")
    _check_protection(security, _SPEC_SECURITY, place.member("securityContext"), findings)
    if spec.get("hostUsers") is False:
        where = place.member("hostUsers").location
        findings.add(
            input_error.Ignored(
                "not enforced, because the program runs on the host without a container around "
                "it: hostUsers: false",
                where=where,
            )
        )
    return _ignored(spec, _SPEC, behaviour)


def check_container(
    value: Mapping[str, Any],
    kind: ContainerKind,
    place: Place,
    behaviour: Behaviour,
    findings: Findings,
) -> set[str]:
    """Report the fields of a container; return the names of ignored ones."""
    _check_refused(value, _CONTAINER, place, findings)
    if kind is ContainerKind.APP and value.get("restartPolicy"):
        where = place.member("restartPolicy").location
        findings.add(
            input_error.NotSupported(
                "restartPolicy of a container is not supported",
                expected="the restartPolicy of the pod",
                where=where,
            )
        )
    if isinstance(resources := value.get("resources"), Mapping):
        _check_refused(resources, _RESOURCES, place.member("resources"), findings)
    for name in _PROBES:
        if value.get(name):
            findings.add(
                input_error.Ignored(
                    f"{name} is not run; the container counts as started and ready while it runs, "
                    "and is restarted only when it ends",
                    where=place.member(name).location,
                )
            )
    security = value.get("securityContext")
    _check_protection(security, _SECURITY, place.member("securityContext"), findings)
    return _ignored(value, _CONTAINER, behaviour)


def _check_refused(
    value: Mapping[str, Any], kind: ObjectType, place: Place, findings: Findings
) -> None:
    for name, instead in _REFUSED[kind.name]:
        if value.get(name):
            findings.add(
                input_error.NotSupported(
                    f"{name} is not supported",
                    expected=instead,
                    where=place.member(name).location,
                )
            )


def _ignored(value: Mapping[str, Any], kind: ObjectType, behaviour: Behaviour) -> set[str]:
    """Names of the ignored fields in a value; ``behaviour`` enables some."""
    idle = {name for name, rule in _UNDER_RULES[kind.name] if not getattr(behaviour, rule)}
    return {name for name in value.keys() & (_IGNORED[kind.name] | idle) if value[name]}


def say_ignored(ignored: set[str], place: Place, findings: Findings) -> None:
    if ignored:
        names = ", ".join(sorted(ignored))
        findings.add(
            input_error.Ignored(
                "ignored, because containers run as programs of the host and on this node only: "
                f"{names}",
                where=place.location,
                severity=Severity.NOTE,
            )
        )


def _check_protection(value: object, kind: ObjectType, place: Place, findings: Findings) -> None:
    if isinstance(value, Mapping):
        given = {name for name, member in value.items() if member not in (None, {}, [])}
        if names := ", ".join(sorted(given & _UNPROTECTED[kind.name])):
            findings.add(
                input_error.Ignored(
                    "not enforced, because the program runs on the host without a container "
                    f"around it: {names}",
                    where=place.location,
                )
            )


def check_kept(value: object, place: Place, findings: Findings) -> None:
    """Report every value and name that JSON in a file cannot represent."""
    # Nearly all input is valid, so the first pass makes no places.
    if not _are_kept(value, 0):
        _report_not_kept(value, place, findings, 0)


def _are_kept(value: object, depth: int) -> bool:
    if depth > limits.NESTING:
        return False
    if isinstance(value, dict):
        return all(
            isinstance(name, str) and _is_kept(name) and _are_kept(member, depth + 1)
            for name, member in value.items()
        )
    if isinstance(value, list):
        return all(_are_kept(item, depth + 1) for item in value)
    return _is_kept(value)


def _report_not_kept(value: object, place: Place, findings: Findings, depth: int) -> None:
    if depth > limits.NESTING:
        findings.add(DocumentTooDeep(limit=limits.NESTING, where=place.location))
        return
    match value:
        case Mapping():
            for name, member in value.items():
                at = place.member(str(name))
                _report_not_kept(name if isinstance(name, str) else (name,), at, findings, depth)
                _report_not_kept(member, at, findings, depth + 1)
        case list():
            for index, item in enumerate(value):
                _report_not_kept(item, place.item(index), findings, depth + 1)
        case _:
            if not _is_kept(value):
                findings.add(
                    input_error.NotSupported(
                        f"cannot store {typed.described(value)}",
                        expected="64-bit numbers, Unicode texts, lists and objects",
                        where=place.location,
                    )
                )


def _is_kept(value: object) -> bool:
    match value:
        # The texts first: most values and all names are texts.
        case str():
            return value.isascii() or _SURROGATE.search(value) is None
        case None | bool():
            return True
        case int():
            # msgspec encodes no other integers.
            return -(2**63) <= value < 2**64
        case float():
            return math.isfinite(value)
        case _:
            return False
