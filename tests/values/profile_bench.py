"""Machine profiles with all managers at work, for tests that ask what happens on real machines."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from numalet.core.config.behaviour import EXACT, Behaviour
from numalet.core.config.rules import StartRefused
from numalet.core.managers.device.inventory import Device
from numalet.core.model.machine_info import MachineInfo
from numalet.core.model.pod import Pod
from numalet.core.node.node import Node, start
from numalet.core.snapshot import placement
from numalet.core.snapshot.placement import Placement
from numalet.io.devices import named_devices
from numalet.io.documents.kubelet import kubelet_config
from numalet.io.machines import open_machine
from values.builders import simple
from values.explain_bench import asking

GPU = "nvidia.com/gpu"


def machine_of(name: str) -> MachineInfo:
    """The kubelet's view of the machine of a profile."""
    return open_machine(f"profile:{name}").info


def devices_of(name: str) -> dict[str, tuple[Device, ...]]:
    """The devices of a profile by resource."""
    return dict(named_devices(f"profile:{name}", ()))


def start_profile(name: str, behaviour: Behaviour = EXACT, **fields: Any) -> Node | StartRefused:
    """A node with static managers under restricted, as many NUMA nodes allowed as there are.

    CPU 0 and its siblings count as any core; one CPU and 1Gi of node 0 are for the system.
    """
    machine = machine_of(name)
    document = {
        "cpuManagerPolicy": "static",
        "memoryManagerPolicy": "Static",
        "topologyManagerPolicy": "restricted",
        "topologyManagerPolicyOptions": {
            "max-allowable-numa-nodes": str(max(8, len(machine.nodes)))
        },
        "reservedSystemCPUs": "0",
        "kubeReserved": {"memory": "924Mi"},
        "reservedMemory": [{"numaNode": 0, "limits": {"memory": "1Gi"}}],
        **fields,
    }
    config = kubelet_config.decode(document, "test")
    return start(config, machine, None, devices_of(name), behaviour=behaviour)


def started(name: str, behaviour: Behaviour = EXACT, **fields: Any) -> Node:
    """The same; it must start."""
    node = start_profile(name, behaviour, **fields)
    assert isinstance(node, Node), node
    return node


def asks(uid: str, memory: str, **amounts: str) -> Pod:
    """A Guaranteed pod of one container ``c``; amounts by resource, ``gpu`` for GPUs."""
    named = {GPU if name == "gpu" else name: amount for name, amount in amounts.items()}
    return asking(simple(uid, memory), **named)


def offered(node: Node, pods: Iterable[Pod]) -> tuple[Node, list[str]]:
    """The node after all asked and those admitted were started, and the uids of those."""
    admitted = []
    for pod in pods:
        node, decision = node.admit(pod)
        if decision.admitted:
            node = node.pod_started(pod.uid)
            admitted.append(pod.uid)
    return node, admitted


def held(node: Node, uid: str) -> Placement:
    """What the container of a pod holds."""
    return placement.of_container(node.snapshot, uid, "c")


def cpus_of(machine: MachineInfo, *node_ids: int) -> set[int]:
    """The CPUs of these NUMA nodes."""
    return {
        cpu
        for node in machine.nodes
        if node.node_id in node_ids
        for core in node.cores
        for cpu in core.threads
    }
