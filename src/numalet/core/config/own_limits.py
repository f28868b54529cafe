"""Configurations that numalet refuses although the kubelet accepts them.

The kubelet would crash or return wrong results: a node id that does not fit into a mask, a distance
row that is too short, or a node with less memory than its reservation, which the kubelet reads as a
very large size. The last one is refused only if there are too many sets of nodes to try each.
"""

from __future__ import annotations

from typing import Final

from numalet.core.config.behaviour import Behaviour
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.rules import MemoryPolicy, MemoryRules, TopologyPolicy, TopologyRules
from numalet.core.findings.managers import (
    NumaletNodeIdTooHigh,
    NumaletNoNodeGivesMemory,
    NumaletReservationWraps,
    NumaletReservedTooMuch,
)
from numalet.core.model import resources
from numalet.core.model.findings import Findings
from numalet.core.model.machine_info import MachineInfo, NumaNodeInfo
from numalet.core.model.machine_queries import node_class

MOST_NODES_WITH_WRAPPING: Final = 12
"""Sizes that wrap around follow no rule, so every set of nodes must be tried."""


def check(
    config: KubeletConfig,
    machine: MachineInfo,
    topology: TopologyRules,
    memory: MemoryRules,
    behaviour: Behaviour,
    findings: Findings,
) -> None:
    """Report settings that numalet cannot follow on this machine."""
    is_aligning = topology.policy is not TopologyPolicy.NONE
    # Without an active manager that uses NUMA nodes, nothing can go wrong.
    if not is_aligning and memory.policy is MemoryPolicy.NONE:
        return
    field = "topologyManagerPolicy" if is_aligning else "memoryManagerPolicy"
    where = config.where(field)
    policy = topology.policy.value if is_aligning else memory.policy.value
    highest = max(machine.node_ids, default=0)
    if behaviour.highest_node_id is not None and highest > behaviour.highest_node_id:
        findings.add(
            NumaletNodeIdTooHigh(
                field=field,
                policy=policy,
                numa_node=highest,
                highest=behaviour.highest_node_id,
                where=where,
            )
        )
    if memory.policy is not MemoryPolicy.NONE:
        _check_node_classes(config, machine, behaviour, findings)
        # In native mode sizes do not wrap around, so such a reservation is simply an error.
        if not behaviour.sizes_wrap_around:
            _check_reservation(config, machine, memory, findings)
        elif len(machine.nodes) > MOST_NODES_WITH_WRAPPING:
            _check_wrapping(config, machine, memory, findings)


def _check_wrapping(
    config: KubeletConfig, machine: MachineInfo, memory: MemoryRules, findings: Findings
) -> None:
    """Report reservations above a node's size, which wrap around modulo 2^64."""
    for node in machine.nodes:
        reserved = memory.system_reserved.get(node.node_id, {})
        for name, size_bytes in _sizes(node).items():
            if size_bytes < reserved.get(name, 0):
                findings.add(
                    NumaletReservationWraps(
                        numa_node=node.node_id,
                        type=name,
                        reserved_bytes=reserved.get(name, 0),
                        size_bytes=size_bytes,
                        limit=MOST_NODES_WITH_WRAPPING,
                        where=config.where("reservedMemory"),
                    )
                )


def _check_node_classes(
    config: KubeletConfig, machine: MachineInfo, behaviour: Behaviour, findings: Findings
) -> None:
    classes = behaviour.memory_node_classes
    if classes is not None and not any(map(behaviour.gives_memory, machine.nodes)):
        there = sorted({node_class(node).value for node in machine.nodes})
        findings.add(
            NumaletNoNodeGivesMemory(
                classes=", ".join(each.value for each in classes),
                there=", ".join(there),
                where=config.where("memoryManagerPolicy"),
            )
        )


def _check_reservation(
    config: KubeletConfig, machine: MachineInfo, memory: MemoryRules, findings: Findings
) -> None:
    for node in machine.nodes:
        sizes = _sizes(node)
        for name, reserved_bytes in memory.system_reserved.get(node.node_id, {}).items():
            # Amounts below zero are nearly 2^64 here.
            if reserved_bytes > sizes.get(name, 0):
                findings.add(
                    NumaletReservedTooMuch(
                        numa_node=node.node_id,
                        type=name,
                        reserved_bytes=reserved_bytes - (reserved_bytes >> 63 << 64),
                        size_bytes=sizes.get(name, 0),
                        where=config.where("reservedMemory"),
                    )
                )


def _sizes(node: NumaNodeInfo) -> dict[str, int]:
    """Return bytes by memory type, before reservations."""
    pages = {
        resources.hugepages_name(each.page_size_kib): each.count * each.page_size_kib * 1024
        for each in node.hugepages
    }
    return {**pages, resources.MEMORY: node.memory_bytes - sum(pages.values())}
