"""Reads one Pod object into the pod that the managers work with.

It follows the API server: field types come from the table of fields (``pod_table``), for resources
see ``pod_resources``. A pod *from a server* (it has a resource version or a status) may have
members of a newer release; in a handwritten pod an unknown member is an error.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any, Final

from numalet.core.model import input_error, pod_demand
from numalet.core.model.findings import Finding, Findings, Severity
from numalet.core.model.pod import Container, ContainerKind, Pod
from numalet.core.model.value import Value
from numalet.io.documents.pods import pod_claims, pod_constraints, pod_level, pod_resources
from numalet.io.documents.pods.pod_resources import PodSource
from numalet.io.documents.pods.pod_table import checking, quick
from numalet.io.documents.pods.pod_table.checking import Strictness
from numalet.io.documents.pods.pod_table.kinds import TextKind
from numalet.io.documents.pods.pod_table.table import POD
from numalet.io.documents.pods.pod_table.values import DNS_LABEL, DNS_SUBDOMAIN, PHASES
from numalet.io.documents.text import typed
from numalet.io.documents.text.typed import Place
from numalet.io.findings.pods import (
    PodsNameMissing,
    PodsNoContainers,
)

_MIRROR: Final = "kubernetes.io/config.mirror"
_SOURCE: Final = "kubernetes.io/config.source"
_FROM_API: Final = "api"
MOST_CONTAINERS: Final = 1000
"""Init containers included. The limit is ours: 1,000 take a second, 10,000 a minute."""

_UID_SPACE: Final = uuid.UUID("6b1f6e0e-8d0a-5f0e-9d53-0d5c1b9c7a11")
"""Namespace of generated uids. A change would orphan the pods in saved state files."""


# The members that are read, with their types; null means absent, as in Kubernetes.
_METADATA: Final[Mapping[str, type]] = {
    **dict.fromkeys(("name", "generateName", "namespace", "uid", "resourceVersion"), str),
    "labels": dict,
}
_SPEC: Final[Mapping[str, type]] = {
    **dict.fromkeys(("containers", "initContainers"), list),
    **dict.fromkeys(("overhead", "resources"), dict),
    "nodeName": str,
    "priority": int,
}
_CONTAINER: Final[Mapping[str, type]] = {"name": str, "restartPolicy": str, "resources": dict}
_STATUS: Final[Mapping[str, type]] = {
    **dict.fromkeys(("phase", "qosClass"), str),
    **dict.fromkeys(("containerStatuses", "initContainerStatuses"), list),
}


class PodIdentity(Value):
    """The identity of a pod where its own metadata is silent.

    ``kind`` and ``position`` distinguish pods of equal name when a uid is generated.
    ``unknown_fields`` overrides the severity. ``source`` is where the kubelet gets the pod from; a
    file makes it static. ``among_many``: with many pods it pays to prepare the quick check.
    """

    kind: str = "Pod"
    position: int = 0
    name: str = ""
    namespace: str = ""
    from_server: bool = False
    uid: str = ""
    unknown_fields: Severity | None = None
    source: PodSource = PodSource.API
    among_many: bool = False


def decode_pod(
    value: object, place: Place, identity: PodIdentity, findings: Findings
) -> Pod | None:
    if not isinstance(value, Mapping):
        typed.wrong_type(value, "a Pod object", place, findings)
        return None
    if not _has_few_enough(value, place, findings):
        return None
    of_pod = Findings()
    strictness = _strictness(value, identity)
    # The server wrote the status, and little of it is read.
    written = {name: member for name, member in value.items() if name != "status"}
    if not (identity.among_many and quick.fits(written, POD)):
        checking.check(written, POD, place, strictness, of_pod)
    fits = not of_pod.has_errors or (
        _has_types(value.get("metadata"), _METADATA) and _has_types(value.get("spec"), _SPEC)
    )
    status = _status(value.get("status"), place.member("status"), of_pod)
    pod = _pod(value, status, place, identity, of_pod) if fits and status is not None else None
    findings.extend(of_pod.distinct)
    return None if of_pod.has_errors else pod


def _has_types(value: object, types: Mapping[str, type]) -> bool:
    """Return whether the members can be read; the check has reported those that cannot."""
    if value is None:
        return True
    if not isinstance(value, Mapping):
        return False
    for name, of in types.items():
        member = value.get(name)
        if member is not None and type(member) is not of:
            return False
    return True


def _status(value: object, place: Place, findings: Findings) -> Mapping[str, Any] | None:
    """Return the status; only the members that are read are checked, up to the first finding."""
    if value is None:
        return {}
    if type(value) is not dict:
        typed.decode(value, dict[str, Any], place, findings)
        return None
    for name, member in value.items():
        of = _STATUS.get(name)
        if of is not None and member is not None and type(member) is not of:
            typed.decode(member, of, place.member(name), findings)
            return None
    return value


def _strictness(value: Mapping[Any, Any], identity: PodIdentity) -> Strictness:
    if identity.unknown_fields is not None:
        return Strictness(identity.unknown_fields)
    if identity.from_server or is_from_server(value):
        return checking.OF_SERVERS
    return checking.STRICT


def is_from_server(value: Mapping[Any, Any]) -> bool:
    """Whether an API server wrote the document; only servers set these fields."""
    metadata = value.get("metadata")
    has_version = isinstance(metadata, Mapping) and metadata.get("resourceVersion")
    return bool(has_version or value.get("status"))


def _pod(
    value: Mapping[Any, Any],
    status: Mapping[str, Any],
    place: Place,
    identity: PodIdentity,
    findings: Findings,
) -> Pod:
    metadata, spec = value.get("metadata") or {}, value.get("spec") or {}
    at_spec, at_metadata = place.member("spec"), place.member("metadata")
    init, apps = (
        _containers(spec.get(name), at_spec.member(name), identity.source, findings)
        for name in ("initContainers", "containers")
    )
    if not spec.get("containers") and not _is_said(PodsNoContainers, findings):
        findings.add(PodsNoContainers(where=at_spec.location))
    _check_names_differ((*init, *apps), at_spec, findings)
    name = _name(metadata, place, identity, findings)
    namespace = metadata.get("namespace") or identity.namespace or "default"
    _check_name(namespace, DNS_LABEL, at_metadata.member("namespace"), findings)
    at_status = place.member("status")
    _check_phase(status.get("phase"), at_status.member("phase"), findings)
    given = pod_level.given_qos_class(status.get("qosClass"), place, findings)
    return Pod(
        uid=metadata.get("uid")
        or identity.uid
        or made_up_uid(identity.kind, namespace, name, identity.position),
        name=name,
        namespace=namespace,
        init_containers=init,
        app_containers=apps,
        qos_class=given or pod_demand.qos_class((*init, *apps)),
        pod_level=pod_level.decode_pod_level(
            spec.get("resources"),
            pod_level.PodLevelContext(init, apps, given, identity.source),
            at_spec.member("resources"),
            findings,
        ),
        has_empty_resources=given is None and pod_level.is_empty(spec.get("resources")),
        allocated=pod_level.decode_allocated(
            status.get("containerStatuses"),
            status.get("initContainerStatuses"),
            at_status,
            findings,
        ),
        overhead=pod_resources.decode_list(
            spec.get("overhead"), at_spec.member("overhead"), findings, identity.source
        ),
        phase=status.get("phase") or "",
        node_name=spec.get("nodeName") or "",
        labels=_labels(metadata.get("labels"), at_metadata.member("labels"), findings),
        priority=spec.get("priority"),
        is_static=identity.source is PodSource.FILE or _is_static(metadata.get("annotations")),
        constraints=pod_constraints.of_spec(spec),
        claims=pod_claims.of_pod(spec, status),
    )


def _is_said(finding: type[Finding], findings: Findings) -> bool:
    return any(isinstance(each, finding) for each in findings.all)


def _has_few_enough(value: Mapping[Any, Any], place: Place, findings: Findings) -> bool:
    spec = value.get("spec")
    members = spec if isinstance(spec, Mapping) else {}
    lists = (members.get(name) for name in ("initContainers", "containers"))
    count = sum(len(each) for each in lists if isinstance(each, list))
    if count > MOST_CONTAINERS:
        findings.add(
            input_error.TooLarge(
                f"the pod has {count} containers",
                expected=f"at most {MOST_CONTAINERS}",
                where=place.member("spec").location,
            )
        )
    return count <= MOST_CONTAINERS


def _is_static(annotations: object) -> bool:
    """Whether the pod is static, or the mirror pod of one.

    Kubelet: ``IsStaticPod``, ``IsMirrorPod``, v1.32.
    """
    notes = annotations if isinstance(annotations, Mapping) else {}
    return _MIRROR in notes or notes.get(_SOURCE, _FROM_API) != _FROM_API


def made_up_uid(kind: str, namespace: str, name: str, position: int) -> str:
    """A uid for a pod without one; the same pod gets the same uid in every run."""
    return str(uuid.uuid5(_UID_SPACE, f"{kind}/{namespace}/{name}/{position}"))


def _containers(
    values: list[Any] | None, place: Place, source: PodSource, findings: Findings
) -> tuple[Container, ...]:
    decoded = (
        _container(value, place.item(index), source, findings)
        for index, value in enumerate(values or ())
    )
    return tuple(container for container in decoded if container is not None)


def _container(
    value: object, place: Place, source: PodSource, findings: Findings
) -> Container | None:
    if not isinstance(value, Mapping) or not _has_types(value, _CONTAINER):
        return None
    name, resources = value.get("name"), value.get("resources")
    if name is not None:
        _check_name(name, DNS_LABEL, place.member("name"), findings)
    asked = pod_resources.decode_resources(
        resources or {}, place.member("resources"), findings, source
    )
    return Container(
        name=name or "",
        kind=_kind(value.get("restartPolicy"), place, findings),
        requests=asked.requests,
        limits=asked.limits,
        claims=pod_claims.of_container(resources),
    )


def _kind(restart_policy: str | None, place: Place, findings: Findings) -> ContainerKind:
    if ".initContainers[" not in place.path:
        return ContainerKind.APP
    if restart_policy is None:
        return ContainerKind.INIT
    if restart_policy != "Always":
        where = place.member("restartPolicy").location
        findings.add(
            input_error.NotSupported(
                f"unknown restart policy {restart_policy!r} of an init container",
                expected="'Always' for a sidecar, or none",
                where=where,
            )
        )
    return ContainerKind.SIDECAR


def _check_names_differ(
    containers: tuple[Container, ...], place: Place, findings: Findings
) -> None:
    seen: set[str] = set()
    for container in containers:
        if container.name and container.name in seen:
            findings.add(
                input_error.Duplicate(
                    f"two containers have the name {container.name!r}",
                    expected="a unique name for each container, including init containers",
                    where=place.location,
                )
            )
        seen.add(container.name)


def _name(
    metadata: Mapping[str, Any], place: Place, identity: PodIdentity, findings: Findings
) -> str:
    name: str = identity.name or metadata.get("name") or ""
    prefix: str = metadata.get("generateName") or ""
    at_name = place.member("metadata").member("name")
    if not name and prefix:
        name = prefix + made_up_uid(identity.kind, "", prefix, identity.position)[:5]
    if name:
        _check_name(name, DNS_SUBDOMAIN, at_name, findings)
    else:
        findings.add(PodsNameMissing(what="pod", where=at_name.location))
    return name


def _check_name(name: str, allowed: TextKind, place: Place, findings: Findings) -> None:
    """Add a finding for an invalid name."""
    # The check against the table may have added an equal finding; duplicates are dropped later.
    if not (name and allowed.accepts(name)):
        shown = typed.described(name)
        findings.add(allowed.refusal(shown, place.location))


def _check_phase(phase: str | None, place: Place, findings: Findings) -> None:
    if phase and phase not in PHASES:
        findings.add(
            input_error.NotSupported(
                f"unknown pod phase {phase!r}",
                expected="Pending, Running, Succeeded, Failed or Unknown",
                where=place.location,
            )
        )


def _labels(given: Mapping[str, Any] | None, place: Place, findings: Findings) -> dict[str, str]:
    labels: dict[str, str] = {}
    for name, value in (given or {}).items():
        if isinstance(value, str):
            labels[name] = value
        else:
            typed.wrong_type(value, "a text", place.member(name), findings)
    return labels
