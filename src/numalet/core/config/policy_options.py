"""Options of the topology and CPU policies: maturity, feature gate, values.

The kubelet checks options in random order and reports the first bad one; here they are checked by
name and all bad ones are reported. Kubelet v1.32: ``NewPolicyOptions``, ``NewStaticPolicyOptions``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from numalet.core.config import feature_gates
from numalet.core.config.feature_gates import FeatureGates
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.releases.release import Maturity, Release, ReleaseRules
from numalet.core.findings.policy_options import (
    ConfigCpuOptionNeedsGate,
    ConfigCpuOptionNotBoolean,
    ConfigCpuOptionsExclude,
    ConfigCpuOptionsNeedGate,
    ConfigCpuOptionUnknown,
    ConfigTopologyNodeLimit,
    ConfigTopologyOptionNeedsGate,
    ConfigTopologyOptionNotBoolean,
    ConfigTopologyOptionNotInteger,
    ConfigTopologyOptionsNeedGate,
    ConfigTopologyOptionUnknown,
    OptionNeedsGate,
    OptionNotBoolean,
    OptionsNeedGate,
    OptionUnknown,
)
from numalet.core.model import go_text
from numalet.core.model.findings import Findings
from numalet.core.model.go_text import GoNumberError, GoText
from numalet.core.model.value import Value

PREFER_CLOSEST: Final = "prefer-closest-numa-nodes"
MAX_ALLOWABLE: Final = "max-allowable-numa-nodes"
FULL_PCPUS_ONLY: Final = "full-pcpus-only"
DISTRIBUTE_ACROSS_NUMA: Final = "distribute-cpus-across-numa"
ALIGN_BY_SOCKET: Final = "align-by-socket"
DISTRIBUTE_ACROSS_CORES: Final = "distribute-cpus-across-cores"
STRICT_RESERVATION: Final = "strict-cpu-reservation"
PREFER_UNCORE_CACHE: Final = "prefer-align-cpus-by-uncorecache"

LEAST_NODE_LIMIT: Final = 8
"""The minimum of max-allowable-numa-nodes."""

_EXCLUDE_EACH_OTHER: Final = (
    (FULL_PCPUS_ONLY, DISTRIBUTE_ACROSS_CORES),
    (DISTRIBUTE_ACROSS_NUMA, DISTRIBUTE_ACROSS_CORES),
    (PREFER_UNCORE_CACHE, DISTRIBUTE_ACROSS_CORES),
    (PREFER_UNCORE_CACHE, DISTRIBUTE_ACROSS_NUMA),
)


class TopologyOptions(Value):
    """Options of the Topology Manager; ``node_limit`` None: no limit."""

    prefer_closest: bool
    node_limit: int | None


class _Manager(Value):
    place: str
    name: str
    gate: str
    gates: Mapping[Maturity, str]
    """The gate of each maturity; stable options need no gate."""
    all_need_gate: type[OptionsNeedGate]
    unknown: type[OptionUnknown]
    needs_gate: type[OptionNeedsGate]
    not_boolean: type[OptionNotBoolean]


_CPU: Final = _Manager(
    place="cpuManagerPolicyOptions",
    name="CPU Manager Policy",
    gate=feature_gates.CPU_MANAGER_POLICY_OPTIONS,
    gates={
        Maturity.ALPHA: feature_gates.CPU_MANAGER_POLICY_ALPHA_OPTIONS,
        Maturity.BETA: feature_gates.CPU_MANAGER_POLICY_BETA_OPTIONS,
    },
    all_need_gate=ConfigCpuOptionsNeedGate,
    unknown=ConfigCpuOptionUnknown,
    needs_gate=ConfigCpuOptionNeedsGate,
    not_boolean=ConfigCpuOptionNotBoolean,
)
_TOPOLOGY: Final = _Manager(
    place="topologyManagerPolicyOptions",
    name="Topology Manager Policy",
    gate=feature_gates.TOPOLOGY_MANAGER_POLICY_OPTIONS,
    gates={
        Maturity.ALPHA: feature_gates.TOPOLOGY_MANAGER_POLICY_ALPHA_OPTIONS,
        Maturity.BETA: feature_gates.TOPOLOGY_MANAGER_POLICY_BETA_OPTIONS,
    },
    all_need_gate=ConfigTopologyOptionsNeedGate,
    unknown=ConfigTopologyOptionUnknown,
    needs_gate=ConfigTopologyOptionNeedsGate,
    not_boolean=ConfigTopologyOptionNotBoolean,
)


def check_gates(config: KubeletConfig, gates: FeatureGates, findings: Findings) -> None:
    """Report option maps whose feature gate is off.

    An empty map counts, too. Kubelet v1.32: ``run`` in ``cmd/kubelet/app/server.go``.
    """
    for manager, options in (
        (_CPU, config.cpu_manager_policy_options),
        (_TOPOLOGY, config.topology_manager_policy_options),
    ):
        if options is not None and not gates.enabled(manager.gate):
            findings.add(
                manager.all_need_gate(
                    options=go_text.map_text(options),
                    gate=manager.gate,
                    where=config.where(manager.place),
                )
            )


def topology_options(
    config: KubeletConfig,
    release: Release,
    release_rules: ReleaseRules,
    gates: FeatureGates,
    default_limit: int | None,
    findings: Findings,
) -> TopologyOptions:
    """Return the Topology Manager's options; bad ones keep their default and are reported.

    ``default_limit`` None removes the limit; the value of max-allowable-numa-nodes is still
    checked.
    """
    prefer_closest, limit = False, default_limit
    lower_case = release_rules.topology_option_levels_are_lower_case
    for name, value in sorted((config.topology_manager_policy_options or {}).items()):
        options = release.topology_options
        if not _is_available(
            _TOPOLOGY, options, name, config, gates, findings, lower_case=lower_case
        ):
            continue
        if name == PREFER_CLOSEST:
            prefer_closest = _boolean(_TOPOLOGY, name, value, config, findings)
        else:
            given = _node_limit(name, value, default_limit or LEAST_NODE_LIMIT, config, findings)
            limit = None if default_limit is None else given
    return TopologyOptions(prefer_closest, limit)


def cpu_options(
    config: KubeletConfig, release: Release, gates: FeatureGates, findings: Findings
) -> Mapping[str, bool]:
    """Return the static CPU policy's options; bad ones are off and reported."""
    options = dict.fromkeys(release.cpu_options, False)
    for name, value in sorted((config.cpu_manager_policy_options or {}).items()):
        if _is_available(_CPU, release.cpu_options, name, config, gates, findings):
            options[name] = _boolean(_CPU, name, value, config, findings)
    for first, second in _EXCLUDE_EACH_OTHER:
        if options[first] and options[second]:
            where = config.where(_CPU.place)
            findings.add(ConfigCpuOptionsExclude(first=first, second=second, where=where))
    return options


def _is_available(
    manager: _Manager,
    known: Mapping[str, Maturity],
    name: str,
    config: KubeletConfig,
    gates: FeatureGates,
    findings: Findings,
    *,
    lower_case: bool = False,
) -> bool:
    where = config.where(f"{manager.place}.{name}")
    maturity = known.get(name)
    if maturity is None:
        allowed = ", ".join(known)
        findings.add(manager.unknown(option=GoText(name), allowed=allowed, where=where))
        return False
    gate = manager.gates.get(maturity)
    if gate is None or gates.enabled(gate):
        return True
    level = f"{manager.name} {maturity.value}-level Options"
    findings.add(
        manager.needs_gate(
            option=GoText(name),
            maturity=maturity.value,
            gate=gate,
            level_options=level.lower() if lower_case else level,
            where=where,
        )
    )
    return False


def _boolean(
    manager: _Manager, name: str, value: str, config: KubeletConfig, findings: Findings
) -> bool:
    try:
        return go_text.parse_bool(value)
    except GoNumberError as error:
        where = config.where(f"{manager.place}.{name}")
        findings.add(
            manager.not_boolean(
                option=GoText(name), value=value, problem=error.go_text, where=where
            )
        )
        return False


def _node_limit(
    name: str, value: str, default: int, config: KubeletConfig, findings: Findings
) -> int:
    where, option = config.where(f"{_TOPOLOGY.place}.{name}"), GoText(name)
    try:
        limit = go_text.atoi(value)
    except GoNumberError as error:
        findings.add(
            ConfigTopologyOptionNotInteger(
                option=option, value=value, minimum=default, problem=error.go_text, where=where
            )
        )
        return default
    if limit < default:
        findings.add(
            ConfigTopologyNodeLimit(option=option, value=value, minimum=default, where=where)
        )
        return default
    return limit
