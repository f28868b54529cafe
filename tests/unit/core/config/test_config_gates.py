"""Feature gates: defaults, stages that set many at once, what can not be set."""

from __future__ import annotations

import inspect
import re

import pytest

from numalet.core.config import feature_gates
from numalet.core.config.feature_gates import GateProblem
from numalet.core.config.releases import v1_32
from numalet.core.config.releases.release import GateStage
from numalet.core.config.releases.v1_32 import V1_32 as V


@pytest.mark.parametrize(
    ("name", "stage", "is_on", "is_locked"),
    [
        ("CPUManager", GateStage.GA, True, True),
        ("CPUManagerPolicyOptions", GateStage.BETA, True, False),
        ("CPUManagerPolicyBetaOptions", GateStage.BETA, True, False),
        ("CPUManagerPolicyAlphaOptions", GateStage.ALPHA, False, False),
        ("MemoryManager", GateStage.GA, True, True),
        ("TopologyManagerPolicyOptions", GateStage.GA, True, False),
        ("TopologyManagerPolicyBetaOptions", GateStage.BETA, True, False),
        ("TopologyManagerPolicyAlphaOptions", GateStage.ALPHA, False, False),
        ("WindowsCPUAndMemoryAffinity", GateStage.ALPHA, False, False),
        ("KubeletPodResourcesGet", GateStage.ALPHA, False, False),
        ("KubeletPodResourcesDynamicResources", GateStage.ALPHA, False, False),
        ("DevicePluginCDIDevices", GateStage.GA, True, True),
        ("ResourceHealthStatus", GateStage.ALPHA, False, False),
        ("InPlacePodVerticalScaling", GateStage.ALPHA, False, False),
        ("InPlacePodVerticalScalingExclusiveCPUs", GateStage.ALPHA, False, False),
        ("PodLevelResources", GateStage.ALPHA, False, False),
        ("SidecarContainers", GateStage.BETA, True, False),
        ("MemoryQoS", GateStage.ALPHA, False, False),
        ("CustomCPUCFSQuotaPeriod", GateStage.ALPHA, False, False),
        ("NodeSwap", GateStage.BETA, True, False),
        ("QOSReserved", GateStage.ALPHA, False, False),
        ("KubeletCgroupDriverFromCRI", GateStage.BETA, True, False),
        ("DynamicResourceAllocation", GateStage.BETA, False, False),
        ("GracefulNodeShutdown", GateStage.BETA, True, False),
        ("WindowsHostNetwork", GateStage.ALPHA, True, False),
        ("DisableNodeKubeProxyVersion", GateStage.DEPRECATED, False, False),
    ],
)
def test_a_gate_has_the_state_of_its_release(
    name: str, stage: GateStage, is_on: bool, is_locked: bool
) -> None:
    gate = V.gates[name]

    assert (stage, is_on, is_locked) == (gate.stage, gate.is_on, gate.is_locked)
    assert is_on is feature_gates.with_settings({}, V).enabled(name)


def test_no_gate_is_listed_twice() -> None:
    source = inspect.getsource(v1_32)
    names = [
        name for text in re.findall(r'="""(.*?)"""', source, re.DOTALL) for name in text.split()
    ]

    assert sorted(V.gates) == sorted(names)


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
