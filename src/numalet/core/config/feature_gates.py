"""Feature gates: which there are in a release, what they are set to, which may not be set.

A gate is alpha (off), beta (mostly on), GA (usually locked to on) or deprecated. ``AllAlpha`` and
``AllBeta`` set every gate of their stage that is not named itself. Names that no list here has
are unknown to the kubelet and stop its start.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache
from types import MappingProxyType
from typing import Final

from numalet.core.config import gates_v1_32
from numalet.core.config.release import Release

ALL_ALPHA: Final = "AllAlpha"
ALL_BETA: Final = "AllBeta"
CPU_MANAGER_POLICY_OPTIONS: Final = "CPUManagerPolicyOptions"
CPU_MANAGER_POLICY_ALPHA_OPTIONS: Final = "CPUManagerPolicyAlphaOptions"
CPU_MANAGER_POLICY_BETA_OPTIONS: Final = "CPUManagerPolicyBetaOptions"
TOPOLOGY_MANAGER_POLICY_OPTIONS: Final = "TopologyManagerPolicyOptions"
TOPOLOGY_MANAGER_POLICY_ALPHA_OPTIONS: Final = "TopologyManagerPolicyAlphaOptions"
TOPOLOGY_MANAGER_POLICY_BETA_OPTIONS: Final = "TopologyManagerPolicyBetaOptions"
CUSTOM_CPU_CFS_QUOTA_PERIOD: Final = "CustomCPUCFSQuotaPeriod"
NODE_SWAP: Final = "NodeSwap"
WINDOWS_CPU_AND_MEMORY_AFFINITY: Final = "WindowsCPUAndMemoryAffinity"

_LISTS: Final = {Release.V1_32: gates_v1_32}


class GateStage(Enum):
    """How mature the feature behind a gate is."""

    ALPHA = "alpha"
    BETA = "beta"
    GA = "GA"
    DEPRECATED = "deprecated"


@dataclass(frozen=True, slots=True)
class Gate:
    """A gate's stage and default in one release; a locked one can not be set."""

    stage: GateStage
    is_on: bool
    is_locked: bool = False


class GateProblem(Enum):
    """Why a gate can not be set."""

    UNKNOWN = "unknown"
    LOCKED = "locked"


@dataclass(frozen=True, slots=True)
class FeatureGates:
    """Every gate of a release as it is set."""

    _gates: Mapping[str, bool]

    def enabled(self, name: str) -> bool:
        """Whether a gate is on; the name must be one of the release's."""
        return self._gates[name]


@cache
def known(release: Release) -> Mapping[str, Gate]:
    """The gates of a release."""
    lists = _LISTS[release]
    gates = {ALL_ALPHA: Gate(GateStage.ALPHA, False), ALL_BETA: Gate(GateStage.BETA, False)}
    for names, gate in (
        (lists.ALPHA, Gate(GateStage.ALPHA, False)),
        (lists.ALPHA_ON, Gate(GateStage.ALPHA, True)),
        (lists.BETA_ON, Gate(GateStage.BETA, True)),
        (lists.BETA_OFF, Gate(GateStage.BETA, False)),
        (lists.GA_ON, Gate(GateStage.GA, True)),
        (lists.GA_LOCKED, Gate(GateStage.GA, True, is_locked=True)),
        (lists.DEPRECATED_OFF, Gate(GateStage.DEPRECATED, False)),
    ):
        gates.update(dict.fromkeys(names.split(), gate))
    return MappingProxyType(gates)


def problem(name: str, value: bool, release: Release) -> GateProblem | None:
    """Why the kubelet would refuse to set the gate so; None if it would not."""
    gate = known(release).get(name)
    if gate is None:
        return GateProblem.UNKNOWN
    if gate.is_locked and gate.is_on is not value:
        return GateProblem.LOCKED
    return None


def with_settings(settings: Mapping[str, bool], release: Release) -> FeatureGates:
    """The gates of a release, some of them set; settings that have a problem are left out.

    Kubelet v1.32: ``featuregate.SetFromMap``: a gate that is named itself wins over its stage.
    """
    gates = known(release)
    state = {name: gate.is_on for name, gate in gates.items()}
    accepted = {
        name: value for name, value in settings.items() if not problem(name, value, release)
    }
    for everything, stage in ((ALL_ALPHA, GateStage.ALPHA), (ALL_BETA, GateStage.BETA)):
        if everything in accepted:
            for name, gate in gates.items():
                if gate.stage is stage:
                    state[name] = accepted[everything]
    return FeatureGates(MappingProxyType({**state, **accepted}))
