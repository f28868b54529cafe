"""Findings about reservations: reserved amounts, thresholds, enforcement, CPUs."""

from __future__ import annotations

from typing import Final

from numalet.core.findings.phrases import FORMULA
from numalet.core.model.findings import Finding
from numalet.core.model.go_text import GoText
from numalet.core.model.quantity import Quantity

_ENFORCE: Final = (
    "enforceNodeAllocatable enforces its values through cgroups, which must exist and be "
    "configured."
)
_RESERVABLE: Final = (
    "kubeReserved and systemReserved take cpu, memory, ephemeral-storage and pid, each with a "
    "quantity that is not negative."
)
_THRESHOLDS: Final = (
    "A hard eviction threshold is a known signal with an amount above 0, or with a percentage "
    "from 0% to 100%."
)


class ConfigEnforceBothForms(Finding):
    why = _ENFORCE
    fix = "keep one of {whole} and {compressible}"
    sentence = kubelet_text = (
        "invalid configuration: both {whole:q} and {compressible:q} cannot be specified together "
        "in enforceNodeAllocatable (--enforce-node-allocatable)"
    )
    whole: GoText
    compressible: GoText


class ConfigEnforceDuplicate(Finding):
    why = _ENFORCE
    fix = "name {key} once"
    sentence = kubelet_text = (
        "invalid configuration: duplicated enforcements {key:q} in enforceNodeAllocatable "
        "(--enforce-node-allocatable)"
    )
    key: GoText


class ConfigEnforceNoneWithOthers(Finding):
    why = _ENFORCE
    fix = "write none alone, or leave it out"
    sentence = kubelet_text = (
        "invalid configuration: enforceNodeAllocatable (--enforce-node-allocatable) may not "
        'contain additional enforcements when "none" is specified'
    )


class ConfigEnforceUnknown(Finding):
    why = _ENFORCE
    fix = "remove {key}"
    sentence = kubelet_text = (
        "invalid configuration: option {key:q} specified for enforceNodeAllocatable "
        '(--enforce-node-allocatable). Valid options are "pods", "system-reserved", '
        '"system-reserved-compressible", "kube-reserved", "kube-reserved-compressible" or "none"'
    )
    key: GoText


class ConfigEnforceWithoutCgroup(Finding):
    why = _ENFORCE
    fix = "set {owner}ReservedCgroup, or remove {key}"
    sentence = kubelet_text = (
        "invalid configuration: {owner}ReservedCgroup (--{owner}-reserved-cgroup) must be "
        'specified when "{owner}-reserved" or "{owner}-reserved-compressible" included in '
        "enforceNodeAllocatable (--enforce-node-allocatable)"
    )
    owner: str
    key: GoText


class ConfigEnforceWithoutQosCgroups(Finding):
    why = _ENFORCE
    fix = "set cgroupsPerQOS to true, or remove {key}"
    sentence = kubelet_text = (
        "invalid configuration: cgroupsPerQOS (--cgroups-per-qos) must be set to true when "
        "{key:q} contained in enforceNodeAllocatable (--enforce-node-allocatable)"
    )
    key: GoText


class ReservedMemoryEntryFinding(Finding):
    """A finding about one type of memory in one entry of reservedMemory."""

    numa_node: int
    type: GoText


class ConfigReservedMemoryType(ReservedMemoryEntryFinding):
    sentence = (
        "memory type {type!r} of NUMA node {numa_node} cannot be reserved; expected memory or "
        "hugepages-<size>"
    )
    why = "reservedMemory accepts memory and hugepages-<size>."
    fix = (
        "write memory, hugepages-2Mi or hugepages-1Gi, or remove {type} from NUMA node {numa_node}"
    )
    kubelet_text = (
        "invalid configuration: the limit type {type:q} for NUMA node {numa_node} is not "
        "supported, only [memory hugepages-<HugePageSize>] is accepted"
    )


class ConfigReservedMemoryZero(ReservedMemoryEntryFinding):
    why = "The kubelet treats an entry of 0 as a mistake."
    fix = "remove {type} from NUMA node {numa_node}"
    sentence = kubelet_text = (
        "invalid configuration: reserved memory may not be zero for NUMA node {numa_node} and "
        "resource {type:q}"
    )


class ConfigReservedMemoryDuplicate(ReservedMemoryEntryFinding):
    why = "Each NUMA node has at most one entry for each type."
    fix = "merge the entries of {type} on NUMA node {numa_node}"
    sentence = kubelet_text = (
        "invalid configuration: the reserved memory has a duplicate value for NUMA node "
        "{numa_node} and resource {type:q}"
    )


class ConfigReservedResource(Finding):
    sentence = (
        "{resource!r} cannot be reserved here; expected cpu, memory, ephemeral-storage or pid"
    )
    why = _RESERVABLE
    fix = "write cpu, memory, ephemeral-storage or pid, or remove {resource}"
    kubelet_text = "cannot reserve {resource:q} resource"
    resource: GoText


class ConfigReservedQuantity(Finding):
    sentence = (
        "invalid quantity {value!r} for {resource!r} (expected for example 500m or 1Gi): {problem}"
    )
    why = _RESERVABLE
    fix = "write an amount such as 500m or 1Gi for {resource}"
    kubelet_text = "failed to parse quantity {value:q} for {resource:q} resource: {problem}"
    resource: GoText
    value: GoText
    problem: str


class ConfigReservedNegative(Finding):
    why = _RESERVABLE
    fix = "write an amount of 0 or more for {resource}"
    sentence = kubelet_text = "resource quantity for {resource:q} cannot be negative: {value}"
    resource: GoText
    value: GoText


class EvictionThreshold(Finding):
    """A finding about the threshold of one signal in evictionHard."""

    signal: str
    value: str


class ConfigEvictionSignal(EvictionThreshold):
    sentence = (
        "unknown eviction signal {signal!r}; expected memory.available, nodefs.available, "
        "imagefs.available, pid.available or similar"
    )
    why = _THRESHOLDS
    fix = "remove {signal}, or use memory.available"
    kubelet_text = "unsupported eviction signal {signal}"


class ConfigEvictionNumber(EvictionThreshold):
    sentence = "threshold {value!r} of {signal} is not a percentage such as 5%: {problem}"
    why = _THRESHOLDS
    fix = "write a percentage such as 5%"
    kubelet_text = "{problem}"
    problem: str


class ConfigEvictionQuantity(EvictionThreshold):
    sentence = (
        "threshold {value!r} of {signal} is neither a quantity such as 100Mi nor a percentage "
        "such as 5%: {problem}"
    )
    why = _THRESHOLDS
    fix = "write an amount such as 100Mi, or a percentage such as 5%"
    kubelet_text = "{problem}"
    problem: str


class ConfigEvictionBelowZero(EvictionThreshold):
    sentence = "threshold {value!r} of {signal} is below 0%; expected 0% to 100%"
    why = _THRESHOLDS
    fix = "write a percentage from 0% to 100%"
    kubelet_text = "eviction percentage threshold {signal} must be >= 0%: {value}"


class ConfigEvictionAboveAll(EvictionThreshold):
    sentence = "threshold {value!r} of {signal} is above 100%; expected 0% to 100%"
    why = _THRESHOLDS
    fix = "write a percentage from 0% to 100%"
    kubelet_text = "eviction percentage threshold {signal} must be <= 100%: {value}"


class ConfigEvictionNotPositive(EvictionThreshold):
    why = _THRESHOLDS
    fix = "write an amount above 0, or 0% for no threshold"
    sentence = kubelet_text = "eviction threshold {signal} must be positive: {value}"


class ConfigReservedMoreThanCapacity(Finding):
    sentence = "{reserved} of {resource} reserved, but the machine has only {capacity}"
    why = "A node cannot reserve more than its capacity."
    fix = "reserve less than {capacity} of {resource}"
    kubelet_text = (
        "Resource {resource:q} has a reservation of {reserved_raw} but capacity of "
        "{capacity_raw}. Expected capacity >= reservation."
    )
    resource: GoText
    reserved: Quantity
    capacity: Quantity
    reserved_raw: str
    capacity_raw: str


class ConfigMemoryPolicy(Finding):
    sentence = (
        "unknown memoryManagerPolicy {policy!r}; expected None, Static or, on Windows, BestEffort"
    )
    why = "The Memory Manager has three policies."
    fix = "write None or Static"
    kubelet_text = 'unknown policy: "{policy}"'
    policy: GoText


class ConfigMemoryPolicyNotOnWindows(Finding):
    why = "Windows cannot restrict memory to NUMA nodes."
    fix = "write None or BestEffort"
    sentence = kubelet_text = "policy {policy:q} is not available on Windows"
    policy: GoText


class ConfigMemoryPolicyPlatform(Finding):
    why = "The memory policy BestEffort exists only on Windows."
    fix = "write None or Static"
    sentence = kubelet_text = "policy {policy:q} is not available for platform {platform:q}"
    policy: GoText
    platform: GoText


class ConfigReservedMemoryNode(Finding):
    sentence = (
        "reservedMemory has an entry for NUMA node {numa_node}, but the machine has the nodes "
        "{existing}"
    )
    why = "Entries must be for NUMA nodes of the machine."
    fix = "choose from the NUMA nodes {existing}"
    kubelet_text = (
        "the reserved memory configuration references a NUMA node {numa_node} that does not exist "
        "on this machine"
    )
    numa_node: int
    existing: str


class ConfigReservedMemorySum(Finding):
    sentence = (
        "reservedMemory reserves {total} of {type} in total; it must be exactly {expected}, the "
        "sum of kubeReserved, systemReserved and the hard eviction threshold"
    )
    why = FORMULA
    fix = "make the entries of {type} add up to {expected}; 'numalet reserve' computes them"
    kubelet_text = (
        'the total amount "{total}" of type {type:q} is not equal to the value "{expected}" '
        "determined by Node Allocatable feature"
    )
    total: str
    type: GoText
    expected: str


class ConfigReservedMemoryNotInteger(Finding):
    sentence = (
        "an amount of reservedMemory must be whole bytes without decimals, such as 1536Mi instead "
        "of 1.5Gi; this one, equal to {amount}, is not"
    )
    why = "The Memory Manager accepts only quantities that Go stores as integers."
    fix = "write whole units, such as 1536Mi instead of 1.5Gi"
    kubelet_text = "could not covert a variable of type Quantity to int64"
    amount: str


class ConfigReservedMemoryMissing(Finding):
    sentence = (
        "memoryManagerPolicy Static requires reservedMemory of type memory on at least one NUMA "
        "node"
    )
    why = FORMULA + " A sum of 0 is refused."
    fix = "add reservedMemory with an amount above 0; 'numalet reserve' computes it"
    kubelet_text = "[memorymanager] you should specify the system reserved memory"


class ReserveNothingToReserve(Finding):
    sentence = (
        "kubeReserved, systemReserved and the hard eviction threshold add up to 0 bytes of memory; "
        "the memory policy Static needs more than 0, so set one of them"
    )


class ReserveNotWholeBytes(Finding):
    sentence = (
        "kubeReserved, systemReserved and the hard eviction threshold add up to {total} of memory, "
        "which is not a whole number of bytes; reservedMemory accepts only whole bytes"
    )
    total: Quantity


class ReserveTooLittleMemory(Finding):
    sentence = (
        "cannot reserve {total} of memory: the NUMA nodes have {usable} in total outside huge pages"
    )
    total: Quantity
    usable: Quantity


class ReserveUnknownNode(Finding):
    sentence = (
        "NUMA node {numa_node} should keep all its memory, but the machine has the nodes {known}"
    )
    numa_node: int
    known: str


class ReserveSpareNeeded(Finding):
    sentence = (
        "NUMA node {numa_node} cannot keep all its memory: the other nodes lack {missing} of the "
        "{total} to reserve"
    )
    numa_node: int | None
    total: Quantity
    missing: Quantity
