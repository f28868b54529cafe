"""Node allocatable: capacity, reservation, and the check of one against the other.

reservation = systemReserved + kubeReserved + hard eviction threshold, for each resource of the
capacity, without zeros. Huge pages cannot be reserved. Kubelet v1.32: ``parseResourceList``,
``eviction.ParseThresholdConfig``, ``GetNodeAllocatableReservation``, ``validateNodeAllocatable``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.releases.release import V1_32_RULES, ReleaseRules
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
from numalet.core.model.go_text import GoText, QuantityError, quote
from numalet.core.model.machine_info import MachineInfo, OperatingSystem
from numalet.core.model.quantity import ZERO, Quantity
from numalet.core.model.value import Value, replace

_NUMBER: Final = re.compile(r"([+-]?)(?:([0-9]+)\.?([0-9]*)|\.([0-9]+))(?:[eE]([+-]?[0-9]+))?")
_INFINITY: Final = re.compile(r"([+-]?)inf(?:inity)?", re.ASCII | re.IGNORECASE)
_LONGEST_NUMBER: Final = 100
_FLOAT32_BITS: Final = 24
_FLOAT64_BITS: Final = 53
_FAR_EXPONENT: Final = 1000
_MAX_FLOAT32: Final = (2**24 - 1) * 2**104


# The kubelet reads an eviction threshold such as ``5%`` as a 32-bit float and divides it by 100 in
# 32 bits, so 5% of 16 GiB are 858993472 bytes, not 858993459. Integers imitate floating point here:
# exact, and the same on every machine.


class PercentageError(ValueError):
    """The text before ``%`` is not a number; ``go_text`` is Go's error."""

    def __init__(self, text: str, problem: str) -> None:
        self.go_text = f"strconv.ParseFloat: parsing {quote(text)}: {problem}"
        super().__init__(self.go_text)


class Percentage(Value):
    """A share as the fraction ``_above / _below``, already rounded to 32 bits.

    A ``_below`` of 0 is infinity, which Go parses; callers refuse values out of range.
    """

    _above: int
    _below: int = 1

    @property
    def is_negative(self) -> bool:
        return self._above < 0

    @property
    def is_above_all(self) -> bool:
        return self._above > self._below

    def of(self, capacity: int) -> int:
        """Return the share of a capacity, rounded down.

        Kubelet v1.32: ``evictionapi.GetThresholdQuantity``.
        """
        # Two roundings to 64-bit floats, in the kubelet's order: of the capacity, and of the
        # product.
        above, below = _rounded(capacity, 1, _FLOAT64_BITS)
        above, below = _rounded(above * self._above, below * self._below, _FLOAT64_BITS)
        return above // below


def parse_percentage(text: str) -> Percentage:
    """Parse a percentage such as ``2.5%``.

    Raises ``PercentageError`` if the text before the percent sign is not a decimal number.
    """
    # All percent signs, as ``strings.TrimRight`` in Go: 5%% is valid too.
    number = text.rstrip("%")
    infinite = _INFINITY.fullmatch(number)
    if infinite is not None:
        return Percentage(-1 if infinite[1] == "-" else 1, 0)
    match = _NUMBER.fullmatch(number) if len(number) <= _LONGEST_NUMBER else None
    if match is None:
        raise PercentageError(number, "invalid syntax")
    sign, whole, decimals, only_decimals, power = match.groups()
    decimals = only_decimals if whole is None else decimals
    mantissa = int((whole or "") + decimals)
    exponent = max(min(int(power or 0), _FAR_EXPONENT), -_FAR_EXPONENT) - len(decimals)
    above, below = _rounded(mantissa * 10 ** max(exponent, 0), 10 ** max(-exponent, 0))
    if above > _MAX_FLOAT32 * below:
        raise PercentageError(number, "value out of range")
    above, below = _rounded(above, below * 100)
    return Percentage(-above if sign == "-" else above, below)


def _rounded(above: int, below: int, bits: int = _FLOAT32_BITS) -> tuple[int, int]:
    """Round the fraction to a number of significant bits, ties to even."""
    if above == 0:
        return 0, 1
    shift = bits - above.bit_length() + below.bit_length()
    quotient, rest, divisor = _divided(above, below, shift)
    # The estimate of the shift can be one too large; then the quotient has one bit too many.
    if quotient >= 1 << bits:
        shift -= 1
        quotient, rest, divisor = _divided(above, below, shift)
    if rest * 2 > divisor or (rest * 2 == divisor and quotient & 1):
        quotient += 1
    return quotient << max(-shift, 0), 1 << max(shift, 0)


def _divided(above: int, below: int, shift: int) -> tuple[int, int, int]:
    divisor = below << max(-shift, 0)
    quotient, rest = divmod(above << max(shift, 0), divisor)
    return quotient, rest, divisor


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
    config: KubeletConfig,
    place: str,
    amounts: Mapping[str, str],
    findings: Findings,
    rules: ReleaseRules = V1_32_RULES,
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
        is_rounded = name == resources.CPU and rules.reserved_cpu_is_in_thousandths
        reserved[name] = quantity.in_thousandths if is_rounded else quantity
    return MappingProxyType(reserved)


def parse_eviction(config: KubeletConfig, findings: Findings) -> Mapping[str, Threshold]:
    """Parse the hard eviction thresholds by signal; report and leave out bad ones."""
    thresholds: dict[str, Threshold] = {}
    for signal in sorted(config.eviction_hard):
        value = config.eviction_hard[signal]
        # The kubelet treats these two as "no threshold", not as thresholds of nothing or
        # everything.
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
        return _percentage_threshold(signal, value, where)
    return _parse_amount(signal, value, where)


def _percentage_threshold(signal: str, value: str, where: Location) -> Percentage | Finding:
    try:
        percentage = parse_percentage(value)
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
        # Only memory: the disk thresholds concern file systems, which are not part of the capacity
        # here.
        if name == resources.MEMORY and MEMORY_AVAILABLE in thresholds:
            total += _amount(thresholds[MEMORY_AVAILABLE], available[name])
        if not total.is_zero:
            kept[name] = total
    return MappingProxyType(kept)


def without_eviction(
    config: KubeletConfig, of: ResourceList, rules: ReleaseRules
) -> dict[str, Quantity]:
    """Subtract the reservations, but not eviction thresholds, from a capacity.

    The configuration must be valid. Kubelet v1.32: ``GetNodeAllocatableAbsolute``.
    """
    findings = Findings()
    kube = parse_reserved(config, "kubeReserved", config.kube_reserved, findings, rules)
    system = parse_reserved(config, "systemReserved", config.system_reserved, findings, rules)
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
