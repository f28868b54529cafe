"""Reads one Pod object into the pod that the managers work with.

It follows the API server: field types come from the table of fields (``pod_table``), for resources
see ``pod_resources``. A pod *from a server* (it has a resource version or a status) may have
members of a newer release; in a handwritten pod an unknown member is an error.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from numalet.core.model import input_error, pod_demand
from numalet.core.model.findings import Finding, Findings, Severity
from numalet.core.model.node_constraints import NodeConstraints
from numalet.core.model.pod import Container, ContainerKind, Pod, PodClaim, QosClass
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


class _Shape(msgspec.Struct, rename="camel", frozen=True):
    """The members that are read; null means absent, as in Kubernetes."""


class Metadata(_Shape, frozen=True):
    """``metadata`` of a pod, a pod template, or a workload."""

    name: str | None = None
    generate_name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    labels: dict[str, Any] | None = None
    annotations: object = None
    resource_version: str | None = None


class _Spec(_Shape, frozen=True):
    containers: list[Any] | None = None
    init_containers: list[Any] | None = None
    overhead: dict[str, Any] | None = None
    node_name: str | None = None
    resources: dict[str, Any] | None = None
    priority: int | None = None


class _Container(_Shape, frozen=True):
    name: str | None = None
    restart_policy: str | None = None
    resources: dict[str, Any] | None = None


class Status(_Shape, frozen=True):
    phase: str | None = None
    qos_class: str | None = None
    container_statuses: list[Any] | None = None
    init_container_statuses: list[Any] | None = None


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
    # The check has reported everything that does not fit these shapes.
    metadata = _part(value, "metadata", Metadata, place, Findings())
    spec = _part(value, "spec", _Spec, place, Findings())
    status = _part(value, "status", Status, place, of_pod)
    pod = None
    if metadata is not None and status is not None and spec is not None:
        constraints = pod_constraints.of_spec(value.get("spec"))
        claims = pod_claims.of_pod(value.get("spec"), value.get("status"))
        pod = _pod(_Parts(metadata, spec, status, constraints, claims), place, identity, of_pod)
    findings.extend(of_pod.distinct)
    return None if of_pod.has_errors else pod


class _Parts(Value):
    metadata: Metadata
    spec: _Spec
    status: Status
    constraints: NodeConstraints
    claims: tuple[PodClaim, ...]


def _part(
    value: Mapping[Any, Any],
    name: str,
    shape: type[typed.T],
    place: Place,
    findings: Findings,
) -> typed.T | None:
    member = value.get(name)
    return typed.decode({} if member is None else member, shape, place.member(name), findings)


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


def _pod(parts: _Parts, place: Place, identity: PodIdentity, findings: Findings) -> Pod:
    at_spec = place.member("spec")
    init = _containers(
        parts.spec.init_containers, at_spec.member("initContainers"), identity.source, findings
    )
    apps = _containers(
        parts.spec.containers, at_spec.member("containers"), identity.source, findings
    )
    if not parts.spec.containers and not _is_said(PodsNoContainers, findings):
        findings.add(PodsNoContainers(where=at_spec.location))
    _check_names_differ((*init, *apps), at_spec, findings)
    name = _name(parts.metadata, place, identity, findings)
    namespace = parts.metadata.namespace or identity.namespace or "default"
    _check_name(namespace, DNS_LABEL, place.member("metadata").member("namespace"), findings)
    given = _given_qos_class(parts.status, place.member("status"), findings)
    return Pod(
        uid=parts.metadata.uid
        or identity.uid
        or made_up_uid(identity.kind, namespace, name, identity.position),
        name=name,
        namespace=namespace,
        init_containers=init,
        app_containers=apps,
        qos_class=given or pod_demand.qos_class((*init, *apps)),
        pod_level=pod_level.decode_pod_level(
            parts.spec.resources,
            pod_level.PodLevelContext(init, apps, given, identity.source),
            at_spec.member("resources"),
            findings,
        ),
        allocated=pod_level.decode_allocated(
            parts.status.container_statuses,
            parts.status.init_container_statuses,
            place.member("status"),
            findings,
        ),
        overhead=pod_resources.decode_list(
            parts.spec.overhead, at_spec.member("overhead"), findings, identity.source
        ),
        phase=parts.status.phase or "",
        node_name=parts.spec.node_name or "",
        labels=_labels(parts.metadata, place.member("metadata").member("labels"), findings),
        priority=parts.spec.priority,
        is_static=identity.source is PodSource.FILE or _is_static(parts.metadata.annotations),
        constraints=parts.constraints,
        claims=parts.claims,
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
    read = typed.decode(value, _Container, place, Findings())
    if read is None:
        return None
    if read.name is not None:
        _check_name(read.name, DNS_LABEL, place.member("name"), findings)
    asked = pod_resources.decode_resources(
        read.resources or {}, place.member("resources"), findings, source
    )
    return Container(
        name=read.name or "",
        kind=_kind(read.restart_policy, place, findings),
        requests=asked.requests,
        limits=asked.limits,
        claims=pod_claims.of_container(read.resources),
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


def _name(metadata: Metadata, place: Place, identity: PodIdentity, findings: Findings) -> str:
    name = identity.name or metadata.name or ""
    at_name = place.member("metadata").member("name")
    if not name and metadata.generate_name:
        seed = made_up_uid(identity.kind, "", metadata.generate_name, identity.position)
        name = metadata.generate_name + seed[:5]
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


def _given_qos_class(status: Status, place: Place, findings: Findings) -> QosClass | None:
    if status.phase and status.phase not in PHASES:
        findings.add(
            input_error.NotSupported(
                f"unknown pod phase {status.phase!r}",
                expected="Pending, Running, Succeeded, Failed or Unknown",
                where=place.member("phase").location,
            )
        )
    if not status.qos_class:
        return None
    try:
        # The kubelet uses the class in the status, whatever the containers request.
        return QosClass(status.qos_class)
    except ValueError:
        findings.add(
            input_error.NotSupported(
                f"unknown QoS class {status.qos_class!r}",
                expected="Guaranteed, Burstable or BestEffort",
                where=place.member("qosClass").location,
            )
        )
        return None


def _labels(metadata: Metadata, place: Place, findings: Findings) -> dict[str, str]:
    labels: dict[str, str] = {}
    for name, value in (metadata.labels or {}).items():
        if isinstance(value, str):
            labels[name] = value
        else:
            typed.wrong_type(value, "a text", place.member(name), findings)
    return labels
