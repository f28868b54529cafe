"""Our sentences for what the kubelet would crash on or not get through: what it would do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

SENTENCES: Final[Mapping[str, str]] = {
    "numalet/node-id-too-high": (
        "{field} {policy!r} can not be followed here: NUMA node {numa_node} is above {highest}, "
        "and the kubelet would panic, because its masks of nodes hold the ids 0 to {highest}"
    ),
    "numalet/reservation-wraps": (
        "NUMA node {numa_node} has {size_bytes} bytes of {type} that can be given away, and "
        "{reserved_bytes} bytes are reserved; the kubelet would take the difference for nearly "
        "2^64 bytes. It can be followed with at most {limit} NUMA nodes"
    ),
    "numalet/reserved-too-much": (
        "reservedMemory keeps back {reserved_bytes} bytes of {type} on NUMA node {numa_node}, which"
        " has {size_bytes} bytes that can be given away"
    ),
    "numalet/no-node-gives-memory": (
        "memoryNodeClasses lets NUMA nodes of the classes [{classes}] give memory to pods, and"
        " those of this machine are of the classes [{there}]"
    ),
}
