"""The rules of state files, as sentences: what must hold, by the code of a breach."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_CHECKSUM: Final = "The checksum is the one of the content."
_DECODES: Final = "The file is JSON that Go decodes."
_READABLE: Final = "The file is of the format of v1.32."
_POLICY: Final = "The policy is one that the manager knows, and decides what the file holds."
_POOL: Final = "Under policy static the pool is never empty while CPUs are given away."
_PODS: Final = "A pod has containers, and a container holds something."
_ALONE: Final = "What a pod holds, no other pod holds, and the pool does not have."
_PAGES: Final = "Huge pages are whole pages of the size that their name says."
_GROUPS: Final = "A node is in one group, with nodes that say the same; without blocks it is alone."
_BLOCK_NODES: Final = "A block is on nodes of the node map that have memory of its type."
_MACHINE: Final = "The file is about this machine."
_A_KUBELET: Final = "Native mode writes what no kubelet does; only numalet starts with it."
_DEVICES: Final = "A device in use is one that its plugin reported as healthy."

RULES: Final[Mapping[str, str]] = {
    "memory-state/not-json": _DECODES,
    "cpu-state/not-json": _DECODES,
    "device-state/not-json": _DECODES,
    "memory-state/corrupted": _CHECKSUM,
    "cpu-state/corrupted": _CHECKSUM,
    "device-state/corrupted": _CHECKSUM,
    "state/unsealed": _CHECKSUM,
    "memory-state/early-layout": _READABLE,
    "state/first-format": _READABLE,
    "state/container-ids": _READABLE,
    "cpu-state/bad-default": "A set of CPUs is a list such as 0-3,8.",
    "cpu-state/bad-cpus": "A set of CPUs is a list such as 0-3,8.",
    "state/memory-policy": _POLICY,
    "state/cpu-policy": _POLICY,
    "state/none-holds-memory": _POLICY,
    "state/none-holds-cpus": _POLICY,
    "state/windows-policy": _POLICY,
    "state/file-missing": "The CPU file and the memory file are both there, or none of them.",
    "state/no-node-map": "With memory given away there is a node map.",
    "state/node-id": "Node ids are 0 to 1023.",
    "state/no-memory-table": "A node has a table for memory, and one for each size of huge pages.",
    "state/type-name": "A memory type is memory, or hugepages- and a size.",
    "state/types-differ": "Every node has the same memory types.",
    "state/would-crash": "Every node has the same memory types.",
    "state/part-of-a-page": _PAGES,
    "state/block-part-of-a-page": _PAGES,
    "state/allocatable": (
        "allocatable = total - system reserved, for memory also - all huge pages of the node."
    ),
    "state/wrapped": "No more is reserved than there is.",
    "state/table-sum": "free + reserved = allocatable, for every node and type.",
    "state/assignments": "A node's assignments are the blocks on it.",
    "state/not-in-its-group": _GROUPS,
    "state/group-of-absent-nodes": _GROUPS,
    "state/group-names-twice": _GROUPS,
    "state/idle-group": _GROUPS,
    "state/groups-overlap": _GROUPS,
    "state/pod-without-containers": _PODS,
    "state/container-without-blocks": _PODS,
    "state/cpu-pod-without-containers": _PODS,
    "state/no-cpus": _PODS,
    "state/device-entry-nameless": _PODS,
    "state/device-entry-empty": _PODS,
    "state/device-group": _PODS,
    "state/type-twice": "A container has one block of a type.",
    "state/block-nodes": _BLOCK_NODES,
    "state/block-on-absent-node": _BLOCK_NODES,
    "state/block-of-absent-type": _BLOCK_NODES,
    "state/sums": "For every type, the blocks' sizes = what the nodes have reserved.",
    "state/would-not-restart": (
        "The blocks, put on an empty machine, give the node map, per group and type."
    ),
    "state/empty-default": _POOL,
    "state/cpus-in-pool": _ALONE,
    "state/cpus-of-two-pods": _ALONE,
    "state/device-of-two-pods": _ALONE,
    "state/device-entry-twice": "There is one entry per pod, container and resource.",
    "state/device-listed-twice": "A device is listed once.",
    "state/device-response": "The plugin's answer is a message of the plugin API.",
    "state/device-unregistered": _DEVICES,
    "state/device-not-healthy": _DEVICES,
    "state/device-on-absent-node": _MACHINE,
    "state/native-node-ids": _A_KUBELET,
    "state/native-many-nodes": _A_KUBELET,
    "state/native-reserved-pages": _A_KUBELET,
    "state/native-node-classes": _A_KUBELET,
    "state/native-page-size": _A_KUBELET,
    "state/other-nodes": _MACHINE,
    "state/other-total": _MACHINE,
    "state/absent-cpus": _MACHINE,
    "state/cpus-in-no-set": _MACHINE,
}
"""Rules by code; every finding of a verification has one."""
