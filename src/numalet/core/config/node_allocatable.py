"""Node allocatable: capacity, reservation, and the check of one against the other.

reservation = systemReserved + kubeReserved + hard eviction threshold, for each resource of the
capacity, without zeros. Huge pages cannot be reserved. Kubelet v1.32: ``parseResourceList``,
``eviction.ParseThresholdConfig``, ``GetNodeAllocatableReservation``, ``validateNodeAllocatable``.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from numalet.core.config import percentages
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.percentages import Percentage, PercentageError
from numalet.core.config.releases.release import ReleaseRules
from numalet.core.findings.reservation import (
    ConfigEvictionAboveAll,
    ConfigEvictionBelowZero,
    ConfigEvictionNotPositive,
    ConfigEvictionNumber,
    ConfigEvictionQuantity,
    ConfigEvictionSignal,
    ConfigReservedMoreThanCapacity,
    ConfigReservedNegative,
    ConfigReservedQuantity,
    ConfigReservedResource,
)
from numalet.core.model import resources
from numalet.core.model.findings import Finding, Findings, Location
from numalet.core.model.go_text import GoText
from numalet.core.model.machine_info import MachineInfo, OperatingSystem
from numalet.core.model.quantity import ZERO, Quantity
from numalet.core.model.quantity_error import QuantityError
from numalet.core.model.value import replace

ResourceList: TypeAlias = Mapping[str, Quantity]
Threshold: TypeAlias = Quantity | Percentage

RESERVABLE: Final = (
    resources.CPU,
    resources.MEMORY,
    resources.EPHEMERAL_STORAGE,
    resources.PID,
)
MEMORY_AVAILABLE: Final = "memory.available"
EVICTION_SIGNALS: Final = (
    MEMORY_AVAILABLE,
    "allocatableMemory.available",
    "nodefs.available",
    "nodefs.inodesFree",
    "imagefs.available",
    "imagefs.inodesFree",
    "containerfs.available",
    "containerfs.inodesFree",
    "pid.available",
)
_DEFAULT_EVICTION: Final[Mapping[OperatingSystem, Mapping[str, str]]] = {
    OperatingSystem.LINUX: {
        MEMORY_AVAILABLE: "100Mi",
        "nodefs.available": "10%",
        "nodefs.inodesFree": "5%",
        "imagefs.available": "15%",
        "imagefs.inodesFree": "5%",
    },
    OperatingSystem.WINDOWS: {
        MEMORY_AVAILABLE: "500Mi",
        "nodefs.available": "10%",
        "imagefs.available": "15%",
    },
}
_IGNORED_PERCENTAGES: Final = ("0%", "100%")


def default_eviction(system: OperatingSystem) -> Mapping[str, str]:
    """Return the default hard eviction thresholds.

    Kubelet v1.32: ``eviction.DefaultEvictionHard``.
    """
    return _DEFAULT_EVICTION[system]


def with_default_eviction(
    config: KubeletConfig, rules: ReleaseRules, system: OperatingSystem
) -> KubeletConfig:
    """Add the default thresholds if the kubelet does."""
    default = default_eviction(system)
    if config.uses_default_eviction:
        return replace(config, eviction_hard=default)
    if config.merge_default_eviction_settings and rules.default_eviction_is_merged_if_asked:
        return replace(config, eviction_hard={**default, **config.eviction_hard})
    return config


def parse_reserved(
    config: KubeletConfig, place: str, amounts: Mapping[str, str], findings: Findings
) -> ResourceList:
    """Parse ``kubeReserved`` or ``systemReserved``; report and leave out bad quantities."""
    reserved: dict[str, Quantity] = {}
    for name in sorted(amounts):
        where = config.where(f"{place}.{name}")
        resource, amount = GoText(name), GoText(amounts[name])
        if name not in RESERVABLE:
            findings.add(ConfigReservedResource(resource=resource, where=where))
            continue
        try:
            quantity = Quantity.parse(amount)
        except QuantityError as error:
            findings.add(
                ConfigReservedQuantity(
                    resource=resource, value=amount, problem=error.go_text, where=where
                )
            )
            continue
        if quantity.sign < 0:
            findings.add(ConfigReservedNegative(resource=resource, value=amount, where=where))
            continue
        reserved[name] = quantity
    return MappingProxyType(reserved)


def parse_eviction(config: KubeletConfig, findings: Findings) -> Mapping[str, Threshold]:
    """Parse the hard eviction thresholds by signal; report and leave out bad ones."""
    thresholds: dict[str, Threshold] = {}
    for signal in sorted(config.eviction_hard):
        value = config.eviction_hard[signal]
        if signal in EVICTION_SIGNALS and value in _IGNORED_PERCENTAGES:
            continue
        match _parse_threshold(signal, value, config.where(f"evictionHard.{signal}")):
            case Finding() as found:
                findings.add(found)
            case threshold:
                thresholds[signal] = threshold
    return MappingProxyType(thresholds)


def _parse_threshold(signal: str, value: str, where: Location) -> Threshold | Finding:
    if signal not in EVICTION_SIGNALS:
        return ConfigEvictionSignal(signal=signal, value=value, where=where)
    if value.endswith("%"):
        return _parse_percentage(signal, value, where)
    return _parse_amount(signal, value, where)


def _parse_percentage(signal: str, value: str, where: Location) -> Percentage | Finding:
    try:
        percentage = percentages.parse(value)
    except PercentageError as error:
        return ConfigEvictionNumber(signal=signal, value=value, problem=error.go_text, where=where)
    if percentage.is_negative:
        return ConfigEvictionBelowZero(signal=signal, value=value, where=where)
    if percentage.is_above_all:
        return ConfigEvictionAboveAll(signal=signal, value=value, where=where)
    return percentage


def _parse_amount(signal: str, value: str, where: Location) -> Quantity | Finding:
    try:
        quantity = Quantity.parse(value)
    except QuantityError as error:
        return ConfigEvictionQuantity(
            signal=signal, value=value, problem=error.go_text, where=where
        )
    if quantity.sign <= 0:
        return ConfigEvictionNotPositive(signal=signal, value=str(quantity), where=where)
    return quantity


def capacity(machine: MachineInfo) -> ResourceList:
    """Return the node's capacity: cpu, memory, huge pages by size.

    Kubelet v1.32: ``cadvisor.CapacityFromMachineInfo``.
    """
    amounts = {
        resources.CPU: Quantity.from_milli(machine.cpu_count * 1000),
        resources.MEMORY: Quantity.from_bytes(machine.memory_capacity_bytes),
    }
    for pages in machine.hugepages:
        size_bytes = pages.page_size_kib * 1024 * pages.count
        amounts[resources.hugepages_name(pages.page_size_kib)] = Quantity.from_bytes(size_bytes)
    return MappingProxyType(amounts)


def reservation(
    machine: MachineInfo,
    system_reserved: ResourceList,
    kube_reserved: ResourceList,
    thresholds: Mapping[str, Threshold],
) -> ResourceList:
    """Return the reserved amount of each resource, without zeros."""
    available = capacity(machine)
    kept: dict[str, Quantity] = {}
    for name in sorted(available):
        total = ZERO + system_reserved.get(name, ZERO) + kube_reserved.get(name, ZERO)
        if name == resources.MEMORY and MEMORY_AVAILABLE in thresholds:
            total += _amount(thresholds[MEMORY_AVAILABLE], available[name])
        if not total.is_zero:
            kept[name] = total
    return MappingProxyType(kept)


def without_eviction(config: KubeletConfig, of: ResourceList) -> dict[str, Quantity]:
    """Subtract the reservations, but not eviction thresholds, from a capacity.

    The configuration must be valid. Kubelet v1.32: ``GetNodeAllocatableAbsolute``.
    """
    findings = Findings()
    kube = parse_reserved(config, "kubeReserved", config.kube_reserved, findings)
    system = parse_reserved(config, "systemReserved", config.system_reserved, findings)
    left = {name: each - system.get(name, ZERO) - kube.get(name, ZERO) for name, each in of.items()}
    return {name: ZERO if amount.sign < 0 else amount for name, amount in left.items()}


def check(machine: MachineInfo, reserved: ResourceList) -> tuple[Finding, ...]:
    """Return a finding for every resource whose reservation exceeds its capacity."""
    available = capacity(machine)
    return tuple(
        ConfigReservedMoreThanCapacity(
            resource=GoText(name),
            reserved=reserved[name],
            capacity=available[name],
            reserved_raw=reserved[name].go_struct(),
            capacity_raw=available[name].go_struct(),
        )
        for name in sorted(reserved)
        if reserved[name] > available[name]
    )


def _amount(threshold: Threshold, available: Quantity) -> Quantity:
    if isinstance(threshold, Percentage):
        return Quantity.from_bytes(threshold.of(available.value))
    return threshold
