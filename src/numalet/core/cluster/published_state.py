"""PublishedState: what a node publishes of its ledgers, as a value without names of tenants.

Pods are uids, containers a few digits of a hash, devices positions among the sorted ids of their
resource. What is as on an empty node of the class is left out, so that a node with little on it
has a small state. How it is written is the matter of documents.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from numalet.core.hints.hint import Hint
from numalet.core.managers.memory.ledger import Blocks
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.numa_mask import NumaMask
from numalet.core.model.pod import ContainerKey
from numalet.core.model.value import Value, field

Positions = tuple[int, ...]
"""Devices of one resource by position, ascending."""

_HASH_DIGITS: Final = 6


class Held(Value, kw_only=True):
    """What one holder has; None is no record, which is not an empty record."""

    cpus: CpuSet | None = None
    memory: Blocks | None = None
    devices: Mapping[str, Positions] = MappingProxyType({})


class ContainerHeld(Value, kw_only=True):
    """What a container has, and what outlives its admission otherwise.

    ``affinity`` is kept where devices are allocated by it only when the container starts.
    ``ran_at_start`` and ``is_assumed`` are for the time after the kubelet's start: the runtime said
    that it runs, and it counts as active although its pod is not known yet.
    """

    container_hash: str
    held: Held = field(default_factory=Held)
    affinity: Hint | None = None
    ran_at_start: bool = False
    is_assumed: bool = False


class PodHeld(Value, kw_only=True):
    """What a pod has: its containers in order of their names, itself as a whole, what it may reuse.

    ``reusable_memory`` is in bytes by set of NUMA nodes and memory type.
    """

    containers: tuple[ContainerHeld, ...] = ()
    whole: Held = field(default_factory=Held)
    reusable: Held = field(default_factory=Held)
    reusable_memory: tuple[tuple[NumaMask, str, int], ...] = ()


class NodeMemoryState(Value, kw_only=True):
    """Memory of one NUMA node that is not as on an empty node; bytes by memory type.

    ``free`` has the types of which not all is free that is not reserved.
    """

    assignments: int
    group: NumaMask
    reserved: Mapping[str, int]
    free: Mapping[str, int] = MappingProxyType({})


class DevicesState(Value, kw_only=True):
    """Devices of a resource that are not all there and healthy. All are positions among ``count``.

    ``known`` are those that the class has, in its order. A resource that ``is_registered`` has a
    plugin, or had one less than the grace period ago.
    """

    count: int
    known: Positions
    healthy: Positions
    unhealthy: Positions
    is_registered: bool


class PublishedState(Value, kw_only=True):
    """The state of a node, apart from its class and from its pods that hold nothing.

    ``in_use`` are the devices that are not given out, of resources where these are not just those
    that containers hold; ``shared_cpus`` is None under the policy none.
    """

    shared_cpus: CpuSet | None = None
    memory: Mapping[int, NodeMemoryState] = MappingProxyType({})
    devices: Mapping[str, DevicesState] = MappingProxyType({})
    in_use: Mapping[str, Positions] = MappingProxyType({})
    pods: Mapping[str, PodHeld] = MappingProxyType({})
    sources_ready: bool = True


def container_hash(key: ContainerKey) -> str:
    """What stands for a container: 6 hex digits of the SHA-256 of its pod's uid and its name."""
    text = f"{key.pod_uid}/{key.container}"
    return hashlib.sha256(text.encode()).hexdigest()[:_HASH_DIGITS]
