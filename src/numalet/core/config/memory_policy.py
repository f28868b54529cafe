"""The Memory Manager's policy and reserved memory, checked like in its constructor.

Under policy Static every node of an entry must exist, the sum of the entries of a type must equal
the node allocatable reservation of that type, and Go must parse each amount as an integer. In
native mode the sum of huge pages is free. Kubelet v1.32: ``memorymanager.NewManager``,
``getSystemReservedMemory``, ``NewPolicyStatic``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from numalet.core.config.behaviour import Behaviour
from numalet.core.config.kubelet_config import KubeletConfig, ReservedMemory
from numalet.core.config.node_allocatable import ResourceList
from numalet.core.config.releases.release import ReleaseRules
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
from numalet.core.model import go_text, resources
from numalet.core.model.findings import Findings
from numalet.core.model.go_text import GoText, QuantityError
from numalet.core.model.machine_info import MachineInfo, OperatingSystem
from numalet.core.model.quantity import ZERO, Quantity

NO_TARGET: Final = "no target (nil pointer to *[]MemoryReservation"
_LOW_BITS: Final = 2**32
_SIGN_BIT: Final = 2**31


# The value of ``--reserved-memory``: ``0:memory=1Gi,hugepages-2Mi=2Gi;1:memory=1Gi``. A *group* is
# a NUMA node with its types; groups are split at ``;``, types at ``,``. The first error ends the
# parsing, as in the kubelet. Kubelet v1.32: ``ReservedMemoryVar.Set``.


class ReservedMemoryError(ValueError):
    """The value is not valid; ``go_text`` is the kubelet's error.

    ``later`` is the text of later releases, if it differs.
    """

    def __init__(self, go_text: str, later: str | None = None) -> None:
        self.go_text = go_text
        self.later = go_text if later is None else later
        super().__init__(go_text)

    def in_words_of(self, rules: ReleaseRules) -> str:
        return self.later if rules.reserved_memory_flag_is_spelt_right else self.go_text


def parse_reserved_memory(values: Iterable[str]) -> tuple[ReservedMemory, ...]:
    """Parse all occurrences of the flag, in order.

    Raises ``ReservedMemoryError`` if an entry is not valid.
    """
    entries: list[ReservedMemory] = []
    emptied = False
    for value in values:
        # An empty value sets nothing, and makes the kubelet fail at the next occurrence.
        if emptied:
            raise ReservedMemoryError(NO_TARGET, f"{NO_TARGET})")
        emptied = value == ""
        entries.extend(parse_flag_value(value))
    return tuple(entries)


def parse_flag_value(value: str) -> tuple[ReservedMemory, ...]:
    """Parse one occurrence of the flag. Raises ``ReservedMemoryError`` if the text is not valid."""
    if value == "":
        return ()
    return tuple(_parse_group(group) for group in value.split(";"))


def flag_text(reservations: Iterable[ReservedMemory]) -> str:
    """Format the flag's value like the kubelet: types sorted, groups sorted as text."""
    groups = [
        f"{entry.numa_node}:"
        + ",".join(f"{name}={entry.limits[name]}" for name in sorted(entry.limits))
        for entry in reservations
    ]
    return ",".join(sorted(groups))


def _parse_group(group: str) -> ReservedMemory:
    fields = group.split(":")
    if len(fields) != 2:
        raise ReservedMemoryError(
            "the reserved memory has incorrect format, expected "
            f"numaNodeID:type=quantity[,type=quantity...], got {group}"
        )
    try:
        node = go_text.atoi(fields[0])
    except go_text.GoNumberError:
        raise ReservedMemoryError(
            f"failed to convert the NUMA node ID, exptected integer, got {fields[0]}",
            f"failed to convert the NUMA node ID, expected integer, got {fields[0]}",
        ) from None
    return ReservedMemory(_as_int32(node), _parse_types(fields[1]))


def _parse_types(text: str) -> Mapping[str, Quantity]:
    limits: dict[str, Quantity] = {}
    for item in text.split(","):
        name, *quantities = item.split("=")
        if len(quantities) != 1:
            raise ReservedMemoryError(
                "the reserved limit has incorrect value, expected type=quantatity, got " + item,
                "the reserved limit has incorrect value, expected type=quantity, got " + item,
            )
        if not resources.is_memory_type(name):
            raise ReservedMemoryError(
                f"memory type conversion error, unknown type: {go_text.quote(name)}"
            )
        try:
            limits[name] = Quantity.parse(quantities[0])
        except QuantityError:
            raise ReservedMemoryError(
                "failed to parse the quantatity, expected quantatity, got " + quantities[0],
                "failed to parse the quantity: " + quantities[0],
            ) from None
    return MappingProxyType(limits)


def _as_int32(number: int) -> int:
    """Truncate the number to 32 bits, like the kubelet."""
    # ``strconv.Atoi`` gives 64 bits, and the kubelet converts the result to int32 without a check.
    return (number + _SIGN_BIT) % _LOW_BITS - _SIGN_BIT


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
        # Added to zero, so that both have the printed form of a sum, as in the kubelet's error.
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
    # The static policy requires some reserved memory on at least one node, as the CPU Manager
    # requires a reserved CPU.
    if total_bytes == 0 and not failed:
        findings.add(ConfigReservedMemoryMissing(where=config.where(_PLACE)))
    return MappingProxyType({node: MappingProxyType(types) for node, types in reserved.items()})
