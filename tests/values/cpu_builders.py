"""Short ways to write machines with CPUs, pods that ask for them, and static policies in tests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from numalet.core.config.rules import CpuPolicy, CpuRules
from numalet.core.hints.provider import Hint
from numalet.core.managers.cpu import cpu_mask, static_policy, topology
from numalet.core.managers.cpu.cpu_mask import CpuMask
from numalet.core.managers.cpu.ledger import CpuLedger
from numalet.core.managers.cpu.static_policy import CpuStaticPolicy
from numalet.core.managers.cpu.topology import CpuTopology
from numalet.core.model import cpu_set, numa_mask
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.findings import Finding
from numalet.core.model.machine_info import CoreInfo, MachineInfo, NumaNodeInfo
from numalet.core.model.pod import Container, ContainerKind, Pod, QosClass
from numalet.core.model.quantity import Quantity

Core = tuple[int, tuple[int, ...], int | None]
"""Socket, threads, uncore cache."""


def machine(*nodes: Iterable[Core]) -> MachineInfo:
    """A machine with these cores on its NUMA nodes 0, 1, 2 ..."""
    infos = tuple(
        NumaNodeInfo(
            at,
            memory_bytes=1 << 30,
            cores=tuple(
                CoreInfo(socket, number, threads, cache)
                for number, (socket, threads, cache) in enumerate(cores)
            ),
        )
        for at, cores in enumerate(nodes)
    )
    cores = [core for info in infos for core in info.cores]
    return MachineInfo(
        nodes=infos,
        memory_capacity_bytes=len(infos) << 30,
        cpu_count=len({cpu for core in cores for cpu in core.threads}),
        socket_count=len({core.socket_id for core in cores}),
    )


def shape(
    sockets: int, nodes: int, cores: int, threads: int, cores_per_cache: int | None = None
) -> MachineInfo:
    """Sockets, NUMA nodes in all, cores per node, threads per core; second threads come last."""
    all_cores = nodes * cores
    return machine(
        *(
            [
                (
                    node * sockets // nodes,
                    tuple(core + all_cores * thread for thread in range(threads)),
                    core // cores_per_cache if cores_per_cache else None,
                )
                for core in range(node * cores, (node + 1) * cores)
            ]
            for node in range(nodes)
        )
    )


def discovered(sockets: int, nodes: int, cores: int, threads: int) -> CpuTopology:
    """The topology of such a shape."""
    return topology.discover(shape(sockets, nodes, cores, threads))


def mask(cpus: str) -> CpuMask:
    """The mask of a CPU list."""
    return cpu_mask.of(cpu_set.parse(cpus))


def text(cpus: object) -> str:
    """The CPU list of a mask; anything else must not come here."""
    assert isinstance(cpus, int), cpus
    return cpu_set.text(cpu_mask.ids(cpus))


def cpus(listed: str) -> CpuSet:
    """The set of a CPU list."""
    return cpu_set.parse(listed)


def rules(reserved: int | str = 1, *options: str) -> CpuRules:
    """Rules of the static policy: reserved by count or by list, and options that are on."""
    chosen = cpus(reserved) if isinstance(reserved, str) else None
    count = reserved if isinstance(reserved, int) else len(cpus(reserved))
    on = {option.replace("-", "_").replace("uncorecache", "uncore_cache") for option in options}
    return CpuRules(
        policy=CpuPolicy.STATIC,
        reserved_count=count,
        reserved_cpus=chosen,
        full_pcpus_only="full_pcpus_only" in on,
        distribute_cpus_across_numa="distribute_cpus_across_numa" in on,
        align_by_socket="align_by_socket" in on,
        distribute_cpus_across_cores="distribute_cpus_across_cores" in on,
        strict_cpu_reservation="strict_cpu_reservation" in on,
        prefer_align_cpus_by_uncore_cache="prefer_align_cpus_by_uncore_cache" in on,
    )


def policy(on: MachineInfo, reserved: int | str = 1, *options: str) -> CpuStaticPolicy:
    """The manager with these rules; they must be good."""
    built = static_policy.build(rules(reserved, *options), topology.discover(on))
    assert not isinstance(built, Finding), built
    return built


def empty(of: CpuStaticPolicy) -> CpuLedger:
    """The ledger of an empty node."""
    return CpuLedger(of.initial_default)


def container(
    name: str, cpu: str | None = "1", kind: ContainerKind = ContainerKind.APP
) -> Container:
    """A container with so much CPU as request and limit."""
    resources = {} if cpu is None else {"cpu": Quantity.parse(cpu)}
    return Container(name, kind, resources, resources)


def init(name: str, cpu: str) -> Container:
    """An init container."""
    return container(name, cpu, ContainerKind.INIT)


def sidecar(name: str, cpu: str) -> Container:
    """A restartable init container."""
    return container(name, cpu, ContainerKind.SIDECAR)


def pod(uid: str, *containers: Container, qos: QosClass = QosClass.GUARANTEED) -> Pod:
    """A pod of these containers, in their order."""
    return Pod(
        uid=uid,
        name=uid,
        init_containers=tuple(c for c in containers if c.kind is not ContainerKind.APP),
        app_containers=tuple(c for c in containers if c.kind is ContainerKind.APP),
        qos_class=qos,
    )


def simple(uid: str, cpu: str) -> Pod:
    """A Guaranteed pod of one app container named ``c``."""
    return pod(uid, container("c", cpu))


def masks(hints: Sequence[Hint]) -> list[str]:
    """Hints as short texts: ``{0,1}*`` is preferred."""
    shown = []
    for hint in hints:
        assert hint.mask is not None
        shown.append(numa_mask.text(hint.mask) + ("*" if hint.preferred else ""))
    return shown
