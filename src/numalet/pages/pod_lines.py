"""Pods as the lines of a table: their allocations in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from numalet.core.model import cpu_set, numa_mask, resources
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.value import Value
from numalet.insight.maps.node_map import NodeMap
from numalet.wording import numbers


class PodLine(Value, kw_only=True):
    """One pod in words. ``level`` is ``good``, ``warning``, ``bad`` or empty, and sets the colour.

    ``uid`` links it to its marks in drawings, ``why`` is shown below the status, ``href`` may lead
    to its page.
    """

    uid: str
    title: str
    status: str
    level: str = ""
    why: str = ""
    href: str = ""
    qos: str = ""
    nodes: str = ""
    cpus: str = ""
    memory: str = ""
    devices: str = ""


def of_chart(chart: NodeMap) -> tuple[PodLine, ...]:
    return tuple(
        PodLine(
            uid=pod.uid,
            title=pod.title,
            status="holds" if pod.is_active else "left behind",
            level="" if pod.is_active else "warning",
            qos="" if pod.qos_class is None else pod.qos_class.value,
            nodes=nodes_text(pod.nodes),
            cpus=cpus_text(pod.cpus),
            memory=memory_text(pod.memory_bytes),
            devices=devices_text(pod.devices),
        )
        for pod in chart.pods
    )


def nodes_text(nodes: Sequence[int]) -> str:
    return numa_mask.listed(nodes) or "any"


def cpus_text(cpus: CpuSet) -> str:
    return f"{cpu_set.text(cpus)} ({len(cpus)})" if cpus else "shared"


def memory_text(size_bytes: Mapping[str, int]) -> str:
    """Return sizes by memory type, plain memory first."""
    return ", ".join(
        numbers.size(size) if name == resources.MEMORY else f"{name} {numbers.size(size)}"
        # "memory" sorts after "hugepages-", hence the reverse order.
        for name, size in sorted(size_bytes.items(), reverse=True)
    )


def devices_text(devices: Mapping[str, Sequence[str]]) -> str:
    return "; ".join(f"{name} {', '.join(ids)}" for name, ids in sorted(devices.items()))
