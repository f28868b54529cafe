"""Limits that the kubelet has by accident: exact mode refuses where it would panic."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from numalet.core.admission.reasons import KubeletWouldCrash
from numalet.core.config.kubelet_config import KubeletConfig, ReservedMemory
from numalet.core.config.rules import StartRefused, StartStage
from numalet.core.hints.walking import NoDistance
from numalet.core.model.machine_info import MachineInfo
from numalet.core.model.quantity import Quantity
from numalet.core.node import node as nodes
from numalet.core.node.node import Node
from numalet.wording import kubelet
from scenarios.machines import guaranteed, two_nodes

CONFIG = KubeletConfig(topology_manager_policy="best-effort")
CLOSEST = replace(CONFIG, topology_manager_policy_options={"prefer-closest-numa-nodes": "true"})


def _numbered(*node_ids: int) -> MachineInfo:
    """A machine of two nodes with these ids."""
    machine = two_nodes(10, 10)
    renumbered = tuple(
        replace(node, node_id=node_id)
        for node, node_id in zip(machine.nodes, node_ids, strict=True)
    )
    return replace(machine, nodes=renumbered)


def test_a_node_id_above_63_is_refused_at_start() -> None:
    refused = nodes.start(CONFIG, _numbered(0, 64))
    assert isinstance(refused, StartRefused)
    assert refused.stage is StartStage.NUMALET
    assert isinstance(nodes.start(CONFIG, _numbered(0, 63)), Node)


STATIC_MEMORY: dict[str, Any] = {
    "memory_manager_policy": "Static",
    "kube_reserved": {"memory": "1Gi"},
    "reserved_memory": (ReservedMemory(8, {"memory": Quantity.parse("1Gi")}),),
}


def test_a_comparison_without_a_distance_is_refused_there_and_then() -> None:
    node = nodes.start(replace(CLOSEST, **STATIC_MEMORY), _numbered(0, 8))
    assert isinstance(node, Node)

    # One set of both nodes: nothing to compare. Then nodes 0 and 8, and index 8 of a row of two.
    alone, wide = node.admit(guaranteed("wide", "15Gi"))
    _, narrow = node.admit(guaranteed("narrow", "1Gi"))

    assert wide.admitted
    assert isinstance(narrow.rejection, KubeletWouldCrash)
    assert isinstance(narrow.rejection.cause, NoDistance)
    assert kubelet.reason(narrow.rejection) == "KubeletWouldCrash"
    assert "index 8 of a row" in kubelet.message(narrow.rejection)
    # Beside the first pod only its own set is offered, so there is nothing to compare again.
    assert alone.admit(guaranteed("next", "1Gi"))[1].admitted


def test_without_the_option_gaps_in_node_ids_are_ordinary() -> None:
    single = replace(CLOSEST, topology_manager_policy="single-numa-node")
    for config in (CONFIG, single):
        node = nodes.start(replace(config, **STATIC_MEMORY), _numbered(0, 8))
        assert isinstance(node, Node)
        assert node.admit(guaranteed("narrow", "1Gi"))[1].admitted
