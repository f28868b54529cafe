"""A pod as a kubelet's pod resources API lists it: by name, with what each container holds."""

from __future__ import annotations

from collections.abc import Mapping

from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.value import Value


class Holdings(Value):
    """What one container holds: CPUs, memory by type, size and nodes, devices by resource."""

    cpus: CpuSet
    memory: frozenset[tuple[str, int, tuple[int, ...]]]
    devices: frozenset[tuple[str, frozenset[str]]]

    @property
    def is_nothing(self) -> bool:
        """Whether the container holds nothing of its own."""
        return not (self.cpus or self.memory or self.devices)


class ListedPod(Value):
    """A pod as the API lists it: ``namespace/name``, and its containers by name."""

    name: str
    containers: Mapping[str, Holdings]
