"""NUMA nodes without CPUs: next to which node they are, and whose memory theirs may be.

A plugin may report a device on the node of its memory; then it is known. Most report the node with
CPUs. Then distances help, where each such node has as many accelerators as nodes of memory next to
it: the memory is theirs, though which is whose stays open where there are several.
"""

from __future__ import annotations

import re
from typing import Final

from numalet.core.model.machine_queries import NodeClass
from numalet.insight.maps.node_map import MapDevice, NodeMap, NumaBlock

_ACCELERATOR: Final = re.compile(r"gpu|npu|tpu|gaudi|accelerator|mig-", re.IGNORECASE)
"""Resources of accelerators as their plugins name them; a network adapter has no such memory."""


def nearest_host(chart: NodeMap, block: NumaBlock) -> NumaBlock | None:
    """The one NUMA node with CPUs that is nearest to this one without; None where several are."""
    if block.cores or block.distances is None or len(block.distances) != len(chart.nodes):
        return None
    hosts = [
        (away, each) for away, each in zip(block.distances, chart.nodes, strict=True) if each.cores
    ]
    least = min((away for away, _ in hosts), default=0)
    nearest = [each for away, each in hosts if away == least]
    return nearest[0] if len(nearest) == 1 else None


def owners(chart: NodeMap, block: NumaBlock) -> tuple[MapDevice, ...]:
    """The accelerator whose memory this is, or several of which it is one's; empty if not known."""
    if block.node_class is not NodeClass.MEMORY:
        return ()
    devices = [each for each in chart.devices if _ACCELERATOR.search(each.resource)]
    reported = tuple(each for each in devices if block.node_id in each.nodes)
    host = nearest_host(chart, block)
    if reported or host is None:
        return reported
    of_host = {
        each.node_id: tuple(device for device in devices if device.nodes == (each.node_id,))
        for each in chart.nodes
        if each.cores
    }
    beside = dict.fromkeys(of_host, 0)
    for each in chart.nodes:
        if each.node_class is NodeClass.MEMORY and (near := nearest_host(chart, each)):
            beside[near.node_id] += 1
    is_even = all(len(of_host[node_id]) == count for node_id, count in beside.items())
    return of_host[host.node_id] if is_even else ()
