"""A kubelet's start, as far as configuration and machine decide it.

``resolve`` runs the kubelet's stages in its order. The first stage with a finding refuses the
start, and its findings make up the kubelet's own text. The other stages run too, so that one run
shows every error. State files and ``check_node_allocatable`` follow later.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from numalet.core.config import (
    command_flags,
    cpu_policy,
    feature_gates,
    memory_policy,
    node_allocatable,
    own_limits,
    policy_options,
    topology_policy,
    validation,
)
from numalet.core.config.behaviour import EXACT, Behaviour
from numalet.core.config.feature_gates import FeatureGates, GateProblem
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.node_allocatable import ResourceList
from numalet.core.config.releases.release import Release, ReleaseRules
from numalet.core.config.rules import NodeRules, StartRefused, StartStage
from numalet.core.findings.config import (
    ConfigGateLockedInFile,
    ConfigGateLockedInFlag,
    ConfigGateNeedsInFile,
    ConfigGateNeedsInFlag,
    ConfigGateUnknownInFile,
    ConfigGateUnknownInFlag,
    GateNeeds,
)
from numalet.core.model import resources
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.findings import Finding, Findings
from numalet.core.model.machine_info import MachineInfo, OperatingSystem
from numalet.core.model.value import Mutable, field, replace

_JOINED: Final = (StartStage.CONFIG_DECODE, StartStage.CONFIG_VALIDATION)
"""The kubelet joins the findings of these stages into one text; others stop at the first."""

FEATURE_GATES_FLAG: Final = "--feature-gates"


class _Stages(Mutable):
    _stages: list[tuple[StartStage, Findings]] = field(default_factory=list)

    def begin(self, stage: StartStage) -> Findings:
        findings = Findings()
        self._stages.append((stage, findings))
        return findings

    def refusal(self) -> StartRefused | None:
        bad = [(stage, findings.all) for stage, findings in self._stages if findings.all]
        if not bad:
            return None
        stage, first = bad[0]
        # The kubelet shows only the first finding of most stages.
        own = len(first) if stage in _JOINED else 1
        later = [finding for _, findings in bad[1:] for finding in findings]
        return StartRefused(stage, first[:own], _without_repeats((*first[own:], *later)))


def resolve(
    config: KubeletConfig,
    machine: MachineInfo,
    *,
    behaviour: Behaviour = EXACT,
) -> NodeRules | StartRefused:
    """Return the rules of a kubelet with this configuration on this machine, or its refusal."""
    release = behaviour.release
    stages = _Stages()
    stages.begin(StartStage.FLAGS).extend(command_flags.problems(config.flags, release))
    # With values of a wrong type nothing further can be checked.
    if config.undecoded:
        refused = stages.refusal()
        return refused or StartRefused(
            StartStage.CONFIG_DECODE, config.undecoded[:1], config.undecoded[1:]
        )
    gates = _gates(config, release, stages)
    release_rules = release.rules_with(gates.enabled)
    config = node_allocatable.with_default_eviction(config, release_rules, machine.os)
    stages.begin(StartStage.CONFIG_VALIDATION).extend(
        validation.validate(config, release_rules, gates)
    )
    cpus = cpu_policy.reserved_system_cpus(config, machine, stages.begin(StartStage.RESERVED_CPUS))
    reservation = _reservation(config, machine, cpus, release_rules, stages)
    policy_options.check_gates(config, gates, stages.begin(StartStage.POLICY_OPTIONS))
    rules = NodeRules(
        machine=machine,
        reservation=reservation or {},
        behaviour=behaviour,
        release_rules=release_rules,
        max_pods=_most_pods(config, machine),
    )
    # Without the gate, the managers on Windows have no configuration to check.
    if _has_stand_ins(machine, gates):
        return stages.refusal() or replace(rules, managers_are_stand_ins=True)
    topology = topology_policy.resolve(
        config,
        machine,
        release_rules,
        gates,
        behaviour,
        stages.begin(StartStage.TOPOLOGY_MANAGER),
    )
    cpu = cpu_policy.resolve(
        config, machine, release, gates, reservation, cpus, stages.begin(StartStage.CPU_MANAGER)
    )
    memory = memory_policy.resolve(
        config, machine, reservation, behaviour, stages.begin(StartStage.MEMORY_MANAGER)
    )
    own_limits.check(config, machine, topology, memory, behaviour, stages.begin(StartStage.NUMALET))
    return stages.refusal() or replace(rules, topology=topology, cpu=cpu, memory=memory)


def _most_pods(config: KubeletConfig, machine: MachineInfo) -> int:
    """Return the maximum number of pods. Kubelet: ``nodestatus.MachineInfo``, v1.32."""
    if config.pods_per_core <= 0:
        return config.max_pods
    return min(machine.cpu_count * config.pods_per_core, config.max_pods)


def check_node_allocatable(rules: NodeRules) -> StartRefused | None:
    """Refuse a reservation above capacity; the kubelet checks it after the managers' start."""
    findings = node_allocatable.check(rules.machine, rules.reservation)
    return StartRefused(StartStage.NODE_ALLOCATABLE, findings) if findings else None


def _gates(config: KubeletConfig, release: Release, stages: _Stages) -> FeatureGates:
    """Return the feature gates; those of flags are set first and have other error texts."""
    by_flag = {name for name in config.feature_gates if _is_flag(config, name)}
    by_file = set(config.feature_gates) - by_flag
    settings: dict[str, bool] = {}
    for names, unknown, locked, needs in (
        (by_flag, ConfigGateUnknownInFlag, ConfigGateLockedInFlag, ConfigGateNeedsInFlag),
        (by_file, ConfigGateUnknownInFile, ConfigGateLockedInFile, ConfigGateNeedsInFile),
    ):
        findings = stages.begin(StartStage.CONFIG_DECODE)
        for name in sorted(names):
            where, value = config.where(f"featureGates.{name}"), config.feature_gates[name]
            problem = feature_gates.problem(name, value, release)
            if problem is GateProblem.UNKNOWN:
                findings.add(unknown(gate=name, release=release.name, where=where))
            elif problem is GateProblem.LOCKED:
                shown, locked_to = _go_bool(value), _go_bool(not value)
                findings.add(locked(gate=name, value=shown, locked_to=locked_to, where=where))
        settings |= {name: config.feature_gates[name] for name in names}
        # As in the kubelet, dependencies are checked only after all settings were accepted.
        if names and not findings.all:
            findings.extend(_unmet(settings, release, needs, config))
    return feature_gates.with_settings(config.feature_gates, release)


def _unmet(
    settings: Mapping[str, bool], release: Release, needs: type[GateNeeds], config: KubeletConfig
) -> Iterator[Finding]:
    """Yield gates that are on while a gate they depend on is off, at the setting that causes it."""
    for gate, missing in feature_gates.unmet(settings, release).items():
        cause = next((name for name in (*missing, gate) if name in settings), None)
        where = config.where("featureGates" if cause is None else f"featureGates.{cause}")
        yield needs(gate=gate, needed=", ".join(missing), where=where)


def _is_flag(config: KubeletConfig, gate: str) -> bool:
    where = config.where(f"featureGates.{gate}")
    return FEATURE_GATES_FLAG in (where.document, where.path)


def _go_bool(value: bool) -> str:
    return "true" if value else "false"


def _reservation(
    config: KubeletConfig,
    machine: MachineInfo,
    cpus: CpuSet,
    rules: ReleaseRules,
    stages: _Stages,
) -> ResourceList | None:
    """Return the node allocatable reservation; None if a part of it is invalid."""
    kube_amounts: Mapping[str, str] = config.kube_reserved
    system_amounts: Mapping[str, str] = config.system_reserved
    if cpus:
        # A list of CPUs always wins over amounts of them.
        kube_amounts = {k: v for k, v in kube_amounts.items() if k != resources.CPU}
        system_amounts = {**system_amounts, resources.CPU: str(len(cpus))}
    collectors = [
        stages.begin(stage) for stage in (StartStage.KUBE_RESERVED, StartStage.SYSTEM_RESERVED)
    ]
    kube = node_allocatable.parse_reserved(
        config, "kubeReserved", kube_amounts, collectors[0], rules
    )
    system = node_allocatable.parse_reserved(
        config, "systemReserved", system_amounts, collectors[1], rules
    )
    collectors.append(stages.begin(StartStage.EVICTION_HARD))
    thresholds = node_allocatable.parse_eviction(config, collectors[2])
    if any(findings.all for findings in collectors):
        return None
    reserving = {} if config.ignore_hard_eviction else thresholds
    return node_allocatable.reservation(machine, system, kube, reserving)


def _has_stand_ins(machine: MachineInfo, gates: FeatureGates) -> bool:
    return machine.os is OperatingSystem.WINDOWS and not gates.enabled(
        feature_gates.WINDOWS_CPU_AND_MEMORY_AFFINITY
    )


def _without_repeats(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Drop findings that repeat another one at the same place."""
    seen: dict[tuple[str, str], Finding] = {}
    for finding in findings:
        seen.setdefault((finding.code, repr((finding.where, finding.fields))), finding)
    return tuple(seen.values())
