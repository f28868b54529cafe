"""The exclusive resources of a pod in words: devices, CPUs and memory of all containers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from numalet.core.cluster import classes
from numalet.core.model import cpu_set
from numalet.core.model.value import Value
from numalet.core.snapshot.placement import Placement
from numalet.wording import numbers


class HeldWords(Value):
    """Each in words, ``-`` if empty."""

    devices: str
    cpus: str
    memory: str


def held(placements: Mapping[str, Placement]) -> HeldWords:
    """Format the placements; devices without known ids are numbered."""
    devices: dict[str, list[str]] = {}
    memory: dict[str, int] = {}
    cpus: set[int] = set()
    for each in placements.values():
        cpus |= each.cpus
        for resource, ids in each.devices.items():
            devices.setdefault(resource, []).extend(ids)
        for block in each.memory:
            memory[block.resource] = memory.get(block.resource, 0) + block.size_bytes
    shown = (f"{resource} {_devices(ids)}" for resource, ids in sorted(devices.items()))
    return HeldWords("; ".join(shown) or "-", cpu_set.text(cpus) or "-", numbers.amounts(memory))


def _devices(ids: Sequence[str]) -> str:
    """Return the ids, or the numbers of made-up ones in the form of a CPU list."""
    known = classes.positions(list(ids))
    return ",".join(sorted(ids)) if known is None else cpu_set.text(known)
