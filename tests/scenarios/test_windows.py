"""What the documentation says about Windows: behind a gate, and the policy BestEffort alone."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from numalet.core.admission.decision import Decision
from numalet.core.config.kubelet_config import KubeletConfig, ReservedMemory
from numalet.core.config.rules import StartRefused, StartStage
from numalet.core.managers.device.inventory import Device
from numalet.core.model import cpu_set
from numalet.core.model.machine_info import OperatingSystem
from numalet.core.model.pod import Pod
from numalet.core.model.quantity import Quantity
from numalet.core.node import node as nodes
from numalet.core.node.node import Node
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
    node, decision = _started("BestEffort", gate=False).admit(guaranteed("pod1", "15Gi"))
    assert decision.admitted
    assert decision.alignments == {}
    assert "memory_manager_state" not in node.state_files()


def test_policy_static_is_refused_on_windows() -> None:
    refused = nodes.start(_config("Static", gate=True), MACHINE)
    assert isinstance(refused, StartRefused)
    assert StartStage.MEMORY_MANAGER is refused.stage
    assert kubelet_start.text(refused) == 'policy "Static" is not available on Windows'


GPU = "example.com/gpu"


def _asking(name: str, **amounts: str) -> Pod:
    """A Guaranteed pod; ``gpu`` asks for devices."""
    pod = guaranteed(name, "1Gi")
    (container,) = pod.app_containers
    asked = {(GPU if key == "gpu" else key): text for key, text in amounts.items()}
    resources = dict(container.requests) | {k: Quantity.parse(v) for k, v in asked.items()}
    return replace(pod, app_containers=(replace(container, requests=resources, limits=resources),))


def _all_managers(policy: str, *, gate: bool = True) -> Node:
    """A node with all managers on; CPU 0 is reserved, and there is one device, on node 1."""
    config = replace(
        _config("BestEffort", gate=gate),
        topology_manager_policy=policy,
        cpu_manager_policy="static",
        reserved_system_cpus="0",
    )
    node = nodes.start(config, MACHINE, devices={GPU: [Device("gpu0", (1,))]})
    assert isinstance(node, Node), node
    return node


def _decided(pod: Pod, policy: str = "best-effort", *, gate: bool = True) -> Decision:
    return _all_managers(policy, gate=gate).admit(pod)[1]


def test_providers_are_asked_in_the_order_cpu_memory_device() -> None:
    (alignment,) = _decided(_asking("pod1", cpu="2", gpu="1")).alignments.values()
    assert list(alignment.hints) == ["cpu", "memory", "device"]


def test_a_device_with_a_numa_node_can_not_be_aligned_on_windows() -> None:
    decision = _decided(_asking("pod1", gpu="1"), "restricted")
    assert kubelet.reason(decision.rejection) == "TopologyAffinityError"
    decision = _decided(_asking("pod1", gpu="1"), "best-effort")
    assert decision.placements["pod1"].devices == {GPU: ("gpu0",)}


def test_a_container_with_cpus_near_its_memory_is_bound_to_these_cpus() -> None:
    decision = _decided(_asking("pod1", cpu="2"))
    assert cpu_set.parse("1-2") == decision.placements["pod1"].cpus
    assert decision.placements["pod1"].memory_nodes == (0,)
    assert {"pod1": cpu_set.parse("1-2")} == decision.windows_affinity


def test_a_container_with_memory_elsewhere_is_bound_to_the_cpus_there_too() -> None:
    node, _ = _all_managers("none").admit(_asking("pod1", cpu="500m", memory="10Gi"))
    _, decision = node.admit(_asking("pod2", cpu="2"))
    assert cpu_set.parse("1-2") == decision.placements["pod2"].cpus
    assert decision.placements["pod2"].memory_nodes == (1,)
    assert {"pod2": cpu_set.parse("1-2,6-11")} == decision.windows_affinity


def test_without_the_gate_nobody_is_bound() -> None:
    decision = _decided(_asking("pod1", cpu="2"), gate=False)
    assert decision.admitted
    assert decision.windows_affinity == {}


def test_the_default_threshold_for_eviction_is_500_mebibytes() -> None:
    started = nodes.start(KubeletConfig(uses_default_eviction=True), MACHINE)
    assert isinstance(started, Node)
    assert Quantity.parse("500Mi") == started.rules.reservation["memory"]
