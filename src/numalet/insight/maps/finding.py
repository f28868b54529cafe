"""Finds a CPU, a device or a pod on the map of a node by what a reader calls it."""

from __future__ import annotations

import re
from collections.abc import Collection, Set
from typing import Final

from numalet.core.model import cpu_set, grammar, numa_mask, resources
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.value import Value
from numalet.insight.maps import map_devices
from numalet.insight.maps.map_devices import DeviceUse, MapDevice
from numalet.insight.maps.node_map import MapPod, NodeMap
from numalet.insight.maps.resource_maps import CpuUse
from numalet.wording import numbers

_CPU: Final = re.compile(r"(?:cpu)?\s*([0-9]{1,6})", re.IGNORECASE)
_NONE: Final[frozenset[str]] = frozenset()


class SearchResult(Value, kw_only=True):
    """What is to be marked, and a sentence about it; ``nodes`` are its NUMA nodes."""

    sentence: str = ""
    nodes: frozenset[int] = frozenset()
    cpus: CpuSet = cpu_set.EMPTY
    device_ids: Set[str] = _NONE
    pod_uids: Set[str] = _NONE


NOTHING: Final = SearchResult()


def find(chart: NodeMap, words: str) -> SearchResult:
    """Find ``CPU 17`` or ``17``, a device by its id or as ``GPU 3``, or pods by their name."""
    words = " ".join(words.split())
    if not words:
        return NOTHING
    if number := _CPU.fullmatch(words):
        return _cpu(chart, int(number[1]))
    plain = _plain(words)
    # A device plugin names its devices as it likes: gpu3, gpu-3, nvidia3.
    devices = [each for each in chart.devices if _plain(each.device_id) == plain]
    devices = devices or [
        each
        for each in chart.devices
        if _plain(f"{map_devices.kind(each.resource)}{each.number}") == plain
    ]
    pods = [pod for pod in chart.pods if words.lower() in (pod.title.lower(), pod.name.lower())]
    pods = pods or [pod for pod in chart.pods if words.lower() in pod.title.lower()]
    if devices:
        return _device(chart, devices)
    if not pods:
        pooled = [pod.title for pod in chart.pool.pods if words.lower() in pod.title.lower()]
        if pooled:
            return SearchResult(
                sentence=f"{', '.join(sorted(pooled))}: on the shared pool of CPUs."
            )
        return SearchResult(sentence=f"Nothing here is called {words}.")
    sentence = f"{len(pods)} pods: {', '.join(sorted(pod.title for pod in pods))}."
    if len(pods) == 1:
        where = f", on {_numa_nodes(pods[0].nodes)}" if pods[0].nodes else ""
        sentence = f"{pods[0].title}{where}: {holdings(chart, pods) or 'nothing of its own'}."
    return SearchResult(
        sentence=sentence,
        nodes=frozenset(node for pod in pods for node in pod.nodes),
        pod_uids=frozenset(pod.uid for pod in pods),
    )


def differing(chart: NodeMap, other: NodeMap) -> SearchResult:
    """Find what has another holder in the other chart, and pods that have other memory there."""
    cells = [{cell for block in each.nodes for cell in block.cpus} for each in (chart, other)]
    devices = [
        {(each.resource, each.device_id, each.state, each.pod_uid) for each in of.devices}
        for of in (chart, other)
    ]
    memory = [
        {(pod.uid, *sorted(pod.memory_bytes.items())) for pod in of.pods} for of in (chart, other)
    ]
    return SearchResult(
        cpus=frozenset(cell.cpu for cell in cells[0] - cells[1]),
        device_ids={device_id for _, device_id, _, _ in devices[0] - devices[1]},
        pod_uids={str(uid) for uid, *_ in memory[0] - memory[1]},
    )


def holdings(chart: NodeMap, pods: Collection[MapPod]) -> str:
    """Return all CPUs, memory and devices of these pods: ``CPUs 2-3, 18-19; 8Gi; gpu0``."""
    cpus = frozenset[int]().union(*(pod.cpus for pod in pods))
    parts = [numbers.cpus(cpus).replace(",", ", ")] if cpus else []
    for resource in sorted({name for pod in pods for name in pod.memory_bytes}, reverse=True):
        if size := sum(pod.memory_bytes.get(resource, 0) for pod in pods):
            pages = "" if resource == resources.MEMORY else f" of {resource}"
            parts.append(f"{numbers.rounded_size(size)}{pages}")
    called = {(each.resource, each.device_id): each.called for each in chart.devices}
    parts += [
        ", ".join(called.get((resource, each), each) for each in ids)
        for pod in pods
        for resource, ids in sorted(pod.devices.items())
    ]
    return "; ".join(parts)


def _numa_nodes(node_ids: tuple[int, ...]) -> str:
    return grammar.singular(f"NUMA nodes {numa_mask.listed(node_ids)}")


def _plain(words: str) -> str:
    return re.sub(r"[\s_-]", "", words.lower())


def _cpu(chart: NodeMap, number: int) -> SearchResult:
    for block in chart.nodes:
        for cell in block.cpus:
            if cell.cpu == number:
                pod = chart.pod(cell.pod_uid)
                whose = f"exclusive to {cell.pod_uid if pod is None else pod.title}"
                if cell.use is not CpuUse.EXCLUSIVE:
                    is_kept = cell.use is CpuUse.RESERVED
                    whose = "reserved for the system" if is_kept else "no pod has it for itself"
                    if number in chart.pool.cpus and chart.pool.pods:
                        whose += f", {numbers.counted(len(chart.pool.pods), 'pod')} may run on it"
                return SearchResult(
                    sentence=f"CPU {number} is on NUMA node {block.node_id}: {whose}.",
                    nodes=frozenset({block.node_id}),
                    cpus=frozenset({number}),
                )
    return SearchResult(sentence=f"This node has no CPU {number}.")


def _device(chart: NodeMap, devices: list[MapDevice]) -> SearchResult:
    device = devices[0]
    pod = chart.pod(device.pod_uid)
    where = _numa_nodes(device.nodes) if device.nodes else "a NUMA node that is not known"
    state = "in use" if device.state is DeviceUse.IN_USE else device.state.value
    state = state if pod is None else f"held by {pod.title}"
    return SearchResult(
        sentence=f"{device.resource} {device.full_name} is on {where}: {state}.",
        nodes=frozenset(device.nodes),
        device_ids=frozenset(each.device_id for each in devices),
    )
