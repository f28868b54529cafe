"""The published part of a node's ledgers, as a value without names of tenants.

Pods are uids, containers a few digits of a hash, devices positions in the sorted ids of their
resource. Values that equal an empty node of the class are left out, so a lightly used node has a
small state. ``io`` defines its format.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from numalet.core.hints.provider import Hint
from numalet.core.managers.memory.ledger import Blocks
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.numa_mask import NumaMask
from numalet.core.model.pod import ContainerKey
from numalet.core.model.value import Value, field

Positions = tuple[int, ...]
"""Devices of one resource by position, ascending."""

_HASH_DIGITS: Final = 6


class Held(Value, kw_only=True):
    """One holder's allocation. None: no record; a record may also be empty."""

    cpus: CpuSet | None = None
    memory: Blocks | None = None
    devices: Mapping[str, Positions] = MappingProxyType({})


class ContainerHeld(Value, kw_only=True):
    """A container's allocation, and other state that outlives its admission.

    ``affinity`` is set if devices are allocated with it only when the container starts.
    ``ran_at_start`` and ``is_assumed`` matter after the kubelet's start: the runtime reported the
    container as running, and it is active although its pod is still unknown.
    """

    container_hash: str
    held: Held = field(default_factory=Held)
    affinity: Hint | None = None
    ran_at_start: bool = False
    is_assumed: bool = False


class PodHeld(Value, kw_only=True):
    """A pod's allocation: its containers in order of name, the whole pod, its reusable resources.

    ``reusable_memory`` is in bytes by set of NUMA nodes and memory type.
    """

    containers: tuple[ContainerHeld, ...] = ()
    whole: Held = field(default_factory=Held)
    reusable: Held = field(default_factory=Held)
    reusable_memory: tuple[tuple[NumaMask, str, int], ...] = ()


class NodeMemoryState(Value, kw_only=True):
    """Memory of one NUMA node that differs from an empty node; bytes by memory type.

    ``free`` has the types with free memory other than allocatable minus reserved.
    """

    assignments: int
    group: NumaMask
    reserved: Mapping[str, int]
    free: Mapping[str, int] = MappingProxyType({})


class DevicesState(Value, kw_only=True):
    """Devices of a resource that are not all present and healthy, as positions below ``count``.

    ``known`` are those of the class, in its order. A resource that ``is_registered`` has a plugin,
    or had one within the grace period.
    """

    count: int
    known: Positions
    healthy: Positions
    unhealthy: Positions
    is_registered: bool


class PublishedState(Value, kw_only=True):
    """The state of a node without its class and without pods that have no allocations.

    ``in_use`` has the devices in use, for resources where they differ from the containers' devices.
    ``shared_cpus`` exists only under the policy static.
    """

    shared_cpus: CpuSet | None = None
    memory: Mapping[int, NodeMemoryState] = MappingProxyType({})
    devices: Mapping[str, DevicesState] = MappingProxyType({})
    in_use: Mapping[str, Positions] = MappingProxyType({})
    pods: Mapping[str, PodHeld] = MappingProxyType({})
    sources_ready: bool = True


def container_hash(key: ContainerKey) -> str:
    """Return 6 hex digits of the SHA-256 of the pod's uid and the container's name."""
    text = f"{key.pod_uid}/{key.container}"
    return hashlib.sha256(text.encode()).hexdigest()[:_HASH_DIGITS]
