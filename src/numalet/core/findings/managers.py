"""Findings that keep the managers from starting."""

from __future__ import annotations

from typing import Final

from numalet.core.findings.phrases import CPUS
from numalet.core.model.findings import Finding
from numalet.core.model.go_text import GoText

_CRASH: Final = (
    "The kubelet's own checks let this pass; it then crashes, or hardly comes to an end."
)


class ConfigTopologyDistances(Finding):
    sentence = (
        "option prefer-closest-numa-nodes needs distances, and a NUMA node of this machine has none"
    )
    why = "prefer-closest-numa-nodes compares distances, which the kernel must give for every node."
    mend = "remove prefer-closest-numa-nodes"
    kubelet_text = "cannot discover NUMA topology: error getting NUMA distances from cadvisor"


class ConfigTopologyTooManyNodes(Finding):
    sentence = (
        "the machine has {numa_nodes} NUMA nodes, and the topology policy accepts at most "
        "{limit}; the option max-allowable-numa-nodes allows more"
    )
    why = (
        "The Topology Manager goes through all combinations of hints, and takes 8 NUMA nodes "
        "unless max-allowable-numa-nodes allows more."
    )
    mend = (
        "set topologyManagerPolicyOptions.max-allowable-numa-nodes to {numa_nodes} in quotes, or "
        "use the policy none"
    )
    kubelet_text = "unsupported on machines with more than {limit} NUMA Nodes"
    numa_nodes: int
    limit: int


class ConfigCpuTopology(Finding):
    why = "The CPU Manager needs to know which CPUs share a core."
    mend = "use another machine, or see why the kernel does not say where CPUs are"
    sentence = kubelet_text = "{problem}"
    problem: str


class ConfigCpuPolicy(Finding):
    sentence = "cpuManagerPolicy {policy!r} is unknown; allowed are none and static"
    why = "The CPU Manager has two policies."
    mend = "write none or static"
    kubelet_text = 'unknown policy: "{policy}"'
    policy: GoText


class ConfigCpuOptionsWithoutPolicy(Finding):
    why = "The CPU policy none takes no options."
    mend = "set cpuManagerPolicy to static, or remove cpuManagerPolicyOptions"
    sentence = kubelet_text = (
        "new none policy error: None policy: received unsupported options={options}"
    )
    options: str


class ConfigCpuReservationMissing(Finding):
    sentence = (
        "cpuManagerPolicy static needs CPUs kept back: give kubeReserved, systemReserved or "
        "reservedSystemCPUs an amount above 0"
    )
    why = CPUS + " Without any the policy does not start."
    mend = (
        "give kubeReserved.cpu or systemReserved.cpu an amount, or name CPUs in reservedSystemCPUs"
    )
    kubelet_text = "[cpumanager] unable to determine reserved CPU resources for static policy"


class ConfigReservedCpusCount(Finding):
    sentence = "{count} CPUs are to be kept back, and the CPUs chosen for that are {cpus!r}"
    why = CPUS
    mend = "keep back fewer CPUs than the machine has"
    kubelet_text = (
        "new static policy error: [cpumanager] unable to reserve the required amount of CPUs "
        "(size of {cpus} did not equal {count})"
    )
    cpus: str
    count: int


class NumaletNodeIdTooHigh(Finding):
    sentence = (
        "{field} {policy!r} can not be followed here: NUMA node {numa_node} is above {highest}, "
        "and the kubelet would panic, because its masks of nodes hold the ids 0 to {highest}"
    )
    why = _CRASH
    mend = "use the policies none and None on this machine"
    field: str
    policy: str
    numa_node: int
    highest: int


class NumaletReservationWraps(Finding):
    sentence = (
        "NUMA node {numa_node} has {size_bytes} bytes of {type} that can be given away, and "
        "{reserved_bytes} bytes are reserved; the kubelet would take the difference for nearly "
        "2^64 bytes. It can be followed with at most {limit} NUMA nodes"
    )
    why = _CRASH
    mend = "reserve at most {size_bytes} bytes of {type} there"
    numa_node: int
    type: str
    reserved_bytes: int
    size_bytes: int
    limit: int


class NumaletReservedTooMuch(Finding):
    sentence = (
        "reservedMemory keeps back {reserved_bytes} bytes of {type} on NUMA node {numa_node}, "
        "which has {size_bytes} bytes that can be given away"
    )
    why = _CRASH
    mend = "reserve at most {size_bytes} bytes of {type} there"
    numa_node: int
    type: str
    reserved_bytes: int
    size_bytes: int


class NumaletNoNodeGivesMemory(Finding):
    sentence = (
        "memoryNodeClasses lets NUMA nodes of the classes [{classes}] give memory to pods, and "
        "those of this machine are of the classes [{there}]"
    )
    why = _CRASH
    mend = "name one of these classes in memoryNodeClasses: {there}"
    classes: str
    there: str


class CpuManagerCanNotReserve(Finding):
    code = "cpu-manager/can-not-reserve"
    sentence = (
        "{count} CPUs are to be reserved for the system, but the reserved set is [{cpus}]; make "
        "the number smaller, or name the CPUs in reservedSystemCPUs."
    )
    why = CPUS
    mend = "keep back fewer CPUs, or name them in reservedSystemCPUs"
    kubelet_text = (
        "new static policy error: [cpumanager] unable to reserve the required amount of CPUs "
        "(size of {cpus} did not equal {count})"
    )
    cpus: str
    count: int


class CpuManagerUnknownReservedCpu(Finding):
    code = "cpu-manager/unknown-reserved-cpu"
    sentence = "CPU {cpu} is to be reserved for the system; this machine has the CPUs {cpus}."
    why = CPUS
    mend = "choose from the CPUs {cpus}"
    kubelet_text = (
        "new static policy error: [cpumanager] unable to build the reserved physical CPUs from "
        "the reserved set: unknown CPU ID: {cpu}"
    )
    cpu: int
    cpus: str


class CpuManagerReservingWouldHang(Finding):
    code = "cpu-manager/reserving-would-hang"
    sentence = (
        "The kubelet would not come to an end with choosing {count} CPUs to reserve: with "
        "distribute-cpus-across-numa it goes round NUMA nodes {nodes}, which have no whole group "
        "of {group_size} CPUs left. Name the CPUs in reservedSystemCPUs."
    )
    why = CPUS
    mend = "name {count} CPUs in reservedSystemCPUs"
    count: int
    nodes: str
    group_size: int
