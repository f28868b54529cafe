"""Short ways to write machines, pods and nodes in tests."""

from __future__ import annotations

from collections.abc import Mapping

from numalet.core.admission import roster
from numalet.core.checkpoint import state_files
from numalet.core.config.rules import (
    MemoryPolicy,
    MemoryRules,
    NodeRules,
    Scope,
    TopologyPolicy,
    TopologyRules,
)
from numalet.core.config.rules import StartRefused as StartRefused
from numalet.core.model.machine_info import CoreInfo, HugePages, MachineInfo, NumaNodeInfo
from numalet.core.model.node_constraints import UNCONSTRAINED
from numalet.core.model.pod import Container, ContainerKind, Pod, QosClass
from numalet.core.model.quantity import Quantity
from numalet.core.node.node import Node
from numalet.core.snapshot.snapshot import Snapshot

GI = 1 << 30


def machine(
    *memory_gib: int,
    hugepages: Mapping[int, int] | None = None,
    node_ids: tuple[int, ...] = (),
    distances: tuple[tuple[int, ...], ...] = (),
) -> MachineInfo:
    """A machine with a node per size; ``hugepages`` are counts by page size in KiB per node."""
    pages = tuple(HugePages(size, count) for size, count in (hugepages or {}).items())
    nodes = tuple(
        NumaNodeInfo(
            node_id=node_ids[at] if node_ids else at,
            memory_bytes=size * GI,
            hugepages=pages,
            cores=(CoreInfo(at, 0, (2 * at, 2 * at + 1)),),
            distances=distances[at] if distances else None,
        )
        for at, size in enumerate(memory_gib)
    )
    return MachineInfo(
        nodes=nodes,
        memory_capacity_bytes=sum(memory_gib) * GI,
        cpu_count=2 * len(nodes),
        socket_count=len(nodes),
        hugepages=tuple(
            HugePages(size, count * len(nodes)) for size, count in (hugepages or {}).items()
        ),
    )


def rules(
    on: MachineInfo,
    topology: TopologyRules | None = None,
    reserved_bytes: Mapping[int, int] | None = None,
    policy: MemoryPolicy = MemoryPolicy.STATIC,
) -> NodeRules:
    """Rules with the Memory Manager's policy Static."""
    reserved = {node: {"memory": size} for node, size in (reserved_bytes or {}).items()}
    return NodeRules(
        machine=on,
        topology=topology or TopologyRules(),
        memory=MemoryRules(policy=policy, system_reserved=reserved),
    )


def node(of: NodeRules, files: Mapping[str, str] | None = None) -> Node:
    """A node that was started with these rules."""
    staff = roster.build(of)
    assert not isinstance(staff, StartRefused), staff
    snapshot = state_files.restore(staff, files or {})
    assert not isinstance(snapshot, StartRefused), snapshot
    return Node(staff, snapshot)


def restored(of: NodeRules, files: Mapping[str, str]) -> Snapshot | StartRefused:
    """What a kubelet with these rules makes of the files."""
    staff = roster.build(of)
    assert not isinstance(staff, StartRefused), staff
    return state_files.restore(staff, files)


def aligned(policy: TopologyPolicy, scope: Scope = Scope.CONTAINER) -> TopologyRules:
    """Topology rules without options."""
    return TopologyRules(policy=policy, scope=scope)


def container(
    name: str,
    memory: str | None = None,
    kind: ContainerKind = ContainerKind.APP,
    **hugepages: str,
) -> Container:
    """A container with memory and huge pages (``hugepages_1Gi="2Gi"``) as requests and limits."""
    resources = {"cpu": Quantity.parse("1")}
    if memory is not None:
        resources["memory"] = Quantity.parse(memory)
    for page, size in hugepages.items():
        resources[page.replace("_", "-")] = Quantity.parse(size)
    return Container(name, kind, resources, resources)


def pod(uid: str, *containers: Container, qos: QosClass = QosClass.GUARANTEED) -> Pod:
    """A pod of these containers, in their order."""
    return Pod(
        uid=uid,
        name=uid,
        init_containers=tuple(c for c in containers if c.kind is not ContainerKind.APP),
        app_containers=tuple(c for c in containers if c.kind is ContainerKind.APP),
        qos_class=qos,
        constraints=UNCONSTRAINED,
    )


def simple(uid: str, memory: str, **hugepages: str) -> Pod:
    """A Guaranteed pod of one app container named ``c``."""
    return pod(uid, container("c", memory, ContainerKind.APP, **hugepages))


def init(name: str, memory: str) -> Container:
    """An init container."""
    return container(name, memory, ContainerKind.INIT)


def sidecar(name: str, memory: str) -> Container:
    """A restartable init container."""
    return container(name, memory, ContainerKind.SIDECAR)
