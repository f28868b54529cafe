"""Why the Memory Manager refuses, or does not offer a set of nodes. Sizes in bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from numalet.core.model.numa_mask import NumaMask


@dataclass(frozen=True, slots=True)
class NotAnInteger:
    """A request that is no whole number of bytes in the form that the kubelet needs."""

    code: ClassVar[str] = "memory/not-an-integer"
    container: str
    resource: str
    quantity: str


@dataclass(frozen=True, slots=True)
class NoNodeFits:
    """No set of nodes has room, so that there is no default affinity."""

    code: ClassVar[str] = "memory/no-node-fits"
    container: str


@dataclass(frozen=True, slots=True)
class NothingOffered:
    """No hint: no set of nodes has room. Native mode only, the kubelet has no preference then."""

    code: ClassVar[str] = "memory/nothing-offered"


@dataclass(frozen=True, slots=True)
class DefaultNotPreferred:
    """A preferred affinity is needed, and the best set is larger than need be."""

    code: ClassVar[str] = "memory/default-not-preferred"
    container: str
    best: NumaMask


@dataclass(frozen=True, slots=True)
class CanNotExtend:
    """The affinity is too small, and no set that contains it has room."""

    code: ClassVar[str] = "memory/can-not-extend"
    container: str
    affinity: NumaMask


@dataclass(frozen=True, slots=True)
class ExtendedNotPreferred:
    """The affinity is too small, and the best set that contains it is not preferred."""

    code: ClassVar[str] = "memory/extended-not-preferred"
    container: str
    affinity: NumaMask
    best: NumaMask


@dataclass(frozen=True, slots=True)
class CutsGroup:
    """The affinity holds a node that is in use alone or in another group."""

    code: ClassVar[str] = "memory/cuts-group"
    container: str
    affinity: NumaMask
    node: int
    group: NumaMask


@dataclass(frozen=True, slots=True)
class UnknownMemoryType:
    """A node has no table for a requested type: the kubelet would crash here."""

    code: ClassVar[str] = "memory/unknown-type"
    resource: str
    node: int


@dataclass(frozen=True, slots=True)
class NoSuchPages:
    """No node has pages of this size. Native mode only, the kubelet would crash over it."""

    code: ClassVar[str] = "memory/no-such-pages"
    resource: str


@dataclass(frozen=True, slots=True)
class GivesNoMemory:
    """Not offered: these nodes are of a class that gives no memory to pods. Native mode only."""

    code: ClassVar[str] = "memory/gives-no-memory"
    nodes: NumaMask


@dataclass(frozen=True, slots=True)
class TooLittleAllocatable:
    """Not offered: even empty, these nodes could not hold the request."""

    code: ClassVar[str] = "memory/too-little-allocatable"
    mask: NumaMask
    resource: str
    asked_bytes: int
    allocatable_bytes: int


@dataclass(frozen=True, slots=True)
class NodeInGroup:
    """Not offered: this node is used as part of a group."""

    code: ClassVar[str] = "memory/node-in-group"
    node: int
    group: NumaMask


@dataclass(frozen=True, slots=True)
class NodeInUse:
    """Not offered: a node of the set is in use, alone or in another group."""

    code: ClassVar[str] = "memory/node-in-use"
    mask: NumaMask
    node: int
    group: NumaMask


@dataclass(frozen=True, slots=True)
class TooLittleFree:
    """Not offered: too much of these nodes is reserved already."""

    code: ClassVar[str] = "memory/too-little-free"
    mask: NumaMask
    resource: str
    asked_bytes: int
    free_bytes: int
