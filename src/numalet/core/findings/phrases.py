"""Reasons that findings of several areas share."""

from __future__ import annotations

from typing import Final

ALONE: Final = "What a pod holds, no other pod holds, and the pool does not have."
CHECKSUM: Final = "The checksum is the one of the content."
CPUS: Final = (
    "The static CPU policy keeps whole CPUs back for the system: those of reservedSystemCPUs, or "
    "as many as kubeReserved and systemReserved come to, rounded up."
)
FORMULA: Final = (
    "Under the memory policy Static the sum of reservedMemory over all NUMA nodes must equal "
    "kubeReserved + systemReserved + the hard eviction threshold, for each type of memory."
)
GROUPS: Final = "A node is in one group, with nodes that say the same; without blocks it is alone."
MACHINE: Final = "The file is about this machine."
OPTIONS: Final = (
    "Options of a policy must be known, must have the gate of their level of maturity, and must "
    "have a value of their type; a policy refuses options that contradict each other."
)
PAGES: Final = "Huge pages are whole pages of the size that their name says."
PODS: Final = "A pod has containers, and a container holds something."
POLICY: Final = "The policy is one that the manager knows, and decides what the file holds."
READABLE: Final = "The file is of a format that the kubelet reads."
