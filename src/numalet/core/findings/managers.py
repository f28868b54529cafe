"""Findings that keep the managers from starting."""

from __future__ import annotations

from typing import Final

from numalet.core.findings.phrases import CPUS
from numalet.core.model.findings import Finding
from numalet.core.model.go_text import GoText

_CRASH: Final = "The kubelet's own checks accept this; it then crashes or hangs."


class ConfigTopologyDistances(Finding):
    sentence = (
        "option prefer-closest-numa-nodes needs distances, which a NUMA node of this machine lacks"
    )
    why = (
        "prefer-closest-numa-nodes compares distances, so the kernel must report them for every "
        "node."
    )
    fix = "remove prefer-closest-numa-nodes"
    kubelet_text = "cannot discover NUMA topology: error getting NUMA distances from cadvisor"


class ConfigTopologyTooManyNodes(Finding):
    sentence = (
        "the machine has {numa_nodes} NUMA nodes, but the topology policy accepts at most {limit}; "
        "the option max-allowable-numa-nodes allows more"
    )
    why = (
        "The Topology Manager tries all combinations of hints, and accepts 8 NUMA nodes unless "
        "max-allowable-numa-nodes allows more."
    )
    fix = (
        "set topologyManagerPolicyOptions.max-allowable-numa-nodes to {numa_nodes} in quotes, or "
        "use the policy none"
    )
    kubelet_text = "unsupported on machines with more than {limit} NUMA Nodes"
    numa_nodes: int
    limit: int


class ConfigCpuTopology(Finding):
    why = "The CPU Manager needs to know which CPUs share a core."
    fix = "use another machine, or check why the kernel does not report the CPUs' location"
    sentence = kubelet_text = "{problem}"
    problem: str


class ConfigCpuPolicy(Finding):
    sentence = "unknown cpuManagerPolicy {policy!r}; expected none or static"
    why = "The CPU Manager has two policies."
    fix = "write none or static"
    kubelet_text = 'unknown policy: "{policy}"'
    policy: GoText


class ConfigCpuOptionsWithoutPolicy(Finding):
    why = "The CPU policy none takes no options."
    fix = "set cpuManagerPolicy to static, or remove cpuManagerPolicyOptions"
    sentence = kubelet_text = (
        "new none policy error: None policy: received unsupported options={options}"
    )
    options: str


class ConfigCpuReservationMissing(Finding):
    sentence = (
        "cpuManagerPolicy static requires reserved CPUs: set kubeReserved, systemReserved or "
        "reservedSystemCPUs to more than 0"
    )
    why = CPUS + " Without any the policy does not start."
    fix = "set kubeReserved.cpu or systemReserved.cpu, or name CPUs in reservedSystemCPUs"
    kubelet_text = "[cpumanager] unable to determine reserved CPU resources for static policy"


class ConfigReservedCpusCount(Finding):
    sentence = "{count} CPUs must be reserved, but the reserved set is {cpus!r}"
    why = CPUS
    fix = "reserve fewer CPUs than the machine has"
    kubelet_text = (
        "new static policy error: [cpumanager] unable to reserve the required amount of CPUs "
        "(size of {cpus} did not equal {count})"
    )
    cpus: str
    count: int


class NumaletNodeIdTooHigh(Finding):
    sentence = (
        "numalet cannot simulate {field} {policy!r}: NUMA node {numa_node} is above {highest}, and "
        "the kubelet would panic, because its masks of nodes hold the ids 0 to {highest}"
    )
    why = _CRASH
    fix = "set both policies to none and None on this machine"
    field: str
    policy: str
    numa_node: int
    highest: int


class NumaletReservationWraps(Finding):
    sentence = (
        "NUMA node {numa_node} has {size_bytes} allocatable bytes of {type}, but {reserved_bytes} "
        "bytes are reserved; in the kubelet the difference wraps around to nearly 2^64 bytes. "
        "numalet can simulate this with at most {limit} NUMA nodes"
    )
    why = _CRASH
    fix = "reserve at most {size_bytes} bytes of {type} there"
    numa_node: int
    type: str
    reserved_bytes: int
    size_bytes: int
    limit: int


class NumaletReservedTooMuch(Finding):
    sentence = (
        "reservedMemory reserves {reserved_bytes} bytes of {type} on NUMA node {numa_node}, which "
        "has {size_bytes} bytes"
    )
    why = _CRASH
    fix = "reserve at most {size_bytes} bytes of {type} there"
    numa_node: int
    type: str
    reserved_bytes: int
    size_bytes: int


class NumaletNoNodeGivesMemory(Finding):
    sentence = (
        "memoryNodeClasses allows memory from NUMA nodes of the classes [{classes}], but this "
        "machine has the classes [{there}]"
    )
    why = _CRASH
    fix = "name one of these classes in memoryNodeClasses: {there}"
    classes: str
    there: str


class CpuManagerCanNotReserve(Finding):
    code = "cpu-manager/can-not-reserve"
    sentence = (
        "{count} CPUs must be reserved for the system, but the reserved set is [{cpus}]; reduce "
        "the number, or name the CPUs in reservedSystemCPUs."
    )
    why = CPUS
    fix = "reserve fewer CPUs, or name them in reservedSystemCPUs"
    kubelet_text = (
        "new static policy error: [cpumanager] unable to reserve the required amount of CPUs "
        "(size of {cpus} did not equal {count})"
    )
    cpus: str
    count: int


class CpuManagerUnknownReservedCpu(Finding):
    code = "cpu-manager/unknown-reserved-cpu"
    sentence = "reserved CPU {cpu} does not exist; this machine has the CPUs {cpus}."
    why = CPUS
    fix = "choose from the CPUs {cpus}"
    kubelet_text = (
        "new static policy error: [cpumanager] unable to build the reserved physical CPUs from "
        "the reserved set: unknown CPU ID: {cpu}"
    )
    cpu: int
    cpus: str


class CpuManagerReservingWouldHang(Finding):
    code = "cpu-manager/reserving-would-hang"
    sentence = (
        "The kubelet would hang when it chooses {count} CPUs to reserve: with "
        "distribute-cpus-across-numa it loops over NUMA nodes {nodes}, which have no whole group "
        "of {group_size} CPUs left. Name the CPUs in reservedSystemCPUs."
    )
    why = CPUS
    fix = "name {count} CPUs in reservedSystemCPUs"
    count: int
    nodes: str
    group_size: int
