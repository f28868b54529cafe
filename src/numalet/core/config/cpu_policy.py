"""The CPU Manager's policy, options and reserved CPUs, checked like in its constructor.

Only the static policy itself picks CPUs for its reservation; this module detects only that there
are too few. Kubelet v1.32: ``cpumanager.NewManager``, ``NewStaticPolicy``, ``getReservedCPUs``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from numalet.core.config import policy_options
from numalet.core.config.feature_gates import FeatureGates
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.node_allocatable import ResourceList
from numalet.core.config.releases.release import Release
from numalet.core.config.rules import CpuPolicy, CpuRules
from numalet.core.findings.config import ConfigReservedCpusNoTopology, ConfigReservedCpusOffline
from numalet.core.findings.managers import (
    ConfigCpuOptionsWithoutPolicy,
    ConfigCpuPolicy,
    ConfigCpuReservationMissing,
    ConfigCpuTopology,
    ConfigReservedCpusCount,
)
from numalet.core.findings.policy_options import (
    ConfigAlignBySocketSingleNode,
    ConfigAlignBySocketSockets,
)
from numalet.core.model import cpu_set, go_text, resources
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.findings import Findings
from numalet.core.model.go_text import GoText
from numalet.core.model.machine_info import MachineInfo
from numalet.core.model.value import replace

_PLACE: Final = "reservedSystemCPUs"
_SINGLE_NUMA_NODE: Final = "single-numa-node"


def reserved_system_cpus(config: KubeletConfig, machine: MachineInfo, findings: Findings) -> CpuSet:
    """Return ``reservedSystemCPUs``; empty if unset or refused."""
    if not config.reserved_system_cpus:
        return cpu_set.EMPTY
    problem = topology_problem(machine)
    where = config.where(_PLACE)
    if problem is not None:
        findings.add(ConfigReservedCpusNoTopology(problem=problem, where=where))
        return cpu_set.EMPTY
    try:
        chosen = cpu_set.parse(config.reserved_system_cpus)
    except cpu_set.CpuListError:
        return cpu_set.EMPTY  # Validation has reported it already.
    if not chosen.issubset(machine.cpu_ids):
        findings.add(
            ConfigReservedCpusOffline(
                cpus=config.reserved_system_cpus, online=cpu_set.text(machine.cpu_ids), where=where
            )
        )
        return cpu_set.EMPTY
    return chosen


def topology_problem(machine: MachineInfo) -> str | None:
    """Return the error with which the kubelet fails to discover the CPU topology.

    Kubelet v1.32: ``topology.Discover``.
    """
    if machine.cpu_count == 0:
        return "could not detect number of cpus"
    for node in machine.nodes:
        for core in node.cores:
            if not core.threads:
                return "no cpus provided"
            if len(set(core.threads)) != len(core.threads):
                return "cpus provided are not unique"
    return None


def resolve(
    config: KubeletConfig,
    machine: MachineInfo,
    release: Release,
    gates: FeatureGates,
    reservation: ResourceList | None,
    reserved_cpus: CpuSet,
    findings: Findings,
) -> CpuRules:
    """Return the CPU Manager's rules; report errors of its constructor.

    Without a ``reservation`` (it had errors), counts are not checked.
    """
    problem = topology_problem(machine)
    if problem is not None:
        findings.add(ConfigCpuTopology(problem=problem))
    match config.cpu_manager_policy:
        case CpuPolicy.NONE.value:
            _refuse_options(config, findings)
            return CpuRules()
        case CpuPolicy.STATIC.value:
            return _static(config, machine, release, gates, reservation, reserved_cpus, findings)
        case unknown:
            where = config.where("cpuManagerPolicy")
            findings.add(ConfigCpuPolicy(policy=GoText(unknown), where=where))
            return CpuRules()


def _refuse_options(config: KubeletConfig, findings: Findings) -> None:
    options = config.cpu_manager_policy_options
    if options:
        where = config.where("cpuManagerPolicyOptions")
        findings.add(ConfigCpuOptionsWithoutPolicy(options=go_text.map_text(options), where=where))


def _static(
    config: KubeletConfig,
    machine: MachineInfo,
    release: Release,
    gates: FeatureGates,
    reservation: ResourceList | None,
    reserved_cpus: CpuSet,
    findings: Findings,
) -> CpuRules:
    if config.reserved_system_cpus and not reserved_cpus:
        reservation = None  # The list was refused already; how many it means is not known.
    count = _reserved_count(config, reservation, findings)
    options = policy_options.cpu_options(config, release, gates, findings)
    if options[policy_options.ALIGN_BY_SOCKET]:
        _check_align_by_socket(config, machine, findings)
    if count is not None:
        _check_count(config, machine, count, reserved_cpus, findings)
    rules = _rules(options, count or 0, reserved_cpus)
    of_release = release.rules_with(gates.enabled)
    return replace(
        rules,
        odd_requests_drop_one_cpu=of_release.odd_requests_drop_one_cpu,
        kept_cpus_may_break_cores=of_release.kept_cpus_may_break_cores,
        one_socket_is_preferred=of_release.one_socket_is_preferred,
    )


def _reserved_count(
    config: KubeletConfig, reservation: ResourceList | None, findings: Findings
) -> int | None:
    """Return the reservation rounded up to whole CPUs."""
    if reservation is None:
        return None
    if resources.CPU not in reservation:
        findings.add(ConfigCpuReservationMissing(where=config.where("kubeReserved.cpu")))
        return None
    return -(-reservation[resources.CPU].milli_value // 1000)


def _check_align_by_socket(config: KubeletConfig, machine: MachineInfo, findings: Findings) -> None:
    where = config.where(f"cpuManagerPolicyOptions.{policy_options.ALIGN_BY_SOCKET}")
    if config.topology_manager_policy == _SINGLE_NUMA_NODE:
        findings.add(ConfigAlignBySocketSingleNode(where=where))
    # NUMA nodes without CPUs do not count in the kubelet's CPU topology.
    nodes_with_cpus = sum(1 for node in machine.nodes if node.cores)
    if machine.socket_count > nodes_with_cpus:
        findings.add(
            ConfigAlignBySocketSockets(
                sockets=machine.socket_count, numa_nodes=nodes_with_cpus, where=where
            )
        )


def _check_count(
    config: KubeletConfig,
    machine: MachineInfo,
    count: int,
    reserved_cpus: CpuSet,
    findings: Findings,
) -> None:
    chosen = reserved_cpus
    # Without a list the static policy picks the CPUs when it starts; see ``managers.cpu.reserved``.
    if not chosen and count <= len(machine.cpu_ids):
        return
    if len(chosen) != count:
        findings.add(
            ConfigReservedCpusCount(
                cpus=cpu_set.text(chosen), count=count, where=config.where(_PLACE)
            )
        )


def _rules(options: Mapping[str, bool], count: int, reserved_cpus: CpuSet) -> CpuRules:
    return CpuRules(
        policy=CpuPolicy.STATIC,
        full_pcpus_only=options[policy_options.FULL_PCPUS_ONLY],
        distribute_cpus_across_numa=options[policy_options.DISTRIBUTE_ACROSS_NUMA],
        align_by_socket=options[policy_options.ALIGN_BY_SOCKET],
        distribute_cpus_across_cores=options[policy_options.DISTRIBUTE_ACROSS_CORES],
        strict_cpu_reservation=options[policy_options.STRICT_RESERVATION],
        prefer_align_cpus_by_uncore_cache=options[policy_options.PREFER_UNCORE_CACHE],
        reserved_count=count,
        reserved_cpus=reserved_cpus or None,
    )
