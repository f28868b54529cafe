"""Feature gates: defaults, stages that set many at once, what can not be set."""

from __future__ import annotations

import pytest

from numalet.core.config import feature_gates
from numalet.core.config.feature_gates import GateProblem, Stage
from numalet.core.config.release import Release

V = Release.V1_32


@pytest.mark.parametrize(
    ("name", "stage", "is_on", "is_locked"),
    [
        ("CPUManager", Stage.GA, True, True),
        ("CPUManagerPolicyOptions", Stage.BETA, True, False),
        ("CPUManagerPolicyBetaOptions", Stage.BETA, True, False),
        ("CPUManagerPolicyAlphaOptions", Stage.ALPHA, False, False),
        ("MemoryManager", Stage.GA, True, True),
        ("TopologyManagerPolicyOptions", Stage.GA, True, False),
        ("TopologyManagerPolicyBetaOptions", Stage.BETA, True, False),
        ("TopologyManagerPolicyAlphaOptions", Stage.ALPHA, False, False),
        ("WindowsCPUAndMemoryAffinity", Stage.ALPHA, False, False),
        ("KubeletPodResourcesGet", Stage.ALPHA, False, False),
        ("KubeletPodResourcesDynamicResources", Stage.ALPHA, False, False),
        ("DevicePluginCDIDevices", Stage.GA, True, True),
        ("ResourceHealthStatus", Stage.ALPHA, False, False),
        ("InPlacePodVerticalScaling", Stage.ALPHA, False, False),
        ("InPlacePodVerticalScalingExclusiveCPUs", Stage.ALPHA, False, False),
        ("PodLevelResources", Stage.ALPHA, False, False),
        ("SidecarContainers", Stage.BETA, True, False),
        ("MemoryQoS", Stage.ALPHA, False, False),
        ("CustomCPUCFSQuotaPeriod", Stage.ALPHA, False, False),
        ("NodeSwap", Stage.BETA, True, False),
        ("QOSReserved", Stage.ALPHA, False, False),
        ("KubeletCgroupDriverFromCRI", Stage.BETA, True, False),
        ("DynamicResourceAllocation", Stage.BETA, False, False),
        ("GracefulNodeShutdown", Stage.BETA, True, False),
        ("WindowsHostNetwork", Stage.ALPHA, True, False),
        ("DisableNodeKubeProxyVersion", Stage.DEPRECATED, False, False),
    ],
)
def test_a_gate_has_the_state_of_its_release(
    name: str, stage: Stage, is_on: bool, is_locked: bool
) -> None:
    gate = feature_gates.known(V)[name]

    assert (stage, is_on, is_locked) == (gate.stage, gate.is_on, gate.is_locked)
    assert is_on is feature_gates.with_settings({}, V).enabled(name)


def test_no_gate_is_listed_twice() -> None:
    from numalet.core.config import gates_v1_32 as lists

    names = " ".join(
        (
            lists.ALPHA,
            lists.ALPHA_ON,
            lists.BETA_ON,
            lists.BETA_OFF,
            lists.GA_ON,
            lists.GA_LOCKED,
            lists.DEPRECATED_OFF,
        )
    ).split()

    assert sorted(set(names)) == sorted(names)
    assert len(names) + 2 == len(feature_gates.known(V))


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("NoSuchGate", True, GateProblem.UNKNOWN),
        ("TopologyManager", False, GateProblem.UNKNOWN),
        ("CPUManager", False, GateProblem.LOCKED),
        ("CPUManager", True, None),
        ("TopologyManagerPolicyOptions", False, None),
        ("AllAlpha", True, None),
        ("ComponentSLIs", False, GateProblem.LOCKED),
        ("OrderedNamespaceDeletion", True, None),
    ],
)
def test_unknown_and_locked_gates_can_not_be_set(
    name: str, value: bool, expected: GateProblem | None
) -> None:
    assert expected is feature_gates.problem(name, value, V)


def test_a_stage_sets_every_gate_that_is_not_named_itself() -> None:
    gates = feature_gates.with_settings(
        {
            "CPUManagerPolicyAlphaOptions": False,
            "AllAlpha": True,
            "AllBeta": False,
            "NodeSwap": True,
            "CPUManager": False,
            "NoSuchGate": True,
        },
        V,
    )

    assert not gates.enabled("CPUManagerPolicyAlphaOptions")
    assert gates.enabled("TopologyManagerPolicyAlphaOptions")
    assert not gates.enabled("TopologyManagerPolicyBetaOptions")
    assert gates.enabled("NodeSwap")
    assert gates.enabled("CPUManager"), "a locked gate keeps its value"
    assert gates.enabled("TopologyManagerPolicyOptions"), "GA gates belong to neither stage"
    assert gates.enabled("AllAlpha")
