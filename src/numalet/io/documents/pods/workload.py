"""Reads a Pod manifest into a workload of the agent.

``pod_document`` reads the resources, as for every other command; this adds the programs. Fields are
honoured, ignored with one note per pod, or refused because the program would behave differently
(``workload_fields``).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, Final

import msgspec

from numalet.core.config.behaviour import EXACT, Behaviour
from numalet.core.model import input_error
from numalet.core.model.findings import Findings, Severity
from numalet.core.model.pod import Pod
from numalet.core.model.value import Value, replace
from numalet.core.workload.spec import RestartPolicy, Workload, WorkloadSource
from numalet.io.documents.pods import (
    metadata_rules,
    pod_document,
    pod_record,
    workload_container,
    workload_defaults,
    workload_fields,
)
from numalet.io.documents.pods.pod_document import PodIdentity
from numalet.io.documents.pods.pod_resources import PodSource
from numalet.io.documents.pods.pod_table import checking
from numalet.io.documents.pods.pod_table.table import POD, TYPES
from numalet.io.documents.pods.workload_container import SecurityContext
from numalet.io.documents.text import typed
from numalet.io.documents.text.typed import Place

LONGEST_GRACE_SECONDS: Final = 2**31 - 1


class Programs(Enum):
    """The source of a container's program."""

    COMMAND = "command"
    """``command`` and ``args`` name a program of the host; the image is ignored."""
    RUNTIME = "runtime"
    """The runtime has a program for every container, like one with images."""


class WorkloadOptions(Value, kw_only=True):
    """Facts that the manifest does not contain.

    ``uid`` and ``namespace`` apply to a pod without them; by default the uid is derived from the
    name. ``node_name`` is written into the manifest. ``behaviour`` are the node's rules, which
    enable some fields. ``unknown_fields`` is the severity of fields that no release has; unless it
    is an error, they are dropped.
    """

    source: WorkloadSource = WorkloadSource.API
    origin: str = ""
    uid: str = ""
    namespace: str = ""
    node_name: str = ""
    programs: Programs = Programs.COMMAND
    behaviour: Behaviour = EXACT
    unknown_fields: Severity = Severity.ERROR


class _Spec(msgspec.Struct, rename="camel", frozen=True):
    containers: list[Any] | None = None
    init_containers: list[Any] | None = None
    restart_policy: str | None = None
    termination_grace_period_seconds: int | None = None
    priority_class_name: str | None = None
    security_context: SecurityContext | None = None


def decode_workload(
    value: object, place: Place, options: WorkloadOptions, findings: Findings
) -> Workload | None:
    """The pod is new: a status in it must have the right types but is ignored."""
    of_workload = Findings()
    workload_fields.check_kept(value, place, of_workload)
    workload = None if of_workload.has_errors else _decoded(value, place, options, of_workload)
    if workload is not None and not of_workload.has_errors:
        pod_record.check_readable(workload, place, of_workload)
    findings.extend(of_workload.all)
    return None if of_workload.has_errors else workload


def _decoded(
    value: object, place: Place, options: WorkloadOptions, findings: Findings
) -> Workload | None:
    if isinstance(value, Mapping):
        if not _is_pod(value, place, findings):
            return None
        status = value.get("status")
        if status is not None:
            at_status = place.member("status")
            strictness = checking.Strictness(options.unknown_fields)
            checking.check(status, TYPES["PodStatus"], at_status, strictness, findings)
        # The pod is new, so only the types of its status matter.
        value = {name: member for name, member in value.items() if name != "status"}
    is_file = options.source is WorkloadSource.FILE
    identity = PodIdentity(
        namespace=options.namespace,
        uid=options.uid,
        unknown_fields=options.unknown_fields,
        source=PodSource.FILE if is_file else PodSource.API,
    )
    pod = pod_document.decode_pod(value, place, identity, findings)
    if pod is None or not isinstance(value, Mapping):
        return None
    known: Mapping[str, Any] = checking.as_kept(value, POD)
    given = known.get("metadata") or {}
    at_metadata = place.member("metadata")
    metadata_rules.check(given, at_metadata, findings)
    workload_fields.check_uid(pod.uid, at_metadata.member("uid"), findings)
    return _workload(known, pod, place, options, findings)


def _is_pod(value: Mapping[Any, Any], place: Place, findings: Findings) -> bool:
    is_pod = True
    for member, expected in (("kind", "Pod"), ("apiVersion", "v1")):
        given = value.get(member, expected)
        if given != expected:
            shown = typed.described(given)
            where = place.member(member).location
            findings.add(
                input_error.NotSupported(
                    f"unknown {member} {shown}", expected=f"{expected!r}", where=where
                )
            )
            is_pod = False
    return is_pod


def _workload(
    value: Mapping[Any, Any], pod: Pod, place: Place, options: WorkloadOptions, findings: Findings
) -> Workload | None:
    at_spec = place.member("spec")
    raw = value.get("spec") or {}
    spec = typed.decode(raw, _Spec, at_spec, findings)
    if spec is None:
        return None
    ignored = workload_fields.check_pod(raw, at_spec, options.behaviour, findings)
    reading = workload_container.Reading(
        pod_security=spec.security_context or SecurityContext(),
        at_pod_security=at_spec.member("securityContext"),
        program_needed=options.programs is Programs.COMMAND,
        behaviour=options.behaviour,
        findings=findings,
        ignored=ignored,
    )
    lists = (("initContainers", spec.init_containers), ("containers", spec.containers))
    placed = [
        (each, at_spec.member(name).item(index))
        for name, each_list in lists
        for index, each in enumerate(each_list or ())
    ]
    specs = [
        workload_container.read(each, container.kind, at, reading)
        for (each, at), container in zip(placed, pod.containers(), strict=True)
    ]
    workload_fields.say_ignored(ignored, at_spec, findings)
    return Workload(
        # The source decides, whatever the annotations say.
        pod=replace(pod, is_static=options.source is WorkloadSource.FILE),
        containers=tuple(each for each in specs if each is not None),
        restart_policy=RestartPolicy(spec.restart_policy or "Always"),
        grace_period_seconds=_grace(spec.termination_grace_period_seconds, at_spec, findings),
        priority_class=spec.priority_class_name or "",
        source=options.source,
        origin=options.origin,
        manifest=workload_defaults.manifest(value, pod, options.node_name),
    )


def _grace(value: int | None, place: Place, findings: Findings) -> int:
    if value is None:
        return 30
    if not 0 <= value <= LONGEST_GRACE_SECONDS:
        where = place.member("terminationGracePeriodSeconds").location
        shown = typed.described(value)
        findings.add(
            input_error.Invalid(
                f"invalid termination grace period {shown}",
                expected=f"0 to {LONGEST_GRACE_SECONDS} seconds",
                where=where,
            )
        )
    return value
