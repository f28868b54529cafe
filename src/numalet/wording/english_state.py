"""Sentences about state files that a kubelet would not start with."""

from __future__ import annotations

from collections.abc import Mapping

SENTENCES: Mapping[str, str] = {
    "memory-state/not-json": "The memory manager's state file can not be decoded: {error}.",
    "memory-state/corrupted": (
        "The memory manager's state file says checksum {checksum}, but its content has checksum"
        " {expected}: it was changed by something else than a kubelet, or is of another format."
    ),
    "memory-state/early-layout": (
        "The memory manager's state file is of the layout before the first release (groups are"
        " called 'nodes'). Its checksum {checksum} is right by the rule of that layout; the"
        " kubelet v1.32 does not read it and calls it corrupted."
    ),
    "memory-state/other-policy": (
        "The memory manager's state file was written under policy {found!r}; the configuration"
        " says {configured!r}. The file must be deleted before the policy can change."
    ),
    "memory-state/no-machine-state": (
        "The memory manager's state file assigns memory to pods {pods}, but has no node map."
    ),
    "memory-state/unknown-node": (
        "The memory manager's state file assigns {type} on NUMA node {node} to container"
        " {container} of pod {pod}; this machine has no such node."
    ),
    "memory-state/unknown-type": (
        "The memory manager's state file assigns {type} on NUMA node {node} to container"
        " {container} of pod {pod}; that node has no memory of this type."
    ),
    "memory-state/differs": (
        "The memory manager's state file does not fit this machine and configuration: {what} of"
        " NUMA node {node} is {found}, expected is {expected}."
    ),
    "memory-state/would-crash": (
        "Refused, because the kubelet v1.32 itself would crash at this start: the memory manager's"
        " state file has the NUMA nodes {node} and {other} in one group, and while it adds up"
        " {type} over the group it finds that node {other} does not offer pages of that size at"
        " all. It starts again once the file is deleted."
    ),
    "cpu-state/not-json": "The CPU manager's state file can not be decoded: {error}.",
    "cpu-state/corrupted": (
        "The CPU manager's state file says checksum {checksum}, but its content has checksum"
        " {expected}."
    ),
    "cpu-state/other-policy": (
        "The CPU manager's state file was written under policy {found!r}; the configuration says"
        " {configured!r}. The file must be deleted before the policy can change."
    ),
    "cpu-state/unknown-container-id": (
        "The CPU manager's state file is of the first format and names the container id"
        " {container_id!r}, which the container runtime does not know."
    ),
    "cpu-state/bad-default": (
        "The CPU manager's state file has the default CPU set {cpus!r}: {error}."
    ),
    "cpu-state/bad-cpus": (
        "The CPU manager's state file gives container {container} of pod {pod} the CPU set"
        " {cpus!r}: {error}."
    ),
}
