"""The published content of a node at one moment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.releases.release import Release
from numalet.core.model.pod import Pod
from numalet.core.model.value import Value
from numalet.core.node.node import Node
from numalet.shared.kubernetes import node_resource_topology, pod_resources
from numalet.shared.kubernetes.pod_resources import (
    Allocatable,
    ContainerEntry,
    MemoryEntry,
    PodEntry,
    PodResourcesDevice,
)
from numalet.shared.publish import objects
from numalet.shared.publish.objects import NodeObjects


class PublishedView(Value, kw_only=True):
    """The content to publish; ``topology`` is unset while it is unknown."""

    objects: NodeObjects
    topology: Mapping[str, Any] | None


def of_node(node: Node, config: KubeletConfig, pods: Iterable[Pod]) -> PublishedView:
    """The view of a node that numalet manages, with its pods."""
    return PublishedView(objects=objects.of_node(node, config), topology=topology_of(node, pods))


def topology_of(node: Node, pods: Iterable[Pod]) -> Mapping[str, Any]:
    """The NodeResourceTopology of a node that numalet manages."""
    listed = pod_resources.pods(node.snapshot, pods)
    return _topology(node, pod_resources.allocatable(node), listed)


def of_answers(
    node: Node,
    config: KubeletConfig,
    allocatable: Allocatable | None,
    pods: Iterable[PodEntry] | None,
    release: Release | None = None,
) -> PublishedView:
    """The view of a kubelet's node from its PodResources answers, if there are any.

    ``release`` is that of the kubelet, if its rules are unknown.
    """
    topology = None
    if allocatable is not None and pods is not None:
        topology = _topology(node, allocatable, pods)
    return PublishedView(objects=objects.of_node(node, config, release), topology=topology)


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
    return PodEntry(document.get("name", ""), document.get("namespace", ""), containers, names)


def _cpus(document: Mapping[str, Any]) -> tuple[int, ...]:
    return tuple(map(int, document.get("cpuIds", ())))


def _devices(document: Mapping[str, Any]) -> Iterator[PodResourcesDevice]:
    for each in document.get("devices", ()):
        for device_id in each.get("deviceIds", ()):
            for node_id in _node_ids(each) or (None,):
                yield PodResourcesDevice(each.get("resourceName", ""), device_id, node_id)


def _memory(document: Mapping[str, Any]) -> Iterator[MemoryEntry]:
    for each in document.get("memory", ()):
        size_bytes = int(each.get("size", 0))
        yield MemoryEntry(each.get("memoryType", ""), size_bytes, _node_ids(each))


def _node_ids(document: Mapping[str, Any]) -> tuple[int, ...]:
    """Parse NUMA nodes; protobuf's JSON omits the number 0."""
    nodes = document.get("topology", {}).get("nodes", ())
    return tuple(int(each.get("ID", 0)) for each in nodes)
