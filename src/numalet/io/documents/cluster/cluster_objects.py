"""Reads Nodes, PodDisruptionBudgets and NodeResourceTopologies from the API server's JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from numalet.core.cluster.cluster import Taint
from numalet.core.cluster.objects import BudgetFacts, LabelSelector, ListedNode, TopologyFacts
from numalet.core.model.findings import Findings
from numalet.core.model.node_constraints import NodeRequirement
from numalet.core.model.pod import Resources
from numalet.core.model.quantity import Quantity
from numalet.io.documents.cluster import cluster_values
from numalet.io.documents.cluster.cluster_values import NOTHING, Shape, Shared, plain
from numalet.io.documents.pods import pod_resources
from numalet.io.documents.text.typed import Place
from numalet.io.findings.documents import DocumentFieldMissing

_READY: Final = "Ready"
_ZONE: Final = "Node"
_ZONE_NUMBER: Final = re.compile(r"[0-9]{1,4}\Z", re.ASCII)


class _Metadata(Shape, frozen=True, gc=False):
    name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    labels: dict[str, str] | None = None


class _Taint(Shape, frozen=True, gc=False):
    key: str
    effect: str
    value: str | None = None


class _NodeSpec(Shape, frozen=True, gc=False):
    unschedulable: bool | None = None
    taints: list[_Taint] | None = None


class _Condition(Shape, frozen=True, gc=False):
    type: str | None = None
    status: str | None = None


class _NodeInfo(Shape, frozen=True, gc=False):
    kubelet_version: str | None = None


class _NodeStatus(Shape, frozen=True, gc=False):
    conditions: list[_Condition] | None = None
    node_info: _NodeInfo | None = None
    allocatable: msgspec.Raw = NOTHING
    capacity: msgspec.Raw = NOTHING


class _Node(Shape, frozen=True, gc=False):
    metadata: _Metadata
    spec: _NodeSpec | None = None
    status: _NodeStatus | None = None


class _Expression(Shape, frozen=True, gc=False):
    key: str
    operator: str
    values: list[str] | None = None


class _Selector(Shape, frozen=True, gc=False):
    match_labels: dict[str, str] | None = None
    match_expressions: list[_Expression] | None = None


class _BudgetSpec(Shape, frozen=True, gc=False):
    selector: _Selector | None = None


class _BudgetStatus(Shape, frozen=True, gc=False):
    disruptions_allowed: int | None = None


class _Budget(Shape, frozen=True, gc=False):
    metadata: _Metadata
    spec: _BudgetSpec | None = None
    status: _BudgetStatus | None = None


class _ZoneResource(Shape, frozen=True, gc=False):
    name: str
    capacity: str | int | None = None


class _Zone(Shape, frozen=True, gc=False):
    type: str | None = None
    name: str | None = None
    resources: list[_ZoneResource] | None = None


class _Attribute(Shape, frozen=True, gc=False):
    name: str
    value: str


class _Topology(Shape, frozen=True, gc=False):
    metadata: _Metadata
    zones: list[_Zone] | None = None
    attributes: list[_Attribute] | None = None


_NODE: Final = msgspec.json.Decoder(_Node)
_BUDGET: Final = msgspec.json.Decoder(_Budget)
_TOPOLOGY: Final = msgspec.json.Decoder(_Topology)


class NodeObjectReader:
    """Reads Node objects; equal sizes of many nodes share one value."""

    def __init__(self) -> None:
        self._shared = Shared()

    def read(self, text: bytes, place: Place, findings: Findings) -> ListedNode | None:
        return cluster_values.read(_NODE, text, place, findings, self._node)

    def _node(self, given: _Node, place: Place, findings: Findings) -> ListedNode:
        spec, status = given.spec or _NodeSpec(), given.status or _NodeStatus()
        at_status = place.member("status")
        return ListedNode(
            name=_name(given.metadata, place, findings),
            uid=given.metadata.uid or "",
            labels=given.metadata.labels or {},
            taints=tuple(_taints(spec, place.member("spec").member("taints"), findings)),
            is_cordoned=bool(spec.unschedulable),
            is_ready=_is_ready(status),
            kubelet_version=(status.node_info or _NodeInfo()).kubelet_version or "",
            allocatable=self._sizes(status.allocatable, at_status.member("allocatable"), findings),
            capacity=self._sizes(status.capacity, at_status.member("capacity"), findings),
        )

    def _sizes(self, raw: msgspec.Raw, place: Place, findings: Findings) -> Resources:
        return self._shared.get(bytes(raw), findings, lambda: _sizes(plain(raw), place, findings))


def budget(text: bytes, place: Place, findings: Findings) -> BudgetFacts | None:
    return cluster_values.read(_BUDGET, text, place, findings, _budget)


def _budget(given: _Budget, place: Place, findings: Findings) -> BudgetFacts:
    return BudgetFacts(
        namespace=given.metadata.namespace or "default",
        name=_name(given.metadata, place, findings),
        # Until the disruption controller has written the status, no pod may be evicted.
        allowed=(given.status or _BudgetStatus()).disruptions_allowed or 0,
        selector=_selector((given.spec or _BudgetSpec()).selector),
    )


def topology(text: bytes, place: Place, findings: Findings) -> TopologyFacts | None:
    return cluster_values.read(_TOPOLOGY, text, place, findings, _topology)


def _topology(given: _Topology, place: Place, findings: Findings) -> TopologyFacts:
    zones = [each for each in given.zones or () if each.type == _ZONE]
    return TopologyFacts(
        node_name=_name(given.metadata, place, findings),
        zones=len(zones),
        capacity={
            int(number[0]): _sizes(
                {held.name: held.capacity for held in each.resources or ()},
                place.member("zones"),
                findings,
            )
            for each in zones
            if (number := _ZONE_NUMBER.search(each.name or "")) is not None
        },
        attributes={each.name: each.value for each in given.attributes or ()},
    )


def _name(metadata: _Metadata, place: Place, findings: Findings) -> str:
    if not metadata.name:
        where = place.member("metadata").location
        findings.add(DocumentFieldMissing(name="name", where=where))
    return metadata.name or ""


def _taints(spec: _NodeSpec, place: Place, findings: Findings) -> list[Taint]:
    taints = []
    for index, each in enumerate(spec.taints or ()):
        effect = cluster_values.taint_effect(
            each.effect, place.item(index).member("effect"), findings
        )
        if effect is not None:
            taints.append(Taint(each.key, each.value or "", effect))
    return taints


def _is_ready(status: _NodeStatus) -> bool:
    # A node without conditions has not joined yet.
    return any(each.type == _READY and each.status == "True" for each in status.conditions or ())


def _selector(given: _Selector | None) -> LabelSelector | None:
    if given is None:
        return None
    return LabelSelector(
        given.match_labels or {},
        tuple(
            NodeRequirement(each.key, each.operator, tuple(each.values or ()))
            for each in given.match_expressions or ()
        ),
    )


def _sizes(value: object, place: Place, findings: Findings) -> Mapping[str, Quantity]:
    # A node may list resources that pods cannot request.
    given: Mapping[str, Any] = value if isinstance(value, dict) else {}
    read = {
        name: pod_resources.decode_quantity(each, place.member(name), findings)
        for name, each in given.items()
    }
    return {name: quantity for name, quantity in sorted(read.items()) if quantity is not None}
