"""What the kubelet checks of a configuration before it looks at the machine.

Every rule that concerns the NUMA managers, in the kubelet's order, all of them collected: the
kubelet joins them into one text. Names of CPU and memory policies and all policy options are not
checked here but by the managers. Kubelet v1.32: ``ValidateKubeletConfiguration``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from numalet.config.kubelet_config import KubeletConfig
from numalet.model import cpu_set, resources
from numalet.model.findings import Finding, Findings
from numalet.model.go_text import Text

TOPOLOGY_POLICIES: Final = ("none", "best-effort", "restricted", "single-numa-node")
TOPOLOGY_SCOPES: Final = ("container", "pod")

_PODS: Final = "pods"
_NONE: Final = "none"
_RESERVED_PAIRS: Final = (
    ("system-reserved", "system-reserved-compressible"),
    ("kube-reserved", "kube-reserved-compressible"),
)
_ENFORCE: Final = "enforceNodeAllocatable"


def validate(config: KubeletConfig) -> tuple[Finding, ...]:
    """Everything that the kubelet's own validation finds, in its order."""
    findings = Findings()
    _validate_pods(config, findings)
    _validate_topology(config, findings)
    _validate_enforcement(config, findings)
    _validate_reserved_cpus(config, findings)
    _validate_reserved_memory(config, findings)
    return findings.all


def _validate_pods(config: KubeletConfig, findings: Findings) -> None:
    if config.max_pods < 0:
        _add(findings, config, "max-pods", "maxPods", count=config.max_pods)
    if config.pods_per_core < 0:
        _add(findings, config, "pods-per-core", "podsPerCore", count=config.pods_per_core)


def _validate_topology(config: KubeletConfig, findings: Findings) -> None:
    policy, scope = config.topology_manager_policy, config.topology_manager_scope
    if policy not in TOPOLOGY_POLICIES:
        place = "topologyManagerPolicy"
        _add(findings, config, "topology-policy", place, policy=Text(policy))
    if scope not in TOPOLOGY_SCOPES:
        _add(findings, config, "topology-scope", "topologyManagerScope", scope=Text(scope))


def _validate_enforcement(config: KubeletConfig, findings: Findings) -> None:
    keys = config.enforce_node_allocatable
    for whole, compressible in _RESERVED_PAIRS:
        if whole in keys and compressible in keys:
            fields = {"whole": Text(whole), "compressible": Text(compressible)}
            _add(findings, config, "enforce-both-forms", _ENFORCE, **fields)
    for index, key in enumerate(keys):
        place = f"{_ENFORCE}[{index}]"
        if key in keys[:index]:
            _add(findings, config, "enforce-duplicate", place, key=Text(key))
        else:
            _validate_enforcement_key(config, key, place, findings)


def _validate_enforcement_key(
    config: KubeletConfig, key: str, place: str, findings: Findings
) -> None:
    """One enforcement; ``none`` and unknown ones skip the check of the QoS cgroups."""
    cgroups = (config.system_reserved_cgroup, config.kube_reserved_cgroup)
    if key == _NONE:
        if len(config.enforce_node_allocatable) > 1:
            _add(findings, config, "enforce-none-with-others", place)
        return
    pair = next((pair for pair in _RESERVED_PAIRS if key in pair), None)
    if pair is None and key != _PODS:
        _add(findings, config, "enforce-unknown", place, key=Text(key))
        return
    if pair is not None and not cgroups[_RESERVED_PAIRS.index(pair)]:
        owner = pair[0].removesuffix("-reserved")
        _add(findings, config, "enforce-without-cgroup", place, owner=owner, key=Text(key))
    if not config.cgroups_per_qos:
        _add(findings, config, "enforce-without-qos-cgroups", place, key=Text(key))


def _validate_reserved_cpus(config: KubeletConfig, findings: Findings) -> None:
    cpus, place = config.reserved_system_cpus, "reservedSystemCPUs"
    if not cpus:
        return
    if config.system_reserved_cgroup or config.kube_reserved_cgroup:
        _add(findings, config, "reserved-cpus-with-cgroups", place, cpus=cpus)
    try:
        cpu_set.parse(cpus)
    except cpu_set.CpuListError as error:
        _add(findings, config, "reserved-cpus", place, cpus=cpus, problem=error.go_text)


def _validate_reserved_memory(config: KubeletConfig, findings: Findings) -> None:
    seen: set[tuple[int, str]] = set()
    for index, entry in enumerate(config.reserved_memory):
        for name in sorted(entry.limits):
            place = f"reservedMemory[{index}].limits.{name}"
            fields = {"numa_node": entry.numa_node, "type": Text(name)}
            codes = []
            if not resources.is_memory_type(name):
                codes.append("reserved-memory-type")
            if entry.limits[name].is_zero:
                codes.append("reserved-memory-zero")
            if (entry.numa_node, name) in seen:
                codes.append("reserved-memory-duplicate")
            _add_all(findings, config, codes, place, fields)
            seen.add((entry.numa_node, name))


def _add(findings: Findings, config: KubeletConfig, code: str, place: str, **fields: Any) -> None:
    findings.add(f"config/{code}", config.where(place), **fields)


def _add_all(
    findings: Findings,
    config: KubeletConfig,
    codes: Iterable[str],
    place: str,
    fields: dict[str, Any],
) -> None:
    for code in codes:
        _add(findings, config, code, place, **fields)
