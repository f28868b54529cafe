"""Limits that the kubelet has by accident: exact mode refuses where it would panic."""

from __future__ import annotations

from dataclasses import replace

from numalet.config.kubelet_config import KubeletConfig
from numalet.config.rules import Stage, StartRefused
from numalet.model.machine_info import MachineInfo
from numalet.node import node as nodes
from numalet.node.node import Node
from scenarios.machines import two_nodes

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
    assert refused.stage is Stage.NUMALET
    assert isinstance(nodes.start(CONFIG, _numbered(0, 63)), Node)


def test_gaps_in_node_ids_are_refused_with_distances() -> None:
    refused = nodes.start(CLOSEST, _numbered(0, 8))
    assert isinstance(refused, StartRefused)
    assert refused.stage is Stage.NUMALET
    assert isinstance(nodes.start(CONFIG, _numbered(0, 8)), Node)
    assert isinstance(nodes.start(CLOSEST, _numbered(0, 1)), Node)
