"""Feature gates of a release: their settings, and settings that the kubelet refuses.

A gate is alpha (off), beta (mostly on), GA (usually locked to on) or deprecated. ``AllAlpha`` and
``AllBeta`` set all gates of their stage that are not set by name. A name that the release does not
have stops the kubelet's start. In newer releases a gate may depend on other gates.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Final

from numalet.core.config.releases.release import GateStage, Release, ReleaseRules
from numalet.core.model.value import Value

ALL_ALPHA: Final = "AllAlpha"
ALL_BETA: Final = "AllBeta"
CPU_MANAGER_POLICY_OPTIONS: Final = "CPUManagerPolicyOptions"
CPU_MANAGER_POLICY_ALPHA_OPTIONS: Final = "CPUManagerPolicyAlphaOptions"
CPU_MANAGER_POLICY_BETA_OPTIONS: Final = "CPUManagerPolicyBetaOptions"
TOPOLOGY_MANAGER_POLICY_OPTIONS: Final = "TopologyManagerPolicyOptions"
TOPOLOGY_MANAGER_POLICY_ALPHA_OPTIONS: Final = "TopologyManagerPolicyAlphaOptions"
TOPOLOGY_MANAGER_POLICY_BETA_OPTIONS: Final = "TopologyManagerPolicyBetaOptions"
CUSTOM_CPU_CFS_QUOTA_PERIOD: Final = "CustomCPUCFSQuotaPeriod"
DEFAULT_POD_SYSCTLS: Final = "DefaultPodSysctls"
GRACEFUL_NODE_SHUTDOWN: Final = "GracefulNodeShutdown"
GRACEFUL_NODE_SHUTDOWN_BY_PRIORITY: Final = "GracefulNodeShutdownBasedOnPodPriority"
IMAGE_MAXIMUM_GC_AGE: Final = "ImageMaximumGCAge"
KUBELET_CRASH_LOOP_BACK_OFF_MAX: Final = "KubeletCrashLoopBackOffMax"
VERIFIED_IMAGES: Final = "KubeletEnsureSecretPulledImages"
KUBELET_TRACING: Final = "KubeletTracing"
MEMORY_QOS: Final = "MemoryQoS"
NODE_LOG_QUERY: Final = "NodeLogQuery"
NODE_SWAP: Final = "NodeSwap"
ROTATE_KUBELET_SERVER_CERTIFICATE: Final = "RotateKubeletServerCertificate"
WINDOWS_CPU_AND_MEMORY_AFFINITY: Final = "WindowsCPUAndMemoryAffinity"


class GateProblem(Enum):
    UNKNOWN = "unknown"
    LOCKED = "locked"


class FeatureGates(Value):
    _gates: Mapping[str, bool]

    def enabled(self, name: str) -> bool:
        """Return whether a gate is on; unknown gates are off."""
        return self._gates.get(name, False)


def problem(name: str, value: bool, release: Release) -> GateProblem | None:
    """Return why the kubelet refuses this setting of a gate, if it does."""
    gate = release.gates.get(name)
    if gate is None:
        return GateProblem.UNKNOWN
    if gate.is_locked and gate.is_on is not value:
        return GateProblem.LOCKED
    return None


def unmet(settings: Mapping[str, bool], release: Release) -> Mapping[str, tuple[str, ...]]:
    """Return, by gate that is on, the gates it depends on that are off, sorted.

    Kubelet v1.35: ``featuregate.SetFromMap`` and ``Validate``; their order is random.
    """
    gates = with_settings(settings, release)
    missing = {
        name: tuple(needed for needed in gate.needs if not gates.enabled(needed))
        for name, gate in sorted(release.gates.items())
        if gate.needs and gates.enabled(name)
    }
    return {name: needed for name, needed in missing.items() if needed}


def with_settings(settings: Mapping[str, bool], release: Release) -> FeatureGates:
    """Return the gates of a release with these settings; refused ones are left out.

    Kubelet v1.32: ``featuregate.SetFromMap``: a gate's own setting overrides its stage.
    """
    gates = release.gates
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


def rules_of(release: Release, settings: Mapping[str, bool]) -> ReleaseRules:
    return release.rules_with(with_settings(settings, release).enabled)
