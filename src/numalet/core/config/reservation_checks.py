"""Kubelet checks of enforced reservations, reserved CPUs and reserved memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from numalet.core.config.field_checks import Checked
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.findings.config import ConfigReservedCpus, ConfigReservedCpusWithCgroups
from numalet.core.findings.reservation import (
    ConfigEnforceBothForms,
    ConfigEnforceDuplicate,
    ConfigEnforceNoneWithOthers,
    ConfigEnforceUnknown,
    ConfigEnforceWithoutCgroup,
    ConfigEnforceWithoutQosCgroups,
    ConfigReservedMemoryDuplicate,
    ConfigReservedMemoryType,
    ConfigReservedMemoryZero,
    ReservedMemoryEntryFinding,
)
from numalet.core.model import cpu_set, resources
from numalet.core.model.findings import Finding
from numalet.core.model.go_text import GoText

_PODS: Final = "pods"
_NONE: Final = "none"
_RESERVED_PAIRS: Final = (
    ("system-reserved", "system-reserved-compressible"),
    ("kube-reserved", "kube-reserved-compressible"),
)
_ENFORCE: Final = "enforceNodeAllocatable"


def enforcement(of: Checked) -> Iterator[Finding]:
    config = of.config
    keys = config.enforce_node_allocatable
    for whole, compressible in _RESERVED_PAIRS:
        if whole in keys and compressible in keys:
            yield ConfigEnforceBothForms(
                whole=GoText(whole),
                compressible=GoText(compressible),
                where=config.where(_ENFORCE),
            )
    for index, key in enumerate(keys):
        place = f"{_ENFORCE}[{index}]"
        if key in keys[:index]:
            yield ConfigEnforceDuplicate(key=GoText(key), where=config.where(place))
        else:
            yield from _enforcement_key(config, key, place)


def _enforcement_key(config: KubeletConfig, key: str, place: str) -> Iterator[Finding]:
    """Check one key; ``none`` and unknown keys skip the check of the QoS cgroups."""
    cgroups = (config.system_reserved_cgroup, config.kube_reserved_cgroup)
    if key == _NONE:
        if len(config.enforce_node_allocatable) > 1:
            yield ConfigEnforceNoneWithOthers(where=config.where(place))
        return
    pair = next((pair for pair in _RESERVED_PAIRS if key in pair), None)
    if pair is None and key != _PODS:
        yield ConfigEnforceUnknown(key=GoText(key), where=config.where(place))
        return
    if pair is not None and not cgroups[_RESERVED_PAIRS.index(pair)]:
        owner = pair[0].removesuffix("-reserved")
        yield ConfigEnforceWithoutCgroup(owner=owner, key=GoText(key), where=config.where(place))
    if not config.cgroups_per_qos:
        yield ConfigEnforceWithoutQosCgroups(key=GoText(key), where=config.where(place))


def reserved_cpus(of: Checked) -> Iterator[Finding]:
    config = of.config
    cpus, where = config.reserved_system_cpus, config.where("reservedSystemCPUs")
    if not cpus:
        return
    if config.system_reserved_cgroup or config.kube_reserved_cgroup:
        yield ConfigReservedCpusWithCgroups(cpus=cpus, where=where)
    try:
        cpu_set.parse(cpus)
    except cpu_set.CpuListError as error:
        yield ConfigReservedCpus(cpus=cpus, problem=error.go_text, where=where)


def reserved_memory(of: Checked) -> Iterator[Finding]:
    config = of.config
    seen: set[tuple[int, str]] = set()
    for index, entry in enumerate(config.reserved_memory):
        for name in sorted(entry.limits):
            problems: list[type[ReservedMemoryEntryFinding]] = []
            if not resources.is_memory_type(name):
                problems.append(ConfigReservedMemoryType)
            if entry.limits[name].is_zero:
                problems.append(ConfigReservedMemoryZero)
            if (entry.numa_node, name) in seen:
                problems.append(ConfigReservedMemoryDuplicate)
            where = config.where(f"reservedMemory[{index}].limits.{name}")
            for problem in problems:
                yield problem(numa_node=entry.numa_node, type=GoText(name), where=where)
            seen.add((entry.numa_node, name))
