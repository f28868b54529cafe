"""State files for tests: of a node with all managers, changed at will, and sealed again."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from numalet.core.admission import roster
from numalet.core.admission.roster import Roster
from numalet.core.checkpoint import cpu_file, device_file, memory_file
from numalet.core.checkpoint.cpu_file import CpuReading
from numalet.core.checkpoint.device_document import DeviceDocument
from numalet.core.checkpoint.memory_document import MemoryDocument
from numalet.core.config.rules import (
    CpuPolicy,
    CpuRules,
    MemoryPolicy,
    MemoryRules,
    NodeRules,
    StartRefused,
    TopologyPolicy,
    TopologyRules,
)
from numalet.core.managers.device.inventory import Device
from numalet.core.model.findings import Finding
from numalet.core.model.machine_info import CoreInfo, HugePages, MachineInfo, NumaNodeInfo
from numalet.core.model.pod import Container, ContainerKind, Pod, QosClass
from numalet.core.model.quantity import Quantity
from numalet.core.node.node import Node
from values import builders
from values.builders import GI

MEMORY, CPU, DEVICE = memory_file.FILE_NAME, cpu_file.FILE_NAME, device_file.FILE_NAME
GPU = "example.com/gpu"

Files = dict[str, str]
Json = dict[str, Any]


def machine(nodes: int = 3, pages_2mi: int = 512, memory_bytes: int = 10 * GI) -> MachineInfo:
    """NUMA nodes of four CPUs each, with huge pages of 2Mi."""
    return MachineInfo(
        nodes=tuple(
            NumaNodeInfo(
                node_id=at,
                memory_bytes=memory_bytes,
                hugepages=(HugePages(2048, pages_2mi),),
                cores=tuple(
                    CoreInfo(at, core, (4 * at + 2 * core, 4 * at + 2 * core + 1))
                    for core in range(2)
                ),
            )
            for at in range(nodes)
        ),
        memory_capacity_bytes=nodes * memory_bytes,
        cpu_count=4 * nodes,
        socket_count=nodes,
        hugepages=(HugePages(2048, nodes * pages_2mi),),
    )


def rules(
    on: MachineInfo | None = None,
    *,
    memory: MemoryPolicy = MemoryPolicy.STATIC,
    cpu: CpuPolicy = CpuPolicy.STATIC,
    reserved_cpus: Iterable[int] = (0,),
    strict: bool = False,
    reserved_bytes: int = GI,
) -> NodeRules:
    """Rules with both static policies; CPU 0 and 1Gi of node 0 are kept back."""
    reserved = frozenset(reserved_cpus)
    return NodeRules(
        machine=on or machine(),
        topology=TopologyRules(policy=TopologyPolicy.BEST_EFFORT),
        memory=MemoryRules(policy=memory, system_reserved={0: {"memory": reserved_bytes}}),
        cpu=CpuRules(
            policy=cpu,
            reserved_count=len(reserved),
            reserved_cpus=reserved,
            strict_cpu_reservation=strict,
        ),
    )


def staff(of: NodeRules) -> Roster:
    """The managers of these rules."""
    built = roster.build(of)
    assert not isinstance(built, StartRefused), built
    return built


def container(
    name: str, cpu: str, memory: str, kind: ContainerKind = ContainerKind.APP, **more: str
) -> Container:
    """A container; ``hugepages`` are of 2Mi, ``gpus`` are devices."""
    names = {"hugepages": "hugepages-2Mi", "gpus": GPU}
    resources = {"cpu": Quantity.parse(cpu), "memory": Quantity.parse(memory)}
    resources |= {names[each]: Quantity.parse(amount) for each, amount in more.items()}
    return Container(name, kind, resources, resources)


def pod(uid: str, *containers: Container) -> Pod:
    """A Guaranteed pod of these containers."""
    return builders.pod(uid, *containers, qos=QosClass.GUARANTEED)


PODS = (
    pod("u1", container("c", "1", "2Gi", hugepages="4Mi", gpus="1")),
    pod("u2", container("c", "2", "15Gi")),
    pod(
        "u3",
        container("i", "2", "3Gi", ContainerKind.INIT, hugepages="2Mi"),
        container("c", "1", "1Gi"),
    ),
)
"""One on a node, one in a group of two nodes, one whose containers share CPUs."""


def node(of: NodeRules | None = None, pods: Iterable[Pod] = PODS) -> Node:
    """A node on which these pods were admitted."""
    files: Files = {}
    of = of or rules()
    started = builders.node(of, files)
    assert started.roster.static_cpus is not None or of.cpu.policy is CpuPolicy.NONE
    started = started.devices_reported({GPU: [Device("gpu0", (0,)), Device("gpu1", (1,))]})
    for each in pods:
        started, decision = started.admit(each)
        assert decision.admitted, decision.rejection
    return started


def files(of: NodeRules | None = None, pods: Iterable[Pod] = PODS) -> Files:
    """The state files of such a node."""
    return node(of, pods).state_files()


def sealed(name: str, value: Json) -> str:
    """The text of a state file with this content and the checksum that v1.32 gives it."""
    text = json.dumps(value)
    match name:
        case _ if name == MEMORY:
            document = memory_file.read(text)
            assert isinstance(document, MemoryDocument), document
            return json.dumps(value | {"checksum": memory_file.checksum_of(document)})
        case _ if name == CPU:
            reading = cpu_file.read(json.dumps(value | {"checksum": 1}))
            assert isinstance(reading, CpuReading), reading
            return json.dumps(value | {"checksum": reading.expected})
        case _:
            checkpoint = device_file.read(text)
            assert isinstance(checkpoint, DeviceDocument), checkpoint
            return json.dumps(value | {"Checksum": device_file.checksum_of(checkpoint)})


def content(name: str, of: Files | None = None) -> Json:
    """The content of one of the files, to be changed."""
    value = json.loads((of or files())[name])
    assert isinstance(value, dict)
    return value


def codes(findings: Iterable[Finding]) -> list[str]:
    """Codes of findings, without what stands before the slash."""
    return [finding.code.partition("/")[2] for finding in findings]
