"""Pods that ask for CPUs and memory as a whole, and nodes of several releases for them.

The machine is the one on which most of the recorded decisions about such pods were made: two NUMA
nodes of 8Gi with four cores each, a core having the CPUs i and i+8. CPU 0 is reserved, and 612Mi of
node 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from numalet.core.config.behaviour import EXACT, Behaviour
from numalet.core.config.kubelet_config import KubeletConfig, ReservedMemory
from numalet.core.config.releases import table
from numalet.core.model.cpu_set import text
from numalet.core.model.machine_info import CoreInfo, HugePages, MachineInfo, NumaNodeInfo
from numalet.core.model.pod import Pod
from numalet.core.model.quantity import Quantity
from numalet.core.node import node as nodes
from numalet.core.node.node import Devices, Node
from numalet.io.documents.pods import pod_manifest
from numalet.io.documents.text.typed import Place

MANAGERS = {"PodLevelResourceManagers": True}
"""The feature gates with which the managers of v1.36 place pods as a whole."""
MIB = 1 << 20


def machine(pages_1gi: int = 0) -> MachineInfo:
    """The machine, with so many pages of 1Gi on each of its nodes."""
    pages = (HugePages(1 << 20, pages_1gi),) if pages_1gi else ()
    return MachineInfo(
        nodes=tuple(
            NumaNodeInfo(
                node_id=at,
                memory_bytes=8 << 30,
                hugepages=pages,
                cores=tuple(
                    CoreInfo(4 * at + i, at, (4 * at + i, 4 * at + i + 8)) for i in range(4)
                ),
                distances=(10, 20) if at == 0 else (20, 10),
            )
            for at in range(2)
        ),
        memory_capacity_bytes=16 << 30,
        cpu_count=16,
        socket_count=2,
        hugepages=(HugePages(1 << 20, 2 * pages_1gi),) if pages_1gi else (),
    )


def config(
    policy: str = "best-effort", scope: str = "pod", gates: Mapping[str, bool] = MANAGERS
) -> KubeletConfig:
    """All managers at work."""
    return KubeletConfig(
        cpu_manager_policy="static",
        memory_manager_policy="Static",
        topology_manager_policy=policy,
        topology_manager_scope=scope,
        feature_gates=dict(gates),
        reserved_system_cpus="0",
        kube_reserved={"memory": "512Mi"},
        eviction_hard={"memory.available": "100Mi"},
        reserved_memory=(ReservedMemory(0, {"memory": Quantity.parse("612Mi")}),),
    )


def node(
    of: KubeletConfig | None = None,
    release: str = "1.36",
    behaviour: Behaviour = EXACT,
    devices: Devices = nodes.NO_DEVICES,
    pages_1gi: int = 0,
) -> Node:
    """A node that has just started; as in the recorded decisions the managers alone decide."""
    follows = replace(behaviour, release=table.of_name(release), predicates_are_asked=False)
    started = nodes.start(of or config(), machine(pages_1gi), devices=devices, behaviour=follows)
    assert isinstance(started, Node), started
    return started


def restarted(
    before: Node, of: KubeletConfig | None = None, devices: Devices | None = None
) -> Node:
    """The node after a restart of its kubelet, before any pod was shown to it."""
    files = before.state_files()
    after = before.restart(of or config(), before.rules.machine, files, devices or {})
    assert isinstance(after, Node), after
    return after


def asked(cpu: str = "", memory: str = "", **more: str) -> dict[str, Any]:
    """Resources with requests equal to limits."""
    amounts = {"cpu": cpu, "memory": memory, **more}
    given = {name.replace("_", "-"): text for name, text in amounts.items() if text}
    return {"requests": given, "limits": given}


def pod(
    uid: str,
    whole: Mapping[str, Any] | None,
    containers: Mapping[str, Mapping[str, Any] | None],
    status: Mapping[str, Any] | None = None,
) -> Pod:
    """A pod that asks so as a whole. Names say what a container is: ``i0`` starts, ``s0`` stays."""
    spec: dict[str, Any] = {"containers": [], "initContainers": []}
    if whole is not None:
        spec["resources"] = dict(whole)
    for name, resources in containers.items():
        container: dict[str, Any] = {"name": name}
        if resources is not None:
            container["resources"] = dict(resources)
        if name.startswith("s"):
            container["restartPolicy"] = "Always"
        spec["containers" if name.startswith("c") else "initContainers"].append(container)
    manifest = {"metadata": {"name": uid, "uid": uid}, "spec": spec}
    return pod_manifest.decode_pod({**manifest, "status": dict(status or {})}, Place("pod"))


def cpus(of: Node, uid: str) -> dict[str, str]:
    """The CPUs of a pod's containers as the kernel lists them."""
    held = of.snapshot.cpu.exclusive.get(uid, {})
    return {name: text(cpus) for name, cpus in held.items()}


def mib(of: Node, uid: str) -> dict[str, dict[str, int]]:
    """The memory of a pod's containers by type."""
    held = of.snapshot.memory.blocks.get(uid, {})
    return {
        name: {block.resource: block.size_bytes // MIB for block in blocks}
        for name, blocks in held.items()
    }


def reserved_mib(of: Node) -> list[int]:
    """The ordinary memory that each NUMA node counts as reserved."""
    tables = [each.tables["memory"] for each in of.snapshot.memory.nodes.values()]
    return [table.reserved // MIB for table in tables]
