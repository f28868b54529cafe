"""Reasons that findings of several areas share."""

from __future__ import annotations

from typing import Final

ALONE: Final = (
    "A pod's exclusive CPUs and devices belong to no other pod, and not to the shared pool."
)
CHECKSUM: Final = "The checksum must match the content."
CPUS: Final = (
    "The static CPU policy reserves whole CPUs for the system: reservedSystemCPUs, or the sum of "
    "kubeReserved and systemReserved, rounded up."
)
FORMULA: Final = (
    "Under the memory policy Static the sum of reservedMemory over all NUMA nodes must equal "
    "kubeReserved + systemReserved + the hard eviction threshold, for each type of memory."
)
GROUPS: Final = (
    "All nodes of a group must list the same group; a node without blocks is not in a group."
)
MACHINE: Final = "The file must match this machine."
OPTIONS: Final = (
    "Policy options must be known, have the feature gate of their maturity level enabled, and have "
    "a value of their type; a policy rejects contradictory options."
)
PAGES: Final = "The size of huge pages must be a multiple of the page size in their name."
PODS: Final = "Every pod must have containers, and every container an allocation."
POLICY: Final = "The policy must be known to the manager; it determines the content of the file."
READABLE: Final = "The file must have a format that the kubelet reads."
