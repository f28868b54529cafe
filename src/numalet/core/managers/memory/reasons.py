"""Why the Memory Manager refuses, or does not offer a set of nodes. Sizes in bytes."""

from __future__ import annotations

from typing import ClassVar

from numalet.core.model.numa_mask import NumaMask
from numalet.core.model.value import Value


class NotAnInteger(Value):
    """The kubelet cannot represent the request as a whole number of bytes."""

    code: ClassVar[str] = "memory/not-an-integer"
    sentence: ClassVar[str] = (
        "Container {container} requests {quantity} of {resource}, which the kubelet cannot "
        "represent as a whole number of bytes; write it as a plain integer with or without a unit."
    )
    kubelet_text: ClassVar[str] = "[memorymanager] failed to represent quantity as int64"
    container: str
    resource: str
    quantity: str


class NoNodeFits(Value):
    """No set of nodes is large enough, so there is no default affinity."""

    code: ClassVar[str] = "memory/no-node-fits"
    sentence: ClassVar[str] = (
        "No set of NUMA nodes has enough free memory for container {container}."
    )
    kubelet_text: ClassVar[str] = (
        "[memorymanager] failed to get the default NUMA affinity, no NUMA nodes with enough "
        "memory is available"
    )
    container: str


class NothingOffered(Value):
    """No hints: no set of nodes has room. Native mode only; the kubelet has no preference then."""

    code: ClassVar[str] = "memory/nothing-offered"
    sentence: ClassVar[str] = "No set of NUMA nodes has enough free memory."


class DefaultNotPreferred(Value):
    """The affinity must be preferred, but the best free set is larger than necessary."""

    code: ClassVar[str] = "memory/default-not-preferred"
    sentence: ClassVar[str] = (
        "Container {container} needs a preferred placement, but the best free set is {best}, which "
        "has more NUMA nodes than necessary on an empty machine."
    )
    kubelet_text: ClassVar[str] = "[memorymanager] failed to find the default preferred hint"
    container: str
    best: NumaMask


class CanNotExtend(Value):
    """The affinity is too small, and no superset of it has room."""

    code: ClassVar[str] = "memory/can-not-extend"
    sentence: ClassVar[str] = (
        "NUMA nodes {affinity} have too little free memory for container {container}, and no "
        "larger set that contains them is available."
    )
    kubelet_text: ClassVar[str] = (
        "[memorymanager] failed to find NUMA nodes to extend the current topology hint"
    )
    container: str
    affinity: NumaMask


class ExtendedNotPreferred(Value):
    """The affinity is too small, and the best superset of it is not preferred."""

    code: ClassVar[str] = "memory/extended-not-preferred"
    sentence: ClassVar[str] = (
        "NUMA nodes {affinity} have too little free memory for container {container}; the best "
        "larger set is {best}, which is not preferred."
    )
    kubelet_text: ClassVar[str] = "[memorymanager] failed to find the extended preferred hint"
    container: str
    affinity: NumaMask
    best: NumaMask


class CutsGroup(Value):
    """The affinity includes a node that is in use alone or in another group."""

    code: ClassVar[str] = "memory/cuts-group"
    sentence: ClassVar[str] = (
        "Container {container} would use NUMA nodes {affinity}, but node {node} is in use as "
        "{group}; nodes in use can be used again only as the same set."
    )
    kubelet_text: ClassVar[str] = "[memorymanager] preferred hint violates NUMA node allocation"
    container: str
    affinity: NumaMask
    node: int
    group: NumaMask


class UnknownMemoryType(Value):
    """A node has no table for a requested type: the kubelet would crash here."""

    code: ClassVar[str] = "memory/unknown-type"
    sentence: ClassVar[str] = (
        "{resource} requested, but NUMA node {node} does not have pages of that size."
    )
    resource: str
    node: int


class NoSuchPages(Value):
    """No node has pages of this size. Native mode only; the kubelet would crash."""

    code: ClassVar[str] = "memory/no-such-pages"
    sentence: ClassVar[str] = "{resource} requested, but no NUMA node has pages of that size."
    kubelet_text: ClassVar[str] = "[memorymanager] no NUMA node has {resource}"
    resource: str


class GivesNoMemory(Value):
    """Not offered: the nodes' class excludes their memory from pods. Native mode only."""

    code: ClassVar[str] = "memory/gives-no-memory"
    sentence: ClassVar[str] = "NUMA nodes {nodes} provide no memory to pods (memoryNodeClasses)."
    brief: ClassVar[str] = "nodes {nodes} provide no memory to pods"
    nodes: NumaMask


class TooLittleAllocatable(Value):
    """Not offered: even empty, these nodes could not hold the request."""

    code: ClassVar[str] = "memory/too-little-allocatable"
    sentence: ClassVar[str] = (
        "NUMA nodes {mask} have {allocatable_bytes} of {resource} allocatable; {asked_bytes} "
        "requested."
    )
    brief: ClassVar[str] = (
        "{short_bytes} of {resource} short, even empty ({allocatable_bytes} allocatable)"
    )
    mask: NumaMask
    resource: str
    asked_bytes: int
    allocatable_bytes: int


class NodeInGroup(Value):
    """Not offered: this node is in use as part of a group."""

    code: ClassVar[str] = "memory/node-in-group"
    sentence: ClassVar[str] = "NUMA node {node} is in use as part of the group {group}."
    brief: ClassVar[str] = "node {node} belongs to group {group} of {holders}"
    node: int
    group: NumaMask


class NodeInUse(Value):
    """Not offered: a node of the set is in use, alone or in another group."""

    code: ClassVar[str] = "memory/node-in-use"
    sentence: ClassVar[str] = (
        "NUMA nodes {mask} cannot be used together: node {node} is in use as {group}."
    )
    brief: ClassVar[str] = "overlaps {group}, in use by {holders}"
    mask: NumaMask
    node: int
    group: NumaMask


class TooLittleFree(Value):
    code: ClassVar[str] = "memory/too-little-free"
    sentence: ClassVar[str] = (
        "NUMA nodes {mask} have {free_bytes} of {resource} free; {asked_bytes} requested."
    )
    brief: ClassVar[str] = "{short_bytes} of {resource} short ({free_bytes} free)"
    mask: NumaMask
    resource: str
    asked_bytes: int
    free_bytes: int


class NoMemoryToShare(Value):
    """A pod placed as a whole has no memory for containers that share. A typed admission error."""

    code: ClassVar[str] = "memory/no-memory-to-share"
    sentence: ClassVar[str] = (
        "The pod requests {total_bytes} of {resource} in spec.resources. Containers with exclusive "
        "memory use {exclusive_bytes}, which leaves nothing for the containers that share."
    )
    kubelet_text: ClassVar[str] = (
        "pod rejected, sum of exclusive container {resource} requests equals pod budget, leaving "
        "no memory for shared containers"
    )
    kubelet_reason: ClassVar[str] = "EmptyPodSharedPoolError"
    resource: str
    total_bytes: int
    exclusive_bytes: int


class NoMemoryToShareAtStart(Value):
    """A pod placed as a whole has no memory for an init container that shares.

    A typed admission error; ``exclusive_bytes`` is the memory of the sidecars before it.
    """

    code: ClassVar[str] = "memory/no-memory-to-share-at-start"
    sentence: ClassVar[str] = (
        "The pod requests {total_bytes} of {resource} in spec.resources. Its sidecars use "
        "{exclusive_bytes} exclusively, which leaves nothing for init container {container}, which "
        "shares."
    )
    kubelet_text: ClassVar[str] = (
        "pod rejected, pod has shared init containers but no {resource} available for them"
    )
    kubelet_reason: ClassVar[str] = "EmptyPodSharedPoolError"
    container: str
    resource: str
    total_bytes: int
    exclusive_bytes: int


class PartNotAnInteger(Value):
    """``NotAnInteger`` for a container of a pod placed as a whole. A typed admission error."""

    code: ClassVar[str] = "memory/part-not-an-integer"
    sentence: ClassVar[str] = NotAnInteger.sentence
    kubelet_text: ClassVar[str] = NotAnInteger.kubelet_text
    kubelet_reason: ClassVar[str] = "EmptyPodSharedPoolError"
    container: str
    resource: str
    quantity: str
