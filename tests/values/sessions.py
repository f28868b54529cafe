"""A node with the Memory Manager's policy Static, taken through steps."""

from __future__ import annotations

from numalet.core.config.kubelet_config import KubeletConfig, ReservedMemory
from numalet.core.model.quantity import Quantity
from numalet.core.node import node as nodes
from numalet.core.node.node import Node
from numalet.insight.simulate.session import Record, Session, Step
from values import builders

MACHINE = builders.machine(10, 10)
CONFIG = KubeletConfig(
    memory_manager_policy="Static",
    topology_manager_policy="restricted",
    kube_reserved={"memory": "1Gi"},
    reserved_memory=(ReservedMemory(0, {"memory": Quantity.parse("1Gi")}),),
)


def begun() -> Session:
    """A session on an empty node of two NUMA nodes with 10Gi each, 1Gi of node 0 reserved."""
    started = nodes.start(CONFIG, MACHINE)
    assert isinstance(started, Node), started
    return Session(CONFIG, MACHINE, started)


def taken(session: Session, *steps: Step) -> tuple[Session, list[Record]]:
    """The session after these steps, and what each of them did."""
    return session.through(steps)
