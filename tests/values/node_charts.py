"""Nodes to draw: machines as they come, and one with all that can be on a node."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Final

import numalet
from numalet.core.managers.device.inventory import Device, Health
from numalet.core.model.cpu_set import EMPTY
from numalet.core.model.machine_queries import NodeClass
from numalet.core.model.pod import QosClass
from numalet.core.node.node import Node
from numalet.insight.maps import node_map
from numalet.insight.maps.map_devices import DeviceUse, MapDevice
from numalet.insight.maps.node_map import (
    MapPod,
    MemoryBar,
    MemoryGroup,
    MemoryPart,
    NodeMap,
    NumaBlock,
)
from numalet.insight.maps.resource_maps import CpuCell, CpuUse
from numalet.insight.python_api.nodes import machine_and_devices

GIB: Final = 1 << 30


def machine(name: str) -> NodeMap:
    """A machine that is idle: a shape, or a profile."""
    info, devices = machine_and_devices(numalet.open_machine(name))
    return node_map.of_machine(info, name, devices)


def held() -> NodeMap:
    """Two NUMA nodes with pods of three namespaces, a GPU in use and an unhealthy one."""
    config = numalet.decode_config(
        {
            "cpuManagerPolicy": "static",
            "reservedSystemCPUs": "0,1",
            "memoryManagerPolicy": "Static",
            "topologyManagerPolicy": "best-effort",
            "reservedMemory": [{"numaNode": 0, "limits": {"memory": "2148Mi"}}],
            "kubeReserved": {"memory": "2Gi"},
        },
        "test",
    )
    devices = {
        "nvidia.com/gpu": tuple(
            Device(f"gpu{at}", (at // 2,), Health.UNHEALTHY if at == 3 else Health.HEALTHY)
            for at in range(4)
        ),
        "example.com/nic": (
            Device("0000:3b:02.1", (0,)),
            Device("any", ()),
            Device("both", (0, 1)),
        ),
    }
    shape = numalet.open_machine("2n8c2t", memory_per_node="64Gi")
    node = numalet.start_node(config, shape, devices=devices)
    assert isinstance(node, Node)
    for name, namespace, limits in (
        ("web", "shop", {"cpu": "4", "memory": "8Gi"}),
        ("train", "ml", {"cpu": "2", "memory": "10Gi", "nvidia.com/gpu": "1"}),
        ("db", "data", {"cpu": "1", "memory": "1Gi"}),
    ):
        node = _with(node, name, namespace, limits)
    return node_map.of_node(node, "node-a7")


def _with(node: Node, name: str, namespace: str, limits: Mapping[str, str]) -> Node:
    manifest = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}"},
        "spec": {"containers": [{"name": "c", "resources": {"limits": limits}}]},
    }
    (pod,) = numalet.read_pods(json.dumps(manifest), "test").pods
    after, decision = node.admit(pod)
    assert decision.rejection is None
    return after


def grouped(pod_count: int = 1) -> NodeMap:
    """Two NUMA nodes in one memory group, of pods ``p0`` and so on, on ``pod_count`` of them."""
    uids = tuple(f"p{at}" for at in range(pod_count))
    bar = MemoryBar("memory", 64 * GIB, 4 * GIB, 20 * GIB, (MemoryPart("", 40 * GIB),))
    return NodeMap(
        title="grouped",
        nodes=tuple(
            NumaBlock(
                node_id=at, node_class=NodeClass.CPU, sockets=(0,), distances=None, memory=(bar,),
                cores=((CpuCell(at, CpuUse.EXCLUSIVE if at and uids else CpuUse.RESERVED,
                                "p0" if at and uids else ""),),),
            )
            for at in range(2)
        ),
        groups=(MemoryGroup((0, 1), uids),),
        pods=tuple(
            MapPod(
                uid=uid, namespace="ns", name=f"pod-{uid}", qos_class=QosClass.GUARANTEED,
                nodes=(0, 1), cpus=EMPTY, memory_bytes={"memory": GIB}, devices={},
            )
            for uid in uids
        ),
        devices=tuple(
            MapDevice(
                "example.com/vf", f"vf{at}", (0,),
                DeviceUse.IN_USE if at == 1 else DeviceUse.UNHEALTHY if at == 2 else DeviceUse.FREE,
                "p0" if at == 1 and uids else "",
            )
            for at in range(20)
        ),
        socket_count=1,
    )  # fmt: skip


GOLDEN: Final[Mapping[str, Callable[[], NodeMap]]] = {
    "2n8c2t": lambda: machine("2n8c2t"),
    "epyc-nps4": lambda: machine("profile:epyc-nps4"),
    "gb200-34n": lambda: machine("profile:gb200-34n"),
    "64-nodes": lambda: machine("64n4c2t"),
    "held": held,
    "grouped": grouped,
}
"""Nodes whose drawings are kept beside the tests, by the name of the file."""
