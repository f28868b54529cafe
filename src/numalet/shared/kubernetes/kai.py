"""The two annotations from which KAI learns where a kubelet placed a pod.

KAI's own exporter (NPE) writes the same keys. The amounts of NUMA nodes omit memory of several of
them, whose split is unknown; the memory groups have it. A value for the groups is a complete list,
``[]`` for none, or ``null`` for an incomplete one. Without a value KAI uses what it predicted.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from numalet.core.config.rules import MemoryPolicy
from numalet.core.managers.memory.ledger import MemoryBlock
from numalet.core.model import resources
from numalet.core.model.pod import ContainerKind, Pod, QosClass
from numalet.core.model.value import Value
from numalet.core.node.node import Node
from numalet.shared.kubernetes import node_resource_topology, pod_resources
from numalet.shared.kubernetes.pod_resources import PodEntry

PLACEMENT: Final = "kai.scheduler/numa-placement-observed"
GROUPS: Final = "kai.scheduler/numa-memory-groups-observed"
MANAGER: Final = "numalet-kai"
"""A field manager of its own, so that an apply of these keys leaves all other fields alone."""

_INCOMPLETE: Final = "null"
"""A text: a JSON null would delete the annotation, and KAI would use its prediction."""
_NONE: Final = "[]"


class PodProgress(Value, kw_only=True):
    """A pod of the node, and its containers that have started; ``running`` ones have not ended."""

    pod: Pod
    started: frozenset[str] = frozenset()
    running: frozenset[str] = frozenset()


def observed(node: Node, progress: PodProgress, before: str | None = None) -> dict[str, str]:
    """Return the values of the keys; a key without a value is left out.

    ``before`` is the last value for the groups. Once there was one, there always is one, because
    KAI would use its prediction again.
    """
    entry = pod_resources.pod_entry(node, progress.pod)
    values: dict[str, str] = {}
    if zones := _zones(node, entry):
        values[PLACEMENT] = _text(
            {"zone": zone, "amount": _amount(zones[zone])} for zone in sorted(zones)
        )
    if progress.pod.qos_class is not QosClass.GUARANTEED:
        # It has no memory of its own. A pod without devices is no concern of KAI's plugin.
        groups = _NONE if values else None
    elif _is_complete(node, progress, entry):
        groups = _groups(entry)
    else:
        has_begun = before is not None or progress.started or any(True for _ in _blocks(entry))
        groups = _INCOMPLETE if has_begun else None
    return values if groups is None else {**values, GROUPS: groups}


def _zones(node: Node, entry: PodEntry) -> Mapping[str, Counter[str]]:
    zones: dict[str, Counter[str]] = {}

    def add(node_id: int, resource: str, amount: int) -> None:
        zones.setdefault(node_resource_topology.zone_name(node_id), Counter())[resource] += amount

    node_of = node.rules.machine.node_of_cpu
    places: dict[tuple[str, str], set[int | None]] = {}
    # The CPUs of a whole pod include those of its containers.
    held = entry.cpus or [cpu for each in entry.containers for cpu in each.cpus]
    for cpu in node_of.keys() & set(held):
        add(node_of[cpu], resources.CPU, 1)
    for each in entry.containers:
        for device in each.devices:
            places.setdefault((device.resource, device.device_id), set()).add(device.node_id)
    for (resource, _), node_ids in places.items():
        only = next(iter(node_ids)) if len(node_ids) == 1 else None
        if only is not None:
            add(only, resource, 1)
    for block in _blocks(entry):
        if len(block.nodes) == 1 and block.size_bytes:
            add(block.nodes[0], block.resource, block.size_bytes)
    return zones


def _blocks(entry: PodEntry) -> Iterator[MemoryBlock]:
    """The blocks of a whole pod include those of its containers."""
    yield from entry.memory or (block for each in entry.containers for block in each.memory)


def _groups(entry: PodEntry) -> str:
    groups: dict[tuple[int, ...], Counter[str]] = {}
    for block in _blocks(entry):
        # A block of size 0 reuses the memory of an init container, and its group lives on.
        groups.setdefault(tuple(sorted(block.nodes)), Counter())[block.resource] += block.size_bytes
    named = [
        ([node_resource_topology.zone_name(each) for each in nodes], groups[nodes])
        for nodes in groups
    ]
    return _text(
        {"memoryNodes": zones, "amount": _amount(amounts)}
        for zones, amounts in sorted(named, key=lambda each: each[0])
    )


def _is_complete(node: Node, progress: PodProgress, entry: PodEntry) -> bool:
    """Whether the entry has all memory of the pod; KAI ``memoryObservationComplete``, 2026.

    The entry never has memory of ordinary init containers, so a pod is incomplete until its first
    app container has started after them.
    """
    if node.rules.memory.policy is MemoryPolicy.NONE:
        return True
    pod, started = progress.pod, progress.started
    init = {each.name for each in pod.init_containers if each.kind is ContainerKind.INIT}
    has_app = any(each.name in started for each in pod.app_containers)
    if init & progress.running or (init & started and not has_app):
        return False
    for listed in entry.containers:
        requests = pod.by_name[listed.name].requests
        wanted = {
            name
            for name, amount in requests.items()
            if resources.is_memory_type(name) and not amount.is_zero
        }
        known = {block.resource for block in entry.memory or listed.memory}
        if wanted and (listed.name not in started or not wanted <= known):
            return False
    return True


def patch(pod: Pod, values: Mapping[str, str]) -> tuple[str, dict[str, Any]]:
    """Return path and body of the server-side apply; the uid protects a later pod of that name."""
    metadata = {
        "name": pod.name,
        "namespace": pod.namespace,
        "uid": pod.uid,
        "annotations": dict(values),
    }
    path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}"
    return path, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}


def _amount(amounts: Mapping[str, int]) -> dict[str, str]:
    return {name: str(amount) for name, amount in sorted(amounts.items())}


def _text(listed: Iterable[Mapping[str, Any]]) -> str:
    return json.dumps(list(listed), separators=(",", ":"))
