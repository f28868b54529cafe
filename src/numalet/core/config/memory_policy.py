"""The Memory Manager's policy and reserved memory, checked like in its constructor.

Under policy Static every node of an entry must exist, the sum of the entries of a type must equal
the node allocatable reservation of that type, and Go must parse each amount as an integer. In
native mode the sum of huge pages is free. Kubelet v1.32: ``memorymanager.NewManager``,
``getSystemReservedMemory``, ``NewPolicyStatic``.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from numalet.core.config.behaviour import Behaviour
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.node_allocatable import ResourceList
from numalet.core.config.rules import MemoryPolicy, MemoryRules
from numalet.core.findings.reservation import (
    ConfigMemoryPolicy,
    ConfigMemoryPolicyNotOnWindows,
    ConfigMemoryPolicyPlatform,
    ConfigReservedMemoryMissing,
    ConfigReservedMemoryNode,
    ConfigReservedMemoryNotInteger,
    ConfigReservedMemorySum,
)
from numalet.core.model import resources
from numalet.core.model.findings import Findings
from numalet.core.model.go_text import GoText
from numalet.core.model.machine_info import MachineInfo, OperatingSystem
from numalet.core.model.quantity import ZERO, Quantity

_UINT64: Final = 2**64
_PLACE: Final = "reservedMemory"


def resolve(
    config: KubeletConfig,
    machine: MachineInfo,
    reservation: ResourceList | None,
    behaviour: Behaviour,
    findings: Findings,
) -> MemoryRules:
    """Return the Memory Manager's rules; report errors of its constructor.

    Without a ``reservation`` (it had errors), sums are not compared.
    """
    policy = _policy(config, machine, findings)
    if policy is None or policy is MemoryPolicy.NONE:
        return MemoryRules()
    _check_nodes(config, machine, findings)
    if reservation is not None:
        _check_sums(config, reservation, behaviour, findings)
    return MemoryRules(policy=policy, system_reserved=_converted(config, machine, findings))


def _policy(config: KubeletConfig, machine: MachineInfo, findings: Findings) -> MemoryPolicy | None:
    name = config.memory_manager_policy
    where = config.where("memoryManagerPolicy")
    on_windows = machine.os is OperatingSystem.WINDOWS
    if name not in (policy.value for policy in MemoryPolicy):
        findings.add(ConfigMemoryPolicy(policy=GoText(name), where=where))
        return None
    policy = MemoryPolicy(name)
    if policy is MemoryPolicy.STATIC and on_windows:
        findings.add(ConfigMemoryPolicyNotOnWindows(policy=GoText(name), where=where))
        return None
    if policy is MemoryPolicy.BEST_EFFORT and not on_windows:
        platform = GoText(machine.os.value)
        findings.add(
            ConfigMemoryPolicyPlatform(policy=GoText(name), platform=platform, where=where)
        )
        return None
    return policy


def _check_nodes(config: KubeletConfig, machine: MachineInfo, findings: Findings) -> None:
    for index, entry in enumerate(config.reserved_memory):
        if entry.numa_node not in machine.node_ids:
            findings.add(
                ConfigReservedMemoryNode(
                    numa_node=entry.numa_node,
                    existing=", ".join(map(str, machine.node_ids)),
                    where=config.where(f"{_PLACE}[{index}].numaNode"),
                )
            )


def _check_sums(
    config: KubeletConfig, reservation: ResourceList, behaviour: Behaviour, findings: Findings
) -> None:
    """Compare sums per type, by type name (the kubelet's order is random)."""
    sums: dict[str, Quantity] = {}
    for entry in config.reserved_memory:
        for name, amount in entry.limits.items():
            if behaviour.hugepages_are_reservable and name != resources.MEMORY:
                continue
            # The last entry decides how the sum prints, as in the kubelet.
            sums[name] = amount + sums.get(name, ZERO)
    for name in sorted({*sums, *filter(resources.is_memory_type, reservation)}):
        total, wanted = ZERO + sums.get(name, ZERO), ZERO + reservation.get(name, ZERO)
        if total != wanted:
            findings.add(
                ConfigReservedMemorySum(
                    total=str(total),
                    type=GoText(name),
                    expected=str(wanted),
                    where=config.where(_PLACE),
                )
            )


def _converted(
    config: KubeletConfig, machine: MachineInfo, findings: Findings
) -> Mapping[int, Mapping[str, int]]:
    """Return reserved bytes per node and type, modulo 2^64 like the kubelet's uint64."""
    reserved: dict[int, dict[str, int]] = {node_id: {} for node_id in machine.node_ids}
    failed = False
    for index, entry in enumerate(config.reserved_memory):
        for name in sorted(entry.limits):
            amount_bytes = entry.limits[name].as_int64()
            if amount_bytes is None:
                failed = True
                where = config.where(f"{_PLACE}[{index}].limits.{name}")
                findings.add(
                    ConfigReservedMemoryNotInteger(amount=str(entry.limits[name]), where=where)
                )
            elif entry.numa_node in reserved:
                # A negative amount wraps around, as in the kubelet.
                reserved[entry.numa_node][name] = amount_bytes % _UINT64
    total_bytes = sum(node.get(resources.MEMORY, 0) for node in reserved.values()) % _UINT64
    if total_bytes == 0 and not failed:
        findings.add(ConfigReservedMemoryMissing(where=config.where(_PLACE)))
    return MappingProxyType({node: MappingProxyType(types) for node, types in reserved.items()})
