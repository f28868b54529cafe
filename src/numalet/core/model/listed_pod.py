"""A pod in the kubelet's pod resources API: its name, and each container's allocation."""

from __future__ import annotations

from collections.abc import Mapping

from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.value import Value


class Holdings(Value):
    """One container's allocation: CPUs; memory by type, size and nodes; devices by resource."""

    cpus: CpuSet
    memory: frozenset[tuple[str, int, tuple[int, ...]]]
    devices: frozenset[tuple[str, frozenset[str]]]

    @property
    def is_nothing(self) -> bool:
        return not (self.cpus or self.memory or self.devices)


class ListedPod(Value):
    """A pod in the API's list: ``namespace/name``, and its containers by name."""

    name: str
    containers: Mapping[str, Holdings]
