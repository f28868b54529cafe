"""What the kubelet checks of a configuration before it looks at the machine.

Every rule that concerns the NUMA managers, and those of fields that stand in many files, in the
kubelet's order, all of them collected: the kubelet joins them into one text. Names of CPU and
memory policies and all policy options are not checked here but by the managers.
Kubelet v1.32: ``ValidateKubeletConfiguration``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from numalet.core.config import feature_gates
from numalet.core.config.feature_gates import FeatureGates
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.model import cpu_set, go_duration, resources
from numalet.core.model.findings import Finding, Findings
from numalet.core.model.go_text import GoText

TOPOLOGY_POLICIES: Final = ("none", "best-effort", "restricted", "single-numa-node")
TOPOLOGY_SCOPES: Final = ("container", "pod")

_PODS: Final = "pods"
_NONE: Final = "none"
_RESERVED_PAIRS: Final = (
    ("system-reserved", "system-reserved-compressible"),
    ("kube-reserved", "kube-reserved-compressible"),
)
_ENFORCE: Final = "enforceNodeAllocatable"
_DEFAULT_PERIOD_NS: Final = 100 * go_duration.MILLISECOND_NS
_HIGHEST_PORT: Final = 65535
_PORT_FLAGS: Final = {
    "healthzPort": "--healthz-port",
    "port": "--port",
    "readOnlyPort": "--read-only-port",
}
_OPTIONAL_PORTS: Final = ("healthzPort", "readOnlyPort")
_SWAP_BEHAVIORS: Final = ("", "LimitedSwap", "NoSwap")


def validate(config: KubeletConfig, gates: FeatureGates) -> tuple[Finding, ...]:
    """Everything that the kubelet's own validation finds, in its order."""
    findings = Findings()
    _validate_port("healthzPort", config.healthz_port, config, findings)
    _validate_quota_period(config, gates, findings)
    _validate_pods(config, findings)
    _validate_port("port", config.port, config, findings)
    _validate_port("readOnlyPort", config.read_only_port, config, findings)
    _validate_topology(config, findings)
    _validate_swap(config, gates, findings)
    _validate_enforcement(config, findings)
    _validate_reserved_cpus(config, findings)
    _validate_reserved_memory(config, findings)
    factor = config.memory_throttling_factor
    if not 0 < factor <= 1:
        _add(findings, config, "throttling-factor", "memoryThrottlingFactor", factor=factor)
    return findings.all


def _validate_port(place: str, port: int, config: KubeletConfig, findings: Findings) -> None:
    """A port must be one; 0 switches off what the kubelet can do without."""
    if not (0 if place in _OPTIONAL_PORTS else 1) <= port <= _HIGHEST_PORT:
        # The kubelet's text is silent about the 0 that switches the health check off.
        lowest = 0 if place == "readOnlyPort" else 1
        fields = {"field": place, "flag": _PORT_FLAGS[place], "port": port, "lowest": lowest}
        _add(findings, config, "port", place, **fields)


def _validate_quota_period(config: KubeletConfig, gates: FeatureGates, findings: Findings) -> None:
    period_ns, place = config.cpu_cfs_quota_period_ns, "cpuCFSQuotaPeriod"
    period = go_duration.text(period_ns)
    if not gates.enabled(feature_gates.CUSTOM_CPU_CFS_QUOTA_PERIOD):
        if period_ns != _DEFAULT_PERIOD_NS:
            _add(findings, config, "quota-period-needs-gate", place, period=period)
    elif not go_duration.MILLISECOND_NS <= period_ns <= go_duration.SECOND_NS:
        _add(findings, config, "quota-period", place, period=period)


def _validate_swap(config: KubeletConfig, gates: FeatureGates, findings: Findings) -> None:
    behavior, place = config.swap_behavior, "memorySwap.swapBehavior"
    if not gates.enabled(feature_gates.NODE_SWAP):
        if behavior:
            _add(findings, config, "swap-needs-gate", place, behavior=behavior)
    elif behavior not in _SWAP_BEHAVIORS:
        _add(findings, config, "swap-behavior", place, behavior=GoText(behavior))


def _validate_pods(config: KubeletConfig, findings: Findings) -> None:
    if config.max_pods < 0:
        _add(findings, config, "max-pods", "maxPods", count=config.max_pods)
    if config.pods_per_core < 0:
        _add(findings, config, "pods-per-core", "podsPerCore", count=config.pods_per_core)


def _validate_topology(config: KubeletConfig, findings: Findings) -> None:
    policy, scope = config.topology_manager_policy, config.topology_manager_scope
    if policy not in TOPOLOGY_POLICIES:
        place = "topologyManagerPolicy"
        _add(findings, config, "topology-policy", place, policy=GoText(policy))
    if scope not in TOPOLOGY_SCOPES:
        _add(findings, config, "topology-scope", "topologyManagerScope", scope=GoText(scope))


def _validate_enforcement(config: KubeletConfig, findings: Findings) -> None:
    keys = config.enforce_node_allocatable
    for whole, compressible in _RESERVED_PAIRS:
        if whole in keys and compressible in keys:
            fields = {"whole": GoText(whole), "compressible": GoText(compressible)}
            _add(findings, config, "enforce-both-forms", _ENFORCE, **fields)
    for index, key in enumerate(keys):
        place = f"{_ENFORCE}[{index}]"
        if key in keys[:index]:
            _add(findings, config, "enforce-duplicate", place, key=GoText(key))
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
        _add(findings, config, "enforce-unknown", place, key=GoText(key))
        return
    if pair is not None and not cgroups[_RESERVED_PAIRS.index(pair)]:
        owner = pair[0].removesuffix("-reserved")
        _add(findings, config, "enforce-without-cgroup", place, owner=owner, key=GoText(key))
    if not config.cgroups_per_qos:
        _add(findings, config, "enforce-without-qos-cgroups", place, key=GoText(key))


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
            fields = {"numa_node": entry.numa_node, "type": GoText(name)}
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
