"""What the kubelet checks of enforced reservations, reserved CPUs and reserved memory."""

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
from numalet.core.model.findings import Finding, Findings
from numalet.core.model.go_text import GoText

_PODS: Final = "pods"
_NONE: Final = "none"
_RESERVED_PAIRS: Final = (
    ("system-reserved", "system-reserved-compressible"),
    ("kube-reserved", "kube-reserved-compressible"),
)
_ENFORCE: Final = "enforceNodeAllocatable"


def enforcement(of: Checked) -> Iterator[Finding]:
    config, findings = of.config, Findings()
    keys = config.enforce_node_allocatable
    for whole, compressible in _RESERVED_PAIRS:
        if whole in keys and compressible in keys:
            findings.add(
                ConfigEnforceBothForms(
                    whole=GoText(whole),
                    compressible=GoText(compressible),
                    where=config.where(_ENFORCE),
                )
            )
    for index, key in enumerate(keys):
        place = f"{_ENFORCE}[{index}]"
        if key in keys[:index]:
            findings.add(ConfigEnforceDuplicate(key=GoText(key), where=config.where(place)))
        else:
            _validate_enforcement_key(config, key, place, findings)
    yield from findings.all


def _validate_enforcement_key(
    config: KubeletConfig, key: str, place: str, findings: Findings
) -> None:
    """Check one key; ``none`` and unknown keys skip the check of the QoS cgroups."""
    cgroups = (config.system_reserved_cgroup, config.kube_reserved_cgroup)
    if key == _NONE:
        if len(config.enforce_node_allocatable) > 1:
            findings.add(ConfigEnforceNoneWithOthers(where=config.where(place)))
        return
    pair = next((pair for pair in _RESERVED_PAIRS if key in pair), None)
    if pair is None and key != _PODS:
        findings.add(ConfigEnforceUnknown(key=GoText(key), where=config.where(place)))
        return
    if pair is not None and not cgroups[_RESERVED_PAIRS.index(pair)]:
        owner = pair[0].removesuffix("-reserved")
        findings.add(
            ConfigEnforceWithoutCgroup(owner=owner, key=GoText(key), where=config.where(place))
        )
    if not config.cgroups_per_qos:
        findings.add(ConfigEnforceWithoutQosCgroups(key=GoText(key), where=config.where(place)))


def reserved_cpus(of: Checked) -> Iterator[Finding]:
    config, findings = of.config, Findings()
    cpus, place = config.reserved_system_cpus, "reservedSystemCPUs"
    if not cpus:
        return
    if config.system_reserved_cgroup or config.kube_reserved_cgroup:
        findings.add(ConfigReservedCpusWithCgroups(cpus=cpus, where=config.where(place)))
    try:
        cpu_set.parse(cpus)
    except cpu_set.CpuListError as error:
        findings.add(
            ConfigReservedCpus(cpus=cpus, problem=error.go_text, where=config.where(place))
        )
    yield from findings.all


def reserved_memory(of: Checked) -> Iterator[Finding]:
    config, findings = of.config, Findings()
    seen: set[tuple[int, str]] = set()
    for index, entry in enumerate(config.reserved_memory):
        for name in sorted(entry.limits):
            place = f"reservedMemory[{index}].limits.{name}"
            problems: list[type[ReservedMemoryEntryFinding]] = []
            if not resources.is_memory_type(name):
                problems.append(ConfigReservedMemoryType)
            if entry.limits[name].is_zero:
                problems.append(ConfigReservedMemoryZero)
            if (entry.numa_node, name) in seen:
                problems.append(ConfigReservedMemoryDuplicate)
            findings.extend(
                problem(numa_node=entry.numa_node, type=GoText(name), where=config.where(place))
                for problem in problems
            )
            seen.add((entry.numa_node, name))
    yield from findings.all
