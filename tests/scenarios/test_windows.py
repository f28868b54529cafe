"""What the documentation says about Windows: behind a gate, and the policy BestEffort alone."""

from __future__ import annotations

import json
from typing import Any

from numalet.config.kubelet_config import KubeletConfig, ReservedMemory
from numalet.config.rules import Stage, StartRefused
from numalet.model.machine_info import OperatingSystem
from numalet.model.quantity import Quantity
from numalet.node import node as nodes
from numalet.node.node import Node
from numalet.wording import kubelet, kubelet_start
from scenarios.machines import GIB, guaranteed, two_nodes

GATE = "WindowsCPUAndMemoryAffinity"
MACHINE = two_nodes(11, 11, operating_system=OperatingSystem.WINDOWS)


def _config(policy: str, *, gate: bool) -> KubeletConfig:
    one_gib = {"memory": Quantity.parse("1Gi")}
    return KubeletConfig(
        memory_manager_policy=policy,
        topology_manager_policy="restricted",
        kube_reserved={"memory": "2Gi"},
        reserved_memory=(ReservedMemory(0, one_gib), ReservedMemory(1, one_gib)),
        feature_gates={GATE: gate},
    )


def _started(policy: str, *, gate: bool) -> Node:
    node = nodes.start(_config(policy, gate=gate), MACHINE)
    assert isinstance(node, Node), node
    return node


def _memory_state(node: Node) -> Any:
    return json.loads(node.state_files()["memory_manager_state"])


def test_memory_is_tracked_with_the_gate() -> None:
    node, decision = _started("BestEffort", gate=True).admit(guaranteed("pod1", "15Gi"))
    state = _memory_state(node)
    assert decision.admitted
    assert state["policyName"] == "BestEffort"
    assert state["entries"]["pod1"]["pod1"] == [
        {"numaAffinity": [0, 1], "type": "memory", "size": 15 * GIB}
    ]
    reserved = [state["machineState"][n]["memoryMap"]["memory"]["reserved"] for n in ("0", "1")]
    assert reserved == [10 * GIB, 5 * GIB]


def test_a_pod_that_fits_nowhere_is_rejected_on_windows() -> None:
    _, decision = _started("BestEffort", gate=True).admit(guaranteed("pod1", "21Gi"))
    assert kubelet.reason(decision.rejection) == "UnexpectedAdmissionError"


def test_without_the_gate_the_managers_are_stand_ins() -> None:
    node, decision = _started("BestEffort", gate=False).admit(guaranteed("pod1", "21Gi"))
    assert decision.admitted
    assert decision.alignments == {}
    assert "memory_manager_state" not in node.state_files()


def test_policy_static_is_refused_on_windows() -> None:
    refused = nodes.start(_config("Static", gate=True), MACHINE)
    assert isinstance(refused, StartRefused)
    assert Stage.MEMORY_MANAGER is refused.stage
    assert kubelet_start.text(refused) == 'policy "Static" is not available on Windows'
