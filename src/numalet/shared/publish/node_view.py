"""A node's published content: NumaNode, NumaNodeClass, and NodeResourceTopology."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from numalet.core.cluster import classes, published
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.releases.release import Release
from numalet.core.managers.memory.ledger import MemoryBlock
from numalet.core.model import numa_mask
from numalet.core.model.pod import Pod
from numalet.core.model.value import Value, replace
from numalet.core.node.node import Node
from numalet.io.documents.cluster import numa_node, numa_node_class, published_text
from numalet.io.documents.cluster.numa_node import NumaNodeSpec
from numalet.shared.kubernetes import node_resource_topology, numa_placement, pod_resources
from numalet.shared.kubernetes.pod_resources import (
    Allocatable,
    ContainerEntry,
    PodEntry,
    PodResourcesDevice,
)


class NodeOwner(Value):
    """The Node that owns the published objects, so that its deletion deletes them."""

    name: str
    uid: str

    def reference(self) -> dict[str, Any]:
        """As ``metadata.ownerReferences`` has it."""
        return {"apiVersion": "v1", "kind": "Node", "name": self.name, "uid": self.uid}


class NodeObjects(Value, kw_only=True):
    """A node's class, and its content without a publication time."""

    class_object: Mapping[str, Any]
    spec: NumaNodeSpec

    @property
    def class_name(self) -> str:
        return self.spec.class_name

    def node_object(
        self, name: str, at: datetime, owner: NodeOwner | None = None
    ) -> dict[str, Any]:
        """Build the NumaNode to apply now."""
        reference = None if owner is None else owner.reference()
        made = numa_node.published_object(name, self.spec, reference)
        made["spec"]["published"] = published_time(at)
        return made


def published_time(at: datetime) -> str:
    """RFC 3339 in UTC, whole seconds."""
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def objects_of_node(
    node: Node, config: KubeletConfig, release: Release | None = None
) -> NodeObjects:
    """The objects of a node; ``release`` is that of its kubelet, if its rules are unknown."""
    return of_class(node, class_of(node, config, release))


def class_of(
    node: Node, config: KubeletConfig, release: Release | None = None
) -> Mapping[str, Any]:
    spec = classes.spec_of(node, config)
    if release is not None:
        spec = replace(spec, behaviour=replace(spec.behaviour, release=release))
    return numa_node_class.class_object(spec)


def of_class(node: Node, class_object: Mapping[str, Any]) -> NodeObjects:
    state = published.of_node(node)
    return NodeObjects(
        class_object=class_object,
        spec=NumaNodeSpec(
            class_name=class_object["metadata"]["name"],
            published="",
            state=numa_node.document(state),
            pods=len(state.pods),
            free_cpus=free_cpus(node),
            free_devices=free_devices(node),
        ),
    )


def free_cpus(node: Node) -> str:
    """Allocatable free CPUs by NUMA node, such as ``0:12 1:28``.

    Empty without a static CPU policy.
    """
    policy = node.roster.static_cpus
    if policy is None:
        return ""
    shared = node.snapshot.cpu.default
    counts = {
        each.node_id: sum(
            1
            for core in each.cores
            for cpu in core.threads
            if cpu in shared and not policy.reserved.cpus >> cpu & 1
        )
        for each in node.rules.machine.nodes
        if each.cores
    }
    return " ".join(f"{node_id}:{count}" for node_id, count in sorted(counts.items()))


def free_devices(node: Node) -> str:
    """Free devices by resource and NUMA node, such as ``nvidia.com/gpu 0:2 1:4``.

    A device on several NUMA nodes is ``0-1:1``, one without a node ``*:1``.
    """
    ledger = node.snapshot.device
    texts = []
    for resource in sorted(ledger.inventory.registered):
        known = ledger.inventory.devices_of(resource)
        places = {name: numa_mask.ids(known.mask_of(name)) for name in known.by_id}
        counts = dict.fromkeys(sorted(set(places.values())), 0)
        for name in ledger.free(resource) & places.keys():
            counts[places[name]] += 1
        parts = (f"{published_text.numbers_text(at) or '*'}:{each}" for at, each in counts.items())
        texts.append(" ".join((resource, *parts)))
    return "; ".join(texts)


class PublishedView(Value, kw_only=True):
    """The content to publish; ``topology`` and ``pods`` are unset while they are unknown.

    ``pods`` are those of the PodResources API of ``node``.
    """

    objects: NodeObjects
    topology: Mapping[str, Any] | None
    node: Node
    pods: tuple[PodEntry, ...] | None

    @property
    def topology_with_placement(self) -> Mapping[str, Any] | None:
        """The NodeResourceTopology with the NUMA node of each container."""
        if self.topology is None or self.pods is None:
            return None
        return with_placement(self.topology, self.node, self.pods)


def with_placement(
    topology: Mapping[str, Any], node: Node, pods: Iterable[PodEntry]
) -> dict[str, Any]:
    """Add the NUMA node of each container to a NodeResourceTopology."""
    rules = node.rules
    return numa_placement.with_placement(topology, rules.machine, rules.topology, pods)


def view_of_node(node: Node, config: KubeletConfig, pods: Iterable[Pod]) -> PublishedView:
    """The view of a node that numalet manages, with its pods."""
    listed = pod_resources.pods(node, pods)
    return PublishedView(
        objects=objects_of_node(node, config),
        topology=topology_of_entries(node, listed),
        node=node,
        pods=listed,
    )


def topology_of(node: Node, pods: Iterable[Pod]) -> Mapping[str, Any]:
    """The NodeResourceTopology of a node that numalet manages."""
    return topology_of_entries(node, pod_resources.pods(node, pods))


def topology_of_entries(node: Node, entries: Iterable[PodEntry]) -> Mapping[str, Any]:
    return _topology(node, pod_resources.allocatable(node), entries)


def view_of_answers(
    node: Node,
    config: KubeletConfig,
    allocatable: Allocatable | None,
    pods: tuple[PodEntry, ...] | None,
    release: Release | None = None,
) -> PublishedView:
    """The view of a kubelet's node from its PodResources answers, if there are any.

    ``release`` is that of the kubelet, if its rules are unknown.
    """
    topology = None
    if allocatable is not None and pods is not None:
        topology = _topology(node, allocatable, pods)
    objects = objects_of_node(node, config, release)
    return PublishedView(objects=objects, topology=topology, node=node, pods=pods)


def _topology(node: Node, allocatable: Allocatable, pods: Iterable[PodEntry]) -> dict[str, Any]:
    rules = node.rules
    return node_resource_topology.topology(rules.machine, rules.topology, allocatable, pods)


def allocatable_of(document: Mapping[str, Any]) -> Allocatable:
    """Parse the JSON form of GetAllocatableResources."""
    return Allocatable(
        devices=tuple(_devices(document)), cpus=_cpus(document), memory=tuple(_memory(document))
    )


def pods_of(document: Mapping[str, Any]) -> tuple[PodEntry, ...]:
    """Parse the JSON form of List."""
    return tuple(_pod(each) for each in document.get("podResources", ()))


def _pod(document: Mapping[str, Any]) -> PodEntry:
    containers = tuple(
        ContainerEntry(
            name=each.get("name", ""),
            devices=tuple(_devices(each)),
            cpus=_cpus(each),
            memory=tuple(_memory(each)),
        )
        for each in document.get("containers", ())
    )
    names = frozenset(each.name for each in containers)
    return PodEntry(
        name=document.get("name", ""),
        namespace=document.get("namespace", ""),
        containers=containers,
        app_containers=names,
        cpus=_cpus(document),
        memory=tuple(_memory(document)),
    )


def _cpus(document: Mapping[str, Any]) -> tuple[int, ...]:
    return tuple(map(int, document.get("cpuIds", ())))


def _devices(document: Mapping[str, Any]) -> Iterator[PodResourcesDevice]:
    for each in document.get("devices", ()):
        for device_id in each.get("deviceIds", ()):
            for node_id in _node_ids(each) or (None,):
                yield PodResourcesDevice(each.get("resourceName", ""), device_id, node_id)


def _memory(document: Mapping[str, Any]) -> Iterator[MemoryBlock]:
    for each in document.get("memory", ()):
        size_bytes = int(each.get("size", 0))
        yield MemoryBlock(_node_ids(each), each.get("memoryType", ""), size_bytes)


def _node_ids(document: Mapping[str, Any]) -> tuple[int, ...]:
    """Parse NUMA nodes; protobuf's JSON omits the number 0."""
    nodes = document.get("topology", {}).get("nodes", ())
    return tuple(int(each.get("ID", 0)) for each in nodes)
