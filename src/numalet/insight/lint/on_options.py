"""Rules about policies, options and gates, the number of nodes, the CPUs, and the kernel."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from numalet.core.admission import roster
from numalet.core.config import cpu_policy, node_allocatable, policy_options
from numalet.core.config.feature_gates import (
    CPU_MANAGER_POLICY_ALPHA_OPTIONS,
    CPU_MANAGER_POLICY_BETA_OPTIONS,
    TOPOLOGY_MANAGER_POLICY_ALPHA_OPTIONS,
    TOPOLOGY_MANAGER_POLICY_BETA_OPTIONS,
)
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.releases import table
from numalet.core.config.releases.release import Maturity
from numalet.core.config.rules import CpuPolicy, CpuRules, MemoryPolicy, NodeRules, TopologyPolicy
from numalet.core.managers.cpu import cpu_mask, static_policy, topology
from numalet.core.model import cpu_set, resources
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.findings import Finding, Findings, Severity
from numalet.core.model.quantity import ZERO
from numalet.core.node import largest_request
from numalet.insight.lint.option_findings import (
    LintAlignmentWithoutHints,
    LintCpuPolicyMayHang,
    LintCpuReservationOverridden,
    LintDistancesBeyondRows,
    LintFieldOfALaterRelease,
    LintManyNodes,
    LintManyNodesAreSlow,
    LintMaxAllowableNotANumber,
    LintNumaBalancing,
    LintOptionWithoutGate,
    LintPageSizeNotEverywhere,
    LintPartOfACpuReserved,
    LintReservedCpusSplitCores,
    LintStrictReservation,
    LintTopologyOptionsNotRead,
)
from numalet.insight.lint.subject import LintSubject

_TOPOLOGY: Final = "topologyManagerPolicyOptions"
_CPU: Final = "cpuManagerPolicyOptions"
_DEFAULT_LIMIT: Final = 8
_LEAST_TO_HANG: Final = 4
_GATES: Final = {
    (_TOPOLOGY, Maturity.ALPHA): TOPOLOGY_MANAGER_POLICY_ALPHA_OPTIONS,
    (_TOPOLOGY, Maturity.BETA): TOPOLOGY_MANAGER_POLICY_BETA_OPTIONS,
    (_CPU, Maturity.ALPHA): CPU_MANAGER_POLICY_ALPHA_OPTIONS,
    (_CPU, Maturity.BETA): CPU_MANAGER_POLICY_BETA_OPTIONS,
}
_WORDS: Final = ("true", "false", "yes", "no", "on", "off", "")


def node_limit_is_a_word(subject: LintSubject) -> Iterator[Finding]:
    """A page of the Kubernetes documentation had max-allowable-numa-nodes=true."""
    options = subject.config.topology_manager_policy_options or {}
    value = options.get(policy_options.MAX_ALLOWABLE)
    if value is not None and value.strip().lower() in _WORDS:
        where = subject.config.where(f"{_TOPOLOGY}.{policy_options.MAX_ALLOWABLE}")
        severity = Severity.ERROR if subject.aligns else Severity.WARNING
        yield LintMaxAllowableNotANumber(
            value=value,
            nodes=max(len(subject.machine.nodes), _DEFAULT_LIMIT + 1),
            where=where,
            severity=severity,
        )


def many_nodes(subject: LintSubject) -> Iterator[Finding]:
    nodes = len(subject.machine.nodes)
    if nodes <= _DEFAULT_LIMIT or subject.behaviour.default_node_limit is None:
        return
    where = subject.config.where("topologyManagerPolicy")
    if not subject.aligns:
        yield LintManyNodes(nodes=nodes, limit=_DEFAULT_LIMIT, where=where)
    elif policy_options.MAX_ALLOWABLE in (subject.config.topology_manager_policy_options or {}):
        yield LintManyNodesAreSlow(nodes=nodes, limit=_DEFAULT_LIMIT, where=where)


def options_not_read(subject: LintSubject) -> Iterator[Finding]:
    options = subject.config.topology_manager_policy_options
    if options and not subject.aligns:
        where = subject.config.where(_TOPOLOGY)
        yield LintTopologyOptionsNotRead(options=", ".join(sorted(options)), where=where)


def options_without_gate(subject: LintSubject) -> Iterator[Finding]:
    """Report options that prevent the start once their policy is chosen."""
    config = subject.config
    if not subject.aligns:
        options = config.topology_manager_policy_options or {}
        yield from _without_gate(subject, _TOPOLOGY, options, subject.release.topology_options)
    if config.cpu_manager_policy == CpuPolicy.NONE.value:
        options = config.cpu_manager_policy_options or {}
        yield from _without_gate(subject, _CPU, options, subject.release.cpu_options)


def _without_gate(
    subject: LintSubject, place: str, options: Mapping[str, str], known: Mapping[str, Maturity]
) -> Iterator[Finding]:
    for name in sorted(options):
        gate = _GATES.get((place, known[name])) if name in known else None
        if gate is not None and not subject.gates.enabled(gate):
            where = subject.config.where(f"{place}.{name}")
            yield LintOptionWithoutGate(
                option=name, maturity=known[name].value, gate=gate, where=where
            )


def fields_of_later_releases(subject: LintSubject) -> Iterator[Finding]:
    """Kubelet v1.32: ``configfiles.fsLoader``, lenient decoding."""
    for field in sorted(table.NEWEST.fields - subject.release.fields):
        if any(re.match(rf"{field}\b", place) for place in subject.config.origins):
            yield LintFieldOfALaterRelease(
                field=field,
                release=subject.release.name,
                since=next(each.name for each in table.RELEASES if field in each.fields),
                where=subject.config.where(field),
            )


def alignment_without_hints(subject: LintSubject) -> Iterator[Finding]:
    # A note only: the node may have devices that are not known, as nodes with GPUs are set up this
    # way. Known devices give hints, so nothing is reported with them.
    config = subject.config
    policies = {policy.value for policy in TopologyPolicy} - {TopologyPolicy.NONE.value}
    both_off = (
        config.cpu_manager_policy == CpuPolicy.NONE.value
        and config.memory_manager_policy == MemoryPolicy.NONE.value
    )
    if config.topology_manager_policy in policies and both_off and not subject.devices:
        where = config.where("topologyManagerPolicy")
        yield LintAlignmentWithoutHints(policy=config.topology_manager_policy, where=where)


def cpu_reservation_overridden(subject: LintSubject) -> Iterator[Finding]:
    """Kubelet v1.32: ``run`` in ``cmd/kubelet/app``."""
    config = subject.config
    # Invalid values are reported by the start, so their findings are dropped here.
    count = len(cpu_policy.reserved_system_cpus(config, subject.machine, Findings()))
    amounts = {}
    for place, texts in (
        ("kubeReserved", config.kube_reserved),
        ("systemReserved", config.system_reserved),
    ):
        parsed = node_allocatable.parse_reserved(config, place, texts or {}, Findings())
        if resources.CPU in parsed:
            amounts[f"{place}.{resources.CPU}"] = parsed[resources.CPU]
    if not count or sum(amount.milli_value for amount in amounts.values()) == count * 1000:
        return
    for field, amount in amounts.items():
        where = config.where(field)
        yield LintCpuReservationOverridden(field=field, amount=amount, cpus=count, where=where)


def part_of_a_cpu(subject: LintSubject, rules: NodeRules) -> Iterator[Finding]:
    """Report a fraction: the static policy rounds it up, allocatable does not."""
    reserved = rules.reservation.get(resources.CPU, ZERO)
    if _is_static(rules.cpu) and reserved.milli_value % 1000:
        where = subject.config.where("kubeReserved.cpu")
        yield LintPartOfACpuReserved(reserved=reserved, cpus=rules.cpu.reserved_count, where=where)


def may_hang(subject: LintSubject, rules: NodeRules) -> Iterator[Finding]:
    split = _split_cores(subject, rules.cpu.reserved_cpus or cpu_set.EMPTY)
    if _is_static(rules.cpu) and split and _can_hang(rules):
        where = subject.config.where(f"{_CPU}.{policy_options.DISTRIBUTE_ACROSS_NUMA}")
        yield LintCpuPolicyMayHang(
            cores=", ".join(f"{{{','.join(map(str, core))}}}" for core in split), where=where
        )


def split_cores(subject: LintSubject, rules: NodeRules) -> Iterator[Finding]:
    cpu = rules.cpu
    # CPUs that the policy chooses itself matter only with full-pcpus-only, which wastes the
    # sibling.
    if not _is_static(cpu) or not (cpu.reserved_cpus or cpu.full_pcpus_only):
        return
    policy = static_policy.build(cpu, topology.discover(rules.machine))
    if isinstance(policy, Finding):
        return
    reserved = cpu_mask.to_set(policy.reserved.cpus)
    whole = frozenset().union(*_split_cores(subject, reserved))
    is_named = cpu.reserved_cpus is not None
    if whole and not (is_named and _can_hang(rules)):
        where = subject.config.where("reservedSystemCPUs" if is_named else "kubeReserved.cpu")
        yield LintReservedCpusSplitCores(
            reserved=cpu_set.text(whole & reserved),
            siblings=cpu_set.text(whole - reserved),
            whole=cpu_set.text(whole | reserved),
            where=where,
        )


def _can_hang(rules: NodeRules) -> bool:
    """Return whether the free threads of some NUMA nodes are enough, and their whole cores not.

    After equal shares, less than a core for each node remains to be taken. Several nodes with one
    core or more each lack a core only if three cores remain, so four nodes take part.
    Kubelet v1.32: ``takeByTopologyNUMADistributed``.
    """
    cpu = rules.cpu
    size = largest_request.unit_of(rules, resources.CPU)
    reserved = cpu.reserved_cpus or cpu_set.EMPTY
    free = [
        sum(len({*core.threads} - reserved) for core in each.cores) for each in rules.machine.nodes
    ]
    return (
        cpu.full_pcpus_only
        and cpu.distribute_cpus_across_numa
        and rules.topology.policy is not TopologyPolicy.SINGLE_NUMA_NODE
        and sum(map(bool, free)) >= _LEAST_TO_HANG
        and sum(each % size for each in free) >= size
    )


def _split_cores(subject: LintSubject, reserved: CpuSet) -> list[tuple[int, ...]]:
    cores = (core.threads for node in subject.machine.nodes for core in node.cores)
    return [core for core in cores if 0 < len(reserved.intersection(core)) < len(core)]


def strict_reservation(subject: LintSubject, rules: NodeRules) -> Iterator[Finding]:
    if not _is_static(rules.cpu) or not rules.cpu.strict_cpu_reservation:
        return
    policy = static_policy.build(rules.cpu, topology.discover(rules.machine))
    if isinstance(policy, Finding):
        return
    pool = policy.initial_default
    # With full-pcpus-only, cores with a reserved thread are never allocated, so a pool may remain.
    if pool and len(pool) == policy.most_at_once(pool):
        where = subject.config.where(f"{_CPU}.{policy_options.STRICT_RESERVATION}")
        yield LintStrictReservation(cpus=len(pool), where=where)


def distances_beyond_rows(subject: LintSubject, rules: NodeRules) -> Iterator[Finding]:
    distances = roster.distances(rules)
    # ``readable_ids`` is set only if ids have gaps; then some comparisons crash the kubelet.
    if distances is not None and distances.readable_ids is not None:
        where = subject.config.where(f"{_TOPOLOGY}.{policy_options.PREFER_CLOSEST}")
        yield LintDistancesBeyondRows(
            numa_node=max(subject.machine.node_ids),
            places=min(distances.readable_ids.values()),
            numa_nodes=", ".join(map(str, subject.machine.node_ids)),
            where=where,
        )


def page_size_not_everywhere(subject: LintSubject) -> Iterator[Finding]:
    if not subject.pins_memory:
        return
    nodes = {
        node.node_id: {pages.page_size_kib for pages in node.hugepages}
        for node in subject.machine.nodes
    }
    for size in sorted(set().union(*nodes.values())):
        lacking = [node_id for node_id in sorted(nodes) if size not in nodes[node_id]]
        if lacking:
            where = subject.config.where("memoryManagerPolicy")
            yield LintPageSizeNotEverywhere(
                type=resources.hugepages_name(size),
                numa_nodes=", ".join(map(str, lacking)),
                where=where,
            )


def numa_balancing(subject: LintSubject) -> Iterator[Finding]:
    if subject.numa_balancing and len(subject.machine.nodes) > 1 and _pins(subject):
        where = subject.config.where(_pinning_field(subject.config))
        yield LintNumaBalancing(value=subject.numa_balancing, where=where)


def _pins(subject: LintSubject) -> bool:
    return subject.pins_memory or subject.config.cpu_manager_policy == CpuPolicy.STATIC.value


def _pinning_field(config: KubeletConfig) -> str:
    is_static = config.cpu_manager_policy == CpuPolicy.STATIC.value
    return "cpuManagerPolicy" if is_static else "memoryManagerPolicy"


def _is_static(cpu: CpuRules) -> bool:
    return cpu.policy is CpuPolicy.STATIC
