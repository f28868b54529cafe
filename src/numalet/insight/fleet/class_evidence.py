"""The machine of a group of nodes, as far as labels, capacity and zones determine it.

A label has to name the machine, or a NodeResourceTopology its NUMA nodes. Equal sizes alone never
determine it: they are only mentioned.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Final

from numalet.core.model import resources
from numalet.core.model.quantity import ZERO
from numalet.core.model.value import Value, replace
from numalet.insight.fleet.class_groups import GPU_MACHINE, NodeGroup
from numalet.wording import numbers

_NFD: Final = "feature.node.kubernetes.io/"
_HYPER_THREADS: Final = f"{_NFD}cpu-hardware_multithreading"
_SEVERAL_NODES: Final = f"{_NFD}memory-numa"
_MEMORY_TOLERANCE: Final = 20
"""Published and usable memory of a machine differ by less than 1 part in this number."""

Placed = Mapping[str, tuple[str, ...]]
"""Devices by resource, each as in a device file: ``gpu0@0``."""
NO_DEVICES: Final[Placed] = MappingProxyType({})


class KnownMachine(Value, kw_only=True):
    """A machine profile: its size, its devices, and the patterns of labels of such nodes.

    ``cpu_nodes`` counts its NUMA nodes with CPUs.
    """

    name: str
    cpus: int
    memory_bytes: int
    cpu_nodes: int
    devices: Placed = NO_DEVICES
    instance_types: tuple[str, ...] = ()
    machines: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()


class Proposal(Value, kw_only=True):
    """A value of ``machine`` or nothing, and the reasons.

    ``cpu_nodes`` counts the NUMA nodes with CPUs, ``devices`` are those that the machine brings.
    """

    machine: str | None = None
    memory_per_node: str | None = None
    cpu_nodes: int = 0
    devices: Placed = NO_DEVICES
    reasons: tuple[str, ...] = ()


def proposed(group: NodeGroup, known: Sequence[KnownMachine]) -> Proposal:
    """Return the machine of a group; the first reason is the decisive one."""
    against = []
    for machine, label in _named(group, known):
        contradiction = _contradiction(group, machine)
        if not contradiction:
            size = numbers.rounded_size(group.memory_bytes)
            return Proposal(
                machine=f"profile:{machine.name}",
                cpu_nodes=machine.cpu_nodes,
                devices=machine.devices,
                reasons=(f"{label} names it; {group.cpus} CPUs and {size} agree",),
            )
        against.append(f"{label} names profile:{machine.name}, but {contradiction}")
    shape = _of_zones(group) or _of_one_node(group)
    if shape is not None:
        return replace(shape, reasons=(*shape.reasons, *against))
    return Proposal(reasons=(*against, *_unknown(group, known, is_named=bool(against))))


def _named(group: NodeGroup, known: Iterable[KnownMachine]) -> Iterable[tuple[KnownMachine, str]]:
    machine = group.first.labels.get(GPU_MACHINE, "")
    for each in known:
        if _matches(group.instance_type, each.instance_types):
            yield each, f"the instance type {group.instance_type}"
        elif _matches(machine, each.machines):
            yield each, f"the label {GPU_MACHINE}={machine}"


def _matches(value: str, patterns: Iterable[str]) -> bool:
    return bool(value) and any(fnmatchcase(value.lower(), each.lower()) for each in patterns)


def _contradiction(group: NodeGroup, machine: KnownMachine) -> str:
    if machine.cpus != group.cpus:
        return f"that machine has {machine.cpus} CPUs, the node {group.cpus}"
    if not _is_near(machine.memory_bytes, group.memory_bytes):
        that = numbers.rounded_size(machine.memory_bytes)
        return f"that machine has {that}, the node {numbers.rounded_size(group.memory_bytes)}"
    zones = _zones(group)
    if zones and len(zones) != machine.cpu_nodes:
        return (
            f"its NodeResourceTopology has {numbers.counted(len(zones), 'zone')} with CPUs, that "
            f"machine {machine.cpu_nodes} (another BIOS setting?)"
        )
    return ""


def _is_near(one: int, other: int) -> bool:
    return abs(one - other) * _MEMORY_TOLERANCE <= max(one, other)


def _zones(group: NodeGroup) -> dict[int, int]:
    """The CPUs of each NUMA node that has some, by its NodeResourceTopology."""
    if group.topology is None:
        return {}
    return {
        zone: held[resources.CPU].value
        for zone, held in group.topology.capacity.items()
        if not held.get(resources.CPU, ZERO).is_zero
    }


def _of_zones(group: NodeGroup) -> Proposal | None:
    zones = _zones(group)
    sizes = set(zones.values())
    if not zones or sorted(zones) != list(range(len(zones))) or len(sizes) != 1:
        return None
    (size,) = sizes
    if size * len(zones) != group.cpus:
        return None
    return _shape(
        group,
        len(zones),
        f"its NodeResourceTopology has {numbers.counted(len(zones), 'zone')} of {size} CPUs",
    )


def _of_one_node(group: NodeGroup) -> Proposal | None:
    """NFD labels nodes with several NUMA nodes, so a node without that label has one."""
    labels = group.first.labels
    if _SEVERAL_NODES in labels or not any(each.startswith(f"{_NFD}cpu-") for each in labels):
        return None
    return _shape(group, 1, f"NFD labels the node, but not with {_SEVERAL_NODES}")


def _shape(group: NodeGroup, count: int, reason: str) -> Proposal:
    said = group.first.labels.get(_HYPER_THREADS)
    size = group.cpus // count
    threads = 2 if said != "false" and size % 2 == 0 else 1
    whence = f"{_HYPER_THREADS}={said}" if said else "assumed"
    assumed = "a socket for each NUMA node and the numbers of CPUs are assumed"
    return Proposal(
        machine=f"{count}n{size // threads}c{threads}t",
        memory_per_node=f"{group.memory_bytes // count // 1024}Ki",
        cpu_nodes=count,
        reasons=(f"{reason}; {threads} threads of a core ({whence}); {assumed}",),
    )


def _unknown(group: NodeGroup, known: Iterable[KnownMachine], *, is_named: bool) -> Iterable[str]:
    if not is_named:
        label = group.instance_type or "none"
        yield f"no label names a machine that numalet knows (instance type: {label})"
    similar = [
        f"profile:{each.name}"
        for each in known
        if each.cpus == group.cpus
        and _is_near(each.memory_bytes, group.memory_bytes)
        and (not each.gpus or _matches(group.gpu, each.gpus))
    ]
    if similar:
        yield f"of its size are {', '.join(similar)}; no label says that it is one of them"
    name = group.first.name
    yield (
        f"on {name} run: numalet machine --capture {name}.tar.gz; then write machine: "
        f"{name}.tar.gz, or a shape by what lscpu prints"
    )
    shapes = [f"{n}n{group.cpus // n // 2}c2t" for n in (1, 2, 4) if group.cpus % (2 * n) == 0]
    if shapes:
        yield f"shapes of its size: {', '.join(shapes)} (N NUMA nodes, cores of each, threads)"
