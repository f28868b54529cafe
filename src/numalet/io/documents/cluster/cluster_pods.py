"""Reads pods from the API server's JSON, fast enough for clusters with 50,000 pods.

The API server has validated them, so unlike ``pod_document`` this does not validate names and
texts. Typed structs decode only the fields in use, and equal parts (containers, labels,
tolerations, node constraints) are made once and shared: the pods of a Job differ in little more
than their names.
"""

from __future__ import annotations

from typing import Final

import msgspec

from numalet.core.cluster.cluster import ClusterPod, Controller, Toleration
from numalet.core.model import pod_demand
from numalet.core.model.findings import Findings
from numalet.core.model.node_constraints import NodeConstraints
from numalet.core.model.pod import (
    NO_RESOURCES,
    Container,
    ContainerKind,
    Pod,
    PodClaim,
    PodLevelResources,
    QosClass,
    Resources,
    StatusResources,
)
from numalet.io.documents.cluster import cluster_values
from numalet.io.documents.cluster.cluster_values import NOTHING, Shape, Shared, is_there, plain
from numalet.io.documents.pods import pod_claims, pod_constraints, pod_level, pod_resources
from numalet.io.documents.text import typed
from numalet.io.documents.text.typed import Place
from numalet.io.findings.pods import PodsNameMissing, PodsNoContainers

_MIRROR: Final = "kubernetes.io/config.mirror"
_SOURCE: Final = "kubernetes.io/config.source"
_FROM_API: Final = "api"
_INIT: Final = "initContainers"
_CREATED: Final = ("metadata", "creationTimestamp")
_STARTED: Final = ("status", "startTime")


class _Annotations(msgspec.Struct, frozen=True, gc=False):
    mirror: str | None = msgspec.field(default=None, name=_MIRROR)
    source: str | None = msgspec.field(default=None, name=_SOURCE)


class _Toleration(Shape, frozen=True, gc=False):
    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None


class _Owner(Shape, frozen=True, gc=False):
    kind: str | None = None
    name: str | None = None
    uid: str | None = None
    controller: bool | None = None


class _Metadata(Shape, frozen=True, gc=False):
    name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    labels: msgspec.Raw = NOTHING
    annotations: _Annotations | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    owner_references: list[_Owner] | None = None


class _Container(Shape, frozen=True, gc=False):
    name: str
    restart_policy: str | None = None
    resources: msgspec.Raw = NOTHING
    ports: msgspec.Raw = NOTHING


class _Spec(Shape, frozen=True, gc=False):
    containers: list[_Container] | None = None
    init_containers: list[_Container] | None = None
    overhead: msgspec.Raw = NOTHING
    node_name: str | None = None
    priority: int | None = None
    tolerations: msgspec.Raw = NOTHING
    scheduler_name: str | None = None
    node_selector: msgspec.Raw = NOTHING
    affinity: msgspec.Raw = NOTHING
    os: msgspec.Raw = NOTHING
    security_context: msgspec.Raw = NOTHING
    host_network: bool | None = None
    resources: msgspec.Raw = NOTHING
    resource_claims: msgspec.Raw = NOTHING


class _ContainerStatus(Shape, frozen=True, gc=False):
    name: str | None = None
    allocated_resources: msgspec.Raw = NOTHING


class _Status(Shape, frozen=True, gc=False):
    phase: str | None = None
    reason: str | None = None
    message: str | None = None
    qos_class: str | None = None
    start_time: str | None = None
    container_statuses: list[_ContainerStatus] | None = None
    init_container_statuses: list[_ContainerStatus] | None = None
    resource_claim_statuses: msgspec.Raw = NOTHING
    conditions: msgspec.Raw = NOTHING


class _PodObject(Shape, frozen=True, gc=False):
    metadata: _Metadata
    spec: _Spec
    status: _Status | None = None


_DECODER: Final = msgspec.json.Decoder(_PodObject)
_NO_STATUS: Final = _Status()
_NO_ANNOTATIONS: Final = _Annotations()


class PodReader:
    """Reads pods one by one and keeps the parts that they share."""

    def __init__(self) -> None:
        self._shared = Shared()

    def read(self, text: bytes, place: Place, findings: Findings) -> ClusterPod | None:
        return cluster_values.read(_DECODER, text, place, findings, self._cluster_pod)

    def _cluster_pod(self, given: _PodObject, place: Place, findings: Findings) -> ClusterPod:
        metadata, spec, status = given.metadata, given.spec, given.status or _NO_STATUS
        pod = self._pod(given, place, findings)
        return ClusterPod(
            pod=pod,
            lacks_amounts=pod.qos_class is QosClass.GUARANTEED and _lacks_amounts(status),
            controller=self._controller(metadata.owner_references),
            tolerations=self._tolerations(spec.tolerations, place, findings),
            scheduler_name=spec.scheduler_name or "default-scheduler",
            created_at_seconds=cluster_values.moment(
                metadata.creation_timestamp, place, _CREATED, findings
            ),
            started_at_seconds=cluster_values.moment(status.start_time, place, _STARTED, findings),
            is_being_deleted=metadata.deletion_timestamp is not None,
            reason=status.reason or "",
            message=status.message or "",
            # Only waiting pods can have it, so the conditions of the many others are not decoded.
            was_refused=not spec.node_name and _was_refused(status.conditions),
        )

    def _pod(self, given: _PodObject, place: Place, findings: Findings) -> Pod:
        metadata, spec, status = given.metadata, given.spec, given.status or _NO_STATUS
        annotations = metadata.annotations or _NO_ANNOTATIONS
        if not metadata.name or not metadata.uid:
            findings.add(PodsNameMissing(what="pod", where=place.member("metadata").location))
        if not spec.containers:
            findings.add(PodsNoContainers(where=place.member("spec").location))
        init = self._containers(spec.init_containers, place, _INIT, findings)
        apps = self._containers(spec.containers, place, "containers", findings)
        qos_class = pod_level.given_qos_class(status.qos_class, place, findings)
        return Pod(
            uid=metadata.uid or "",
            name=metadata.name or "",
            namespace=metadata.namespace or "default",
            init_containers=init,
            app_containers=apps,
            qos_class=qos_class or pod_demand.qos_class((*init, *apps)),
            pod_level=_pod_level(
                spec, pod_level.PodLevelContext(init, apps, qos_class), place, findings
            ),
            has_empty_resources=qos_class is None and pod_level.is_empty(plain(spec.resources)),
            allocated=self._allocated(status, place, findings),
            overhead=self._overhead(spec.overhead, place, findings),
            phase=status.phase or "",
            node_name=spec.node_name or "",
            labels=self._labels(metadata.labels, place, findings),
            priority=spec.priority,
            # A mirror pod stands for a static pod; kubelets themselves set the source to "file" or
            # "http".
            is_static=annotations.mirror is not None
            or (annotations.source or _FROM_API) != _FROM_API,
            constraints=self._constraints(spec),
            claims=_claims(spec, status),
        )

    def _containers(
        self, given: list[_Container] | None, place: Place, member: str, findings: Findings
    ) -> tuple[Container, ...]:
        """Containers of one list; equal lists share one tuple."""
        if not given:
            return ()
        # The key is the raw JSON, which is much cheaper than decoding it.
        parts = ((c.name, c.restart_policy, bytes(c.resources)) for c in given)
        return self._shared.get(
            (member, *parts),
            findings,
            lambda: tuple(
                _container(each, place.member("spec").member(member).item(index), member, findings)
                for index, each in enumerate(given)
            ),
        )

    def _allocated(
        self, status: _Status, place: Place, findings: Findings
    ) -> StatusResources | None:
        # An entry without amounts is skipped: the kubelet read it as zero, but it gave the pod its
        # resources before the status had such amounts. Kubelets write amounts from 1.33 on; API
        # servers before 1.27 drop them.
        containers = _with_amounts(status.container_statuses)
        init = _with_amounts(status.init_container_statuses)
        if not containers and not init:
            return None
        parts = (
            tuple((e.name, bytes(e.allocated_resources)) for e in entries)
            for entries in (containers, init)
        )
        return self._shared.get(
            ("allocated", *parts),
            findings,
            lambda: pod_level.decode_allocated(
                map(_plain_status, containers),
                map(_plain_status, init),
                place.member("status"),
                findings,
            ),
        )

    def _constraints(self, spec: _Spec) -> NodeConstraints:
        ports = (bytes(each.ports) for each in spec.containers or ())
        members = (spec.node_selector, spec.affinity, spec.os, spec.security_context)
        # Each member that ``pod_constraints`` reads must be in the key.
        key = ("constraints", spec.host_network, *map(bytes, members), *ports)
        return self._shared.get(key, Findings(), lambda: _constraints(spec))

    def _controller(self, owners: list[_Owner] | None) -> Controller | None:
        owner = next((each for each in owners or () if each.controller), None)
        if owner is None:
            return None
        parts = owner.kind or "", owner.name or "", owner.uid or ""
        return self._shared.get(("controller", *parts), Findings(), lambda: Controller(*parts))

    def _overhead(self, raw: msgspec.Raw, place: Place, findings: Findings) -> Resources:
        if not is_there(raw):
            return NO_RESOURCES
        return self._shared.get(
            ("overhead", bytes(raw)),
            findings,
            lambda: pod_resources.decode_list(
                plain(raw), place.member("spec").member("overhead"), findings
            ),
        )

    def _labels(self, raw: msgspec.Raw, place: Place, findings: Findings) -> dict[str, str]:
        return self._shared.get(
            ("labels", bytes(raw)),
            findings,
            lambda: cluster_values.texts(
                plain(raw), place.member("metadata").member("labels"), findings
            ),
        )

    def _tolerations(
        self, raw: msgspec.Raw, place: Place, findings: Findings
    ) -> tuple[Toleration, ...]:
        return self._shared.get(
            ("tolerations", bytes(raw)),
            findings,
            lambda: _tolerations(plain(raw), place.member("spec").member("tolerations"), findings),
        )


def _container(given: _Container, place: Place, member: str, findings: Findings) -> Container:
    resources = plain(given.resources)
    if resources is not None and not isinstance(resources, dict):
        typed.wrong_type(resources, "an object", place.member("resources"), findings)
        resources = None
    asked = pod_resources.decode_resources(resources or {}, place.member("resources"), findings)
    kind = ContainerKind.APP
    if member == _INIT:
        # Since 1.28 an init container that always restarts is a sidecar and keeps its resources.
        is_sidecar = given.restart_policy == "Always"
        kind = ContainerKind.SIDECAR if is_sidecar else ContainerKind.INIT
    return Container(
        name=given.name,
        kind=kind,
        requests=asked.requests,
        limits=asked.limits,
        claims=pod_claims.of_container(resources),
    )


def _with_amounts(entries: list[_ContainerStatus] | None) -> list[_ContainerStatus]:
    return [each for each in entries or () if _has_amounts(each.allocated_resources)]


def _lacks_amounts(status: _Status) -> bool:
    return any(
        not _has_amounts(each.allocated_resources) for each in status.container_statuses or ()
    )


def _has_amounts(raw: msgspec.Raw) -> bool:
    return is_there(raw) and bytes(raw) != b"{}"


def _plain_status(given: _ContainerStatus) -> dict[str, object]:
    return {"name": given.name, "allocatedResources": plain(given.allocated_resources)}


def _pod_level(
    spec: _Spec, context: pod_level.PodLevelContext, place: Place, findings: Findings
) -> PodLevelResources | None:
    resources = plain(spec.resources)
    if resources is None:
        return None
    at = place.member("spec").member("resources")
    if not isinstance(resources, dict):
        typed.wrong_type(resources, "an object", at, findings)
        return None
    return pod_level.decode_pod_level(resources, context, at, findings)


def _claims(spec: _Spec, status: _Status) -> tuple[PodClaim, ...]:
    if not is_there(spec.resource_claims):
        return ()
    return pod_claims.of_pod(
        {"resourceClaims": plain(spec.resource_claims)},
        {"resourceClaimStatuses": plain(status.resource_claim_statuses)},
    )


def _was_refused(conditions: msgspec.Raw) -> bool:
    """Return whether a scheduler has found no node for the pod."""
    given = plain(conditions)
    return isinstance(given, list) and any(
        isinstance(each, dict)
        and (each.get("type"), each.get("reason")) == ("PodScheduled", "Unschedulable")
        for each in given
    )


def _constraints(spec: _Spec) -> NodeConstraints:
    return pod_constraints.of_spec(
        {
            "nodeSelector": plain(spec.node_selector),
            "affinity": plain(spec.affinity),
            "os": plain(spec.os),
            "securityContext": plain(spec.security_context),
            "hostNetwork": spec.host_network,
            "containers": [{"ports": plain(each.ports)} for each in spec.containers or ()],
        }
    )


def _tolerations(value: object, place: Place, findings: Findings) -> tuple[Toleration, ...]:
    if value is None:
        return ()
    read = typed.decode(value, list[_Toleration], place, findings)
    return tuple(
        Toleration(
            key=each.key or "",
            value=each.value or "",
            exists=each.operator == "Exists",
            effect=cluster_values.taint_effect(
                each.effect or None, place.item(index).member("effect"), findings
            ),
        )
        for index, each in enumerate(read or ())
    )
