"""NUMA nodes without CPUs: their nearest node, and the accelerator that may own their memory."""

from __future__ import annotations

import re
from typing import Final

from numalet.core.model.machine_queries import NodeClass
from numalet.insight.maps.map_devices import MapDevice
from numalet.insight.maps.node_map import NodeMap, NumaBlock

_ACCELERATOR: Final = re.compile(r"gpu|npu|tpu|gaudi|accelerator|mig-", re.IGNORECASE)
"""Resource names of accelerators; network adapters have no such memory."""


def nearest_host(chart: NodeMap, block: NumaBlock) -> NumaBlock | None:
    """Return the nearest NUMA node with CPUs, unless several are equally near."""
    if block.cores or block.distances is None or len(block.distances) != len(chart.nodes):
        return None
    hosts = [
        (away, each) for away, each in zip(block.distances, chart.nodes, strict=True) if each.cores
    ]
    least = min((away for away, _ in hosts), default=0)
    nearest = [each for away, each in hosts if away == least]
    return nearest[0] if len(nearest) == 1 else None


def owners(chart: NodeMap, block: NumaBlock) -> tuple[MapDevice, ...]:
    """Return the accelerator that owns this memory, or the candidates; empty if unknown."""
    if block.node_class is not NodeClass.MEMORY:
        return ()
    devices = [each for each in chart.devices if _ACCELERATOR.search(each.resource)]
    reported = tuple(each for each in devices if block.node_id in each.nodes)
    host = nearest_host(chart, block)
    # A plugin that reports the node of the memory names the owner. Most report the node with CPUs.
    if reported or host is None:
        return reported
    of_host = {
        each.node_id: tuple(device for device in devices if device.nodes == (each.node_id,))
        for each in chart.nodes
        if each.cores
    }
    # Distances help if each node with CPUs has as many accelerators as near memory nodes: the
    # memory is theirs, though the exact owner stays unknown if there are several.
    beside = dict.fromkeys(of_host, 0)
    for each in chart.nodes:
        if each.node_class is NodeClass.MEMORY and (near := nearest_host(chart, each)):
            beside[near.node_id] += 1
    is_even = all(len(of_host[node_id]) == count for node_id, count in beside.items())
    return of_host[host.node_id] if is_even else ()
