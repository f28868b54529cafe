"""Views of an agent for tests: a node, its pods, what happened to them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from numalet.agent.servers.door import AgentView, OwnershipMode
from numalet.core.config.behaviour import EXACT, Behaviour
from numalet.core.config.kubelet_config import KubeletConfig, ReservedMemory
from numalet.core.enforcement.comparison import GuaranteeLevel
from numalet.core.model import machine_shape
from numalet.core.model.kubelet_view import kubelet_view
from numalet.core.model.quantity import Quantity
from numalet.core.node import node as nodes
from numalet.core.node.node import Node

BEGINNING: Final = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

CONFIG: Final = KubeletConfig(
    cpu_manager_policy="static",
    memory_manager_policy="Static",
    topology_manager_policy="single-numa-node",
    kube_reserved={"memory": "1Gi", "cpu": "1"},
    reserved_memory=(ReservedMemory(0, {"memory": Quantity.parse("1Gi")}),),
)


def later(seconds: float) -> datetime:
    """So many seconds after the beginning."""
    return BEGINNING + timedelta(seconds=seconds)


def started(
    shape: str = "2n8c2t", config: KubeletConfig = CONFIG, behaviour: Behaviour = EXACT
) -> Node:
    """A node of this shape with 32Gi on each of its NUMA nodes."""
    machine = machine_shape.machine_of_shape(
        machine_shape.parse_shape(shape), 32 << 30, {2048: 512}, shape
    )
    node = nodes.start(config, kubelet_view(machine), behaviour=behaviour)
    assert isinstance(node, Node), node
    return node


def view(node: Node | None = None, /, **changes: Any) -> AgentView:
    """A view of an agent that has just started."""
    fields: Mapping[str, Any] = {
        "node_name": "node7",
        "node": node or started(),
        "standing": OwnershipMode.ENFORCING,
        "level": GuaranteeLevel.PROCESS,
        "started_at": BEGINNING,
        "node_created_at": BEGINNING,
        "resource_version": 1,
        "config": CONFIG,
    }
    return AgentView(**{**fields, **changes})
