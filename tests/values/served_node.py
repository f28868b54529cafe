"""A node with CPUs, memory and devices given out, and the agent's view of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from numalet.agent.servers.door import AgentView, OwnershipMode
from numalet.core.config.behaviour import EXACT, Behaviour
from numalet.core.config.kubelet_config import KubeletConfig, ReservedMemory
from numalet.core.enforcement.comparison import GuaranteeLevel
from numalet.core.model import machine_shape
from numalet.core.model.kubelet_view import kubelet_view
from numalet.core.model.machine_info import MachineInfo
from numalet.core.model.pod import Container, ContainerKind, Pod
from numalet.core.model.pod_demand import qos_class
from numalet.core.model.quantity import Quantity
from numalet.core.node import node as nodes
from numalet.core.node.node import Node
from numalet.core.workload.records import PodRecord, Records
from numalet.core.workload.run import PodRun, Verdict
from numalet.core.workload.spec import Workload
from values.device_bench import GPU, NIC, devices

NOW: Final = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
CONFIG = KubeletConfig(
    cpu_manager_policy="static",
    reserved_system_cpus="0",
    memory_manager_policy="Static",
    topology_manager_policy="restricted",
    kube_reserved={"memory": "1Gi"},
    reserved_memory=(ReservedMemory(0, {"memory": Quantity.parse("1Gi")}),),
)
DEVICES = {GPU: devices("gpu0@0 gpu1@1 gpu2@0+1"), NIC: devices("nic0")}


def machine() -> MachineInfo:
    """Two NUMA nodes of four CPUs and 16Gi, with 2Gi in pages of 1Gi."""
    shape = machine_shape.parse_shape("2n2c2t")
    return kubelet_view(machine_shape.machine_of_shape(shape, 18 << 30, {1 << 20: 2}, "test"))


def container(name: str, kind: ContainerKind = ContainerKind.APP, **asked: str) -> Container:
    """A container whose requests are its limits; ``gpu`` and ``nic`` are devices."""
    names = {"gpu": GPU, "nic": NIC, "pages": "hugepages-1Gi"}
    limits = {names.get(key, key): Quantity.parse(text) for key, text in asked.items()}
    return Container(name, kind, limits, limits)


def pod(name: str, *containers: Container) -> Pod:
    """A pod of these containers, with its name for a uid."""
    starting = tuple(each for each in containers if each.kind is not ContainerKind.APP)
    apps = tuple(each for each in containers if each.kind is ContainerKind.APP)
    return Pod(f"uid-{name}", name, "ns", starting, apps, qos_class(containers))


ALIGNED = pod(
    "aligned",
    container("prepare", ContainerKind.INIT, cpu="1", memory="1Gi"),
    container("sidecar", ContainerKind.SIDECAR, cpu="100m", memory="1Gi"),
    container("app", cpu="2", memory="4Gi", pages="1Gi", gpu="1", nic="1"),
)
WIDE = pod("wide", container("app", cpu="5", memory="20Gi"))
SHARED = pod("shared", container("app", cpu="100m"))
TOO_LARGE = pod("too-large", container("app", cpu="1", memory="100Gi"))


def with_pods(pods: Iterable[Pod], behaviour: Behaviour = EXACT) -> Node:
    """A node that was asked to admit these pods, one after the other."""
    node = nodes.start(CONFIG, machine(), devices=DEVICES, behaviour=behaviour)
    assert isinstance(node, Node), node
    for each in pods:
        node, _ = node.admit(each)
    return node


def view(node: Node, pods: Iterable[Pod]) -> AgentView:
    """The view of an agent that knows these pods."""
    known = {each.uid: _record(each, each.uid in node.snapshot.pods) for each in pods}
    return AgentView(
        node_name="n",
        node=node,
        standing=OwnershipMode.ENFORCING,
        level=GuaranteeLevel.NONE,
        started_at=NOW,
        node_created_at=NOW,
        resource_version=len(known),
        records=Records(known),
    )


def _record(each: Pod, admitted: bool) -> PodRecord:
    run = PodRun(accepted_at=NOW, verdict=Verdict(admitted))
    return PodRecord(Workload(pod=each, containers=()), run)


AT_ONCE: Final = replace(EXACT, release_at_once=True)
"""Pods that are refused or go leave the node state in the same step."""


def without_policies() -> Node:
    """The node with no policy at all."""
    node = nodes.start(KubeletConfig(), machine(), devices=DEVICES)
    assert isinstance(node, Node), node
    return node


def with_all_of_node_0_reserved() -> Node:
    """The node with all memory of its first NUMA node kept for the system."""
    config = replace(
        CONFIG,
        kube_reserved={"memory": "16Gi"},
        reserved_memory=(ReservedMemory(0, {"memory": Quantity.parse("16Gi")}),),
    )
    node = nodes.start(config, machine())
    assert isinstance(node, Node), node
    return node
