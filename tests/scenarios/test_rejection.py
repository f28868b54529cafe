"""What a user sees of a rejected pod: phase, reason, message, event."""

from __future__ import annotations

from numalet.core.admission.reasons import Rejection
from numalet.core.config.kubelet_config import KubeletConfig, ReservedMemory
from numalet.core.model.quantity import Quantity
from numalet.core.node import node as nodes
from numalet.core.node.node import Node
from numalet.wording import kubelet
from scenarios.machines import guaranteed, two_nodes

_ONE_GIB = {"memory": Quantity.parse("1Gi")}
CONFIG = KubeletConfig(
    memory_manager_policy="Static",
    topology_manager_policy="restricted",
    kube_reserved={"memory": "2Gi"},
    reserved_memory=(ReservedMemory(0, _ONE_GIB), ReservedMemory(1, _ONE_GIB)),
)


def _rejection(*sizes: str) -> Rejection:
    """Why the last of these pods is rejected; the others are admitted."""
    node = nodes.start(CONFIG, two_nodes(11, 11))
    assert isinstance(node, Node), node
    for number, size in enumerate(sizes[:-1]):
        node, decision = node.admit(guaranteed(f"pod{number}", size))
        assert decision.admitted
    _, decision = node.admit(guaranteed("last", sizes[-1]))
    assert decision.rejection is not None
    return decision.rejection


def test_a_rejected_pod_has_phase_failed() -> None:
    assert kubelet.status(_rejection("15Gi", "5Gi")) == {
        "phase": "Failed",
        "reason": "TopologyAffinityError",
        "message": ("Pod was rejected: Resources cannot be allocated with Topology locality"),
    }


def test_a_rejection_is_reported_by_a_warning_event() -> None:
    assert kubelet.event(_rejection("15Gi", "5Gi")) == {
        "type": "Warning",
        "reason": "TopologyAffinityError",
        "message": "Resources cannot be allocated with Topology locality",
    }


def test_lack_of_memory_is_an_unexpected_admission_error() -> None:
    status = kubelet.status(_rejection("9Gi", "8Gi", "4Gi"))
    assert status["reason"] == "UnexpectedAdmissionError"
    assert status["message"] == (
        "Pod was rejected: Allocate failed due to [memorymanager] failed to find NUMA nodes to "
        "extend the current topology hint, which is unexpected"
    )
