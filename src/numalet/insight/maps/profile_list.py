"""The machine profiles as rows, with the sizes of the kubelet's view."""

from __future__ import annotations

from collections.abc import Iterable

from numalet.core.model.machine_info import MachineInfo
from numalet.core.model.value import Value


class ProfileRow(Value, kw_only=True):
    """One profile.

    ``numa_nodes`` includes every NUMA node; the numbers of nodes with CPUs and with memory include
    those nodes only. ``device_counts`` is by resource.
    """

    name: str
    about: str
    figures: str
    numa_nodes: int
    nodes_with_cpus: int
    nodes_with_memory: int
    cpus: int
    memory_bytes: int
    device_counts: tuple[tuple[str, int], ...]


def profile_row(
    name: str,
    about: str,
    figures: str,
    machine: MachineInfo,
    device_counts: Iterable[tuple[str, int]],
) -> ProfileRow:
    return ProfileRow(
        name=name,
        about=about,
        figures=figures,
        numa_nodes=len(machine.nodes),
        nodes_with_cpus=sum(1 for node in machine.nodes if node.cores),
        nodes_with_memory=sum(1 for node in machine.nodes if node.memory_bytes),
        cpus=machine.cpu_count,
        memory_bytes=machine.memory_capacity_bytes,
        device_counts=tuple(device_counts),
    )
