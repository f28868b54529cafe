"""Reads a Pod manifest into a workload of the agent.

``pod_document`` reads the resources, as for every other command; this adds the programs. Fields are
honoured, ignored with one note per pod, or refused because the program would behave differently
(``workload_fields``). The manifest gets the API server's defaults, for clients of the API.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, Final

from numalet.core.config.behaviour import EXACT, Behaviour
from numalet.core.model import input_error, node_constraints
from numalet.core.model.findings import Finding, Findings, Location, Severity
from numalet.core.model.pod import Container, Pod
from numalet.core.model.value import Value, replace
from numalet.core.workload.spec import RestartPolicy, Workload, WorkloadSource
from numalet.io.documents.pods import pod_document, pod_record, workload_container, workload_fields
from numalet.io.documents.pods.pod_document import PodIdentity
from numalet.io.documents.pods.pod_resources import PodSource
from numalet.io.documents.pods.pod_table import checking
from numalet.io.documents.pods.pod_table.table import POD, TYPES
from numalet.io.documents.text import typed
from numalet.io.documents.text.typed import Place

_SERVERS_OWN_TEXT: Final = """
    creationTimestamp deletionGracePeriodSeconds deletionTimestamp generation managedFields
    resourceVersion selfLink
"""
_SERVERS_OWN: Final = frozenset(_SERVERS_OWN_TEXT.split())
# Kubernetes v1.32: ``SetDefaults_PodSpec`` and ``SetDefaults_Container``. Probes and volumes have
# many defaults but are refused or ignored here, so they stay as written.
_SPEC: Final = {
    "dnsPolicy": "ClusterFirst",
    "enableServiceLinks": True,
    "restartPolicy": "Always",
    "schedulerName": "default-scheduler",
    "terminationGracePeriodSeconds": 30,
}
_CONTAINER: Final = {
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}


def _with_defaults(given: Mapping[str, Any], pod: Pod, node_name: str) -> dict[str, Any]:
    """The object with defaults, without status and server-owned metadata; may change ``given``."""
    metadata = _present(given.get("metadata"), _SERVERS_OWN)
    metadata |= {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid}
    spec = {**_SPEC, **_present(given.get("spec"))}
    spec.setdefault("securityContext", {})
    if node_name:
        spec["nodeName"] = node_name
    containers = {container.name: container for container in pod.containers()}
    for name in ("containers", "initContainers"):
        if name in spec:
            spec[name] = [_container(each, containers[each["name"]]) for each in spec[name]]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _present(value: Any, without: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Members that are not null; null means absent."""
    return {
        name: member
        for name, member in (value or {}).items()
        if member is not None and name not in without
    }


def _container(value: Mapping[str, Any], container: Container) -> dict[str, Any]:
    filled = {**_CONTAINER, **_present(value)}
    if image := filled.get("image"):
        filled.setdefault("imagePullPolicy", _pull_policy(image))
    asked = {"limits": container.limits, "requests": container.requests}
    filled["resources"] = {
        name: {resource: str(quantity) for resource, quantity in quantities.items()}
        for name, quantities in asked.items()
        if quantities
    }
    return filled


def _pull_policy(image: str) -> str:
    """``Always`` for an image whose tag may move."""
    named = image.rsplit("/", 1)[-1]
    _, _, tag = named.partition(":")
    return "IfNotPresent" if "@" in named or tag not in ("", "latest") else "Always"


MOST_ANNOTATION_BYTES: Final = 256 * 1024
"""Keys and values of all annotations together."""


def _check_metadata(metadata: Mapping[Any, Any], place: Place, findings: Findings) -> None:
    """Add findings about labels and annotations; wrong types are reported elsewhere."""
    # Kubernetes v1.32: ``ValidateLabels`` and ``ValidateAnnotations`` of ``apimachinery``.
    labels, notes = metadata.get("labels"), metadata.get("annotations")
    if isinstance(labels, Mapping):
        for name, value in labels.items():
            where = place.member("labels").member(str(name)).location
            if not (isinstance(name, str) and node_constraints.is_label_name(name)):
                findings.add(_invalid_name(name, where))
            if isinstance(value, str) and not node_constraints.is_label_value(value):
                findings.add(
                    input_error.Invalid(
                        f"invalid label value {typed.described(value)}",
                        expected=(
                            "letters, digits, '-', '_' and '.', 63 at most, with a letter "
                            "or digit at both ends"
                        ),
                        where=where,
                    )
                )
    if isinstance(notes, Mapping):
        at = place.member("annotations")
        for name in notes:
            # Unlike label keys, annotation keys are lowered before the check.
            if not node_constraints.is_label_name(str(name).lower()):
                findings.add(_invalid_name(name, at.member(str(name)).location))
        size_bytes = sum(len(f"{name}{text}".encode()) for name, text in notes.items())
        if size_bytes > MOST_ANNOTATION_BYTES:
            findings.add(
                input_error.TooLarge(
                    f"the annotations have {size_bytes} bytes",
                    expected=f"at most {MOST_ANNOTATION_BYTES} bytes",
                    where=at.location,
                )
            )


def _invalid_name(name: object, where: Location) -> Finding:
    return input_error.Invalid(
        f"invalid name of a label or annotation {typed.described(name)}",
        expected=(
            "an optional domain and '/', then letters, digits, '-', '_' and '.', 63 at most, "
            "with a letter or digit at both ends"
        ),
        where=where,
    )


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
    _check_metadata(given, at_metadata, findings)
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
) -> Workload:
    # ``pod_document`` has checked the types of all members.
    at_spec, spec = place.member("spec"), value["spec"]
    ignored = workload_fields.check_pod(spec, at_spec, options.behaviour, findings)
    reading = workload_container.Reading(
        pod_security=spec.get("securityContext") or {},
        at_pod_security=at_spec.member("securityContext"),
        program_needed=options.programs is Programs.COMMAND,
        behaviour=options.behaviour,
        findings=findings,
        ignored=ignored,
    )
    placed = [
        (each, at_spec.member(name).item(index))
        for name in ("initContainers", "containers")
        for index, each in enumerate(spec.get(name) or ())
    ]
    specs = tuple(
        workload_container.read(each, container.kind, at, reading)
        for (each, at), container in zip(placed, pod.containers(), strict=True)
    )
    workload_fields.say_ignored(ignored, at_spec, findings)
    return Workload(
        # The source decides, whatever the annotations say.
        pod=replace(pod, is_static=options.source is WorkloadSource.FILE),
        containers=specs,
        restart_policy=RestartPolicy(spec.get("restartPolicy") or "Always"),
        grace_period_seconds=_grace(spec.get("terminationGracePeriodSeconds"), at_spec, findings),
        priority_class=spec.get("priorityClassName") or "",
        source=options.source,
        origin=options.origin,
        manifest=_with_defaults(value, pod, options.node_name),
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
