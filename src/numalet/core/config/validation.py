"""What the kubelet checks of a configuration before it examines the machine.

Every rule that concerns the NUMA managers, and those of fields that stand in many files, in the
kubelet's order, all of them collected: the kubelet joins them into one text. Names of CPU and
memory policies and all policy options are not checked here but by the managers.
Kubelet v1.32: ``ValidateKubeletConfiguration``.
"""

from __future__ import annotations

from typing import Final

from numalet.core.config import feature_gates, housekeeping_checks
from numalet.core.config.feature_gates import FeatureGates
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.releases.release import ReleaseRules
from numalet.core.findings.config import (
    ConfigMaxPods,
    ConfigPodsPerCore,
    ConfigPort,
    ConfigQuotaPeriod,
    ConfigQuotaPeriodNeedsGate,
    ConfigReservedCpus,
    ConfigReservedCpusWithCgroups,
    ConfigSwapBehavior,
    ConfigSwapNeedsGate,
    ConfigThrottlingFactor,
    ConfigTopologyPolicy,
    ConfigTopologyScope,
)
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


def validate(
    config: KubeletConfig, rules: ReleaseRules, gates: FeatureGates
) -> tuple[Finding, ...]:
    """Everything that the kubelet's own validation finds, in its order."""
    findings = Findings()
    housekeeping_checks.check_lease_and_events(config, findings)
    _validate_port("healthzPort", config.healthz_port, config, findings)
    _validate_quota_period(config, gates, findings)
    housekeeping_checks.check_images_and_rates(config, rules, gates, findings)
    _validate_pods(config, findings)
    _validate_port("port", config.port, config, findings)
    _validate_port("readOnlyPort", config.read_only_port, config, findings)
    housekeeping_checks.check_pulls(config, rules, gates, findings)
    _validate_topology(config, findings)
    housekeeping_checks.check_shutdown(config, gates, findings)
    _validate_swap(config, gates, findings)
    housekeeping_checks.check_restart_period(config, gates, findings)
    _validate_enforcement(config, findings)
    housekeeping_checks.check_verification(config, rules, gates, findings)
    _validate_reserved_cpus(config, findings)
    _validate_reserved_memory(config, findings)
    housekeeping_checks.check_user_namespaces(config, rules, findings)
    housekeeping_checks.check_tracing(config, gates, findings)
    factor = config.memory_throttling_factor
    if not 0 < factor <= 1:
        findings.add(
            ConfigThrottlingFactor(factor=factor, where=config.where("memoryThrottlingFactor"))
        )
    housekeeping_checks.check_memory_reservation(config, rules, gates, findings)
    housekeeping_checks.check_logs(config, rules, gates, findings)
    return findings.all


def _validate_port(place: str, port: int, config: KubeletConfig, findings: Findings) -> None:
    """A port must be one; 0 switches off what the kubelet can do without."""
    if not (0 if place in _OPTIONAL_PORTS else 1) <= port <= _HIGHEST_PORT:
        # The kubelet's text is silent about the 0 that switches the health check off.
        lowest = 0 if place == "readOnlyPort" else 1
        findings.add(
            ConfigPort(
                field=place,
                flag=_PORT_FLAGS[place],
                port=port,
                lowest=lowest,
                where=config.where(place),
            )
        )


def _validate_quota_period(config: KubeletConfig, gates: FeatureGates, findings: Findings) -> None:
    period_ns, place = config.cpu_cfs_quota_period_ns, "cpuCFSQuotaPeriod"
    period = go_duration.text(period_ns)
    if not gates.enabled(feature_gates.CUSTOM_CPU_CFS_QUOTA_PERIOD):
        if period_ns != _DEFAULT_PERIOD_NS:
            findings.add(ConfigQuotaPeriodNeedsGate(period=period, where=config.where(place)))
    elif not go_duration.MILLISECOND_NS <= period_ns <= go_duration.SECOND_NS:
        findings.add(ConfigQuotaPeriod(period=period, where=config.where(place)))


def _validate_swap(config: KubeletConfig, gates: FeatureGates, findings: Findings) -> None:
    behavior, place = config.swap_behavior, "memorySwap.swapBehavior"
    if not gates.enabled(feature_gates.NODE_SWAP):
        if behavior:
            findings.add(ConfigSwapNeedsGate(behavior=behavior, where=config.where(place)))
    elif behavior not in _SWAP_BEHAVIORS:
        findings.add(ConfigSwapBehavior(behavior=GoText(behavior), where=config.where(place)))


def _validate_pods(config: KubeletConfig, findings: Findings) -> None:
    if config.max_pods < 0:
        findings.add(ConfigMaxPods(count=config.max_pods, where=config.where("maxPods")))
    housekeeping_checks.check_oom_score(config, findings)
    if config.pods_per_core < 0:
        findings.add(
            ConfigPodsPerCore(count=config.pods_per_core, where=config.where("podsPerCore"))
        )


def _validate_topology(config: KubeletConfig, findings: Findings) -> None:
    policy, scope = config.topology_manager_policy, config.topology_manager_scope
    if policy not in TOPOLOGY_POLICIES:
        place = "topologyManagerPolicy"
        findings.add(ConfigTopologyPolicy(policy=GoText(policy), where=config.where(place)))
    if scope not in TOPOLOGY_SCOPES:
        findings.add(
            ConfigTopologyScope(scope=GoText(scope), where=config.where("topologyManagerScope"))
        )


def _validate_enforcement(config: KubeletConfig, findings: Findings) -> None:
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


def _validate_enforcement_key(
    config: KubeletConfig, key: str, place: str, findings: Findings
) -> None:
    """One enforcement; ``none`` and unknown ones skip the check of the QoS cgroups."""
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


def _validate_reserved_cpus(config: KubeletConfig, findings: Findings) -> None:
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


def _validate_reserved_memory(config: KubeletConfig, findings: Findings) -> None:
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
