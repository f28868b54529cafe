"""What this program refuses although the kubelet's own checks let it pass.

The kubelet would crash or answer nonsense there: a node id that no mask can hold, a distance row
that is too short, or, where there are too many sets of nodes to try each, less than no memory
on a node, which it reads as a very large number.
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
"""Sizes that wrap around follow no rule, so that every set of nodes has to be tried."""


def check(
    config: KubeletConfig,
    machine: MachineInfo,
    topology: TopologyRules,
    memory: MemoryRules,
    behaviour: Behaviour,
    findings: Findings,
) -> None:
    """Find the settings that numalet cannot follow on this machine."""
    is_aligning = topology.policy is not TopologyPolicy.NONE
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
        if not behaviour.sizes_wrap_around:
            _check_reservation(config, machine, memory, findings)
        elif len(machine.nodes) > MOST_NODES_WITH_WRAPPING:
            _check_wrapping(config, machine, memory, findings)


def _check_wrapping(
    config: KubeletConfig, machine: MachineInfo, memory: MemoryRules, findings: Findings
) -> None:
    """The kubelet keeps sizes modulo 2^64: less than nothing becomes nearly everything."""
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
    """Some node must give memory to pods."""
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
    """Reservations are not negative, and not above the capacity."""
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
    """Capacity of a node by memory type, in bytes, before reservations."""
    pages = {
        resources.hugepages_name(each.page_size_kib): each.count * each.page_size_kib * 1024
        for each in node.hugepages
    }
    return {**pages, resources.MEMORY: node.memory_bytes - sum(pages.values())}
