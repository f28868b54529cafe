"""Words for the rules of our own: what is wrong, the rule behind it, and the mend.

``SENTENCES`` and ``MENDS`` are templates over the fields of a finding; ``RULES`` say why the rule
exists and need no fields. All three have the same codes. For what keeps a kubelet from starting
see ``english_mends``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

SENTENCES: Final[Mapping[str, str]] = {
    "lint/reserved-hugepages": (
        "reservedMemory keeps back {amount} of {type} on NUMA node {numa_node}; the sum over all"
        " nodes must be 0 for huge pages"
    ),
    "lint/reserved-hugepages-absent": (
        "reservedMemory names {type} on NUMA node {numa_node}, which has no such pages"
    ),
    "lint/default-eviction-forgotten": (
        "reservedMemory keeps back {given}; {expected} is needed, because evictionHard is not"
        " given and memory.available is {threshold} by default"
    ),
    "lint/default-eviction-not-merged": (
        "reservedMemory keeps back {given}, {threshold} more than the {expected} that is needed:"
        " evictionHard is given without memory.available, so the default is gone"
    ),
    "lint/no-memory-threshold": (
        "there is no hard eviction threshold for memory.available; the default {threshold} does"
        " not apply here"
    ),
    "lint/eviction-percentage": (
        "memory.available {value} is {amount_bytes} ({exactly} bytes) on this machine with"
        " {capacity_bytes}, and another number on every other"
    ),
    "lint/reserved-memory-not-read": (
        "reservedMemory is given, but memoryManagerPolicy {policy!r} does not read it"
    ),
    "lint/reserved-more-than-node": (
        "{reserved_bytes} are kept back on NUMA node {numa_node}, which has {memory_bytes}, of"
        " these {hugepages_bytes} in huge pages"
    ),
    "lint/reserved-on-memoryless-node": (
        "{reserved_bytes} are kept back on NUMA node {numa_node}, which has no memory"
    ),
    "lint/reserved-on-cpuless-node": (
        "{reserved_bytes} are kept back on NUMA node {numa_node}, which has no CPUs"
    ),
    "lint/memory-on-cpuless-nodes": (
        "{left_bytes} of the memory that pods may get are on NUMA nodes without CPUs: {numa_nodes}"
    ),
    "lint/unbalanced-reservation": (
        "the reservation leaves {left_bytes} on NUMA node {numa_node}; an even or proportional"
        " split of the same sum leaves {better_bytes} on every node with CPUs"
    ),
    "lint/reservation-widens-pod": (
        "pod {pod}, {subject}: {asked_bytes} of memory need {nodes} NUMA nodes at least; with a"
        " split that is {strategy} they need {fewer}"
    ),
    "lint/max-allowable-not-a-number": (
        "max-allowable-numa-nodes is {value!r}; it must be a number of NUMA nodes"
    ),
    "lint/many-nodes": (
        "the machine has {nodes} NUMA nodes; every topology policy but none refuses more than"
        " {limit} unless max-allowable-numa-nodes is set"
    ),
    "lint/many-nodes-are-slow": (
        "with {nodes} NUMA nodes, more than {limit}, the admission of one pod can take the kubelet"
        " v1.32 minutes"
    ),
    "lint/topology-options-not-read": (
        "topologyManagerPolicyOptions ({options}) are given, but the topology policy none reads"
        " none of them"
    ),
    "lint/option-without-gate": (
        "option {option!r} is at level {maturity}, and its feature gate {gate} is off"
    ),
    "lint/alignment-without-hints": (
        "topologyManagerPolicy is {policy}, but cpuManagerPolicy is none and memoryManagerPolicy is"
        " None: nothing but device plugins says where a container should be"
    ),
    "lint/cpu-reservation-overridden": (
        "{field} is {amount}, but reservedSystemCPUs names {cpus} CPUs, and {cpus} are reserved"
    ),
    "lint/reserved-cpus-split-cores": (
        "CPUs {reserved} are reserved, but not CPUs {siblings}, which are on the same cores"
    ),
    "lint/part-of-a-cpu-reserved": (
        "{reserved} of cpu are kept back; the static CPU policy rounds that up to {cpus}, but the"
        " node offers the difference to pods"
    ),
    "lint/cpu-policy-may-hang": (
        "full-pcpus-only with distribute-cpus-across-numa, and only some threads of the cores"
        " {cores} are reserved: some requests make the kubelet v1.32 loop for ever"
    ),
    "lint/strict-reservation": (
        "with strict-cpu-reservation, pods that hold all {cpus} CPUs that are not reserved leave"
        " the shared pool empty; the kubelet v1.32 then fails at its next start"
    ),
    "lint/distances-beyond-rows": (
        "with prefer-closest-numa-nodes the kubelet v1.32 panics at pods for which it compares sets"
        " with NUMA node {numa_node} by distance: it looks for that distance at place {numa_node}"
        " of rows that have {places} places (nodes: {numa_nodes})"
    ),
    "lint/page-size-not-everywhere": (
        "NUMA nodes {numa_nodes} do not know {type}, other nodes do: a Guaranteed pod that asks"
        " for such pages makes the kubelet v1.32 panic"
    ),
    "lint/numa-balancing": (
        "kernel.numa_balancing is {value}: the kernel moves pages of containers that are pinned"
        " to NUMA nodes anyway"
    ),
    "lint/swap-is-on": "this host swaps to {areas}, and failSwapOn is true",
    "lint/cgroup-v1": "this host has cgroup v1",
    "lint/no-container-runtime": "no container runtime listens at {endpoint}",
    "lint/soft-eviction-without-grace-period": (
        "evictionSoft has a threshold for {signal}, and evictionSoftGracePeriod has none"
    ),
    "lint/pods-not-checked": (
        "pods not looked at: {count}, because the kubelet would not start with this configuration"
    ),
    "lint/pod-never-admitted": (
        "pod {pod}, container {container} asks for {asked} of {resource}; this node, when it is"
        " empty, admits {most} and not one unit more, so {excess} are too much ({reason})"
    ),
    "lint/pod-not-whole-units": (
        "pod {pod}, container {container} asks for {asked} of {resource}, which is no whole number"
        " of units ({reason}); {most} would be admitted"
    ),
    "lint/pod-never-admitted-together": (
        "pod {pod} is never admitted ({reason}), though each of its requests is when it is alone:"
        " {why}"
    ),
    "lint/pod-never-admitted-at-all": (
        "pod {pod} is never admitted ({reason}), and no smaller single request changes that: {why}"
    ),
    "lint/pod-larger-than-node": (
        "pod {pod} asks for {asked} of {resource}; the node offers {most}, so {excess} are too"
        " much (OutOf{resource})"
    ),
    "lint/container-without-limits": (
        "container {container} keeps pod {pod} from the QoS class Guaranteed: its limits of"
        " {resources} are missing or not equal to its requests"
    ),
    "lint/fractional-cpus": (
        "pod {pod}, container {container} asks for {asked} of cpu, which is no whole number: it"
        " gets no exclusive CPUs"
    ),
    "lint/resource-almost-offered": (
        "pod {pod}, container {container} asks for {resource}, which this node does not offer; it"
        " offers {offered}"
    ),
    "lint/pod-crashes-kubelet": "pod {pod} makes the kubelet crash or hang: {why}",
    "lint/pods-empty-the-pool": (
        "the given pods, admitted in this order, hold all CPUs that are not reserved; {pod} takes"
        " the last ones, and the kubelet v1.32 does not start again with that"
    ),
}

_FORMULA: Final = (
    "Under the memory policy Static the sum of reservedMemory over all NUMA nodes must equal"
    " kubeReserved + systemReserved + the hard eviction threshold, for each type of memory."
)
_NODE_MAP: Final = (
    "The Memory Manager subtracts the reservation of a node, and for ordinary memory its huge"
    " pages, from what the node has, in unsigned 64-bit numbers."
)
_EMPTY_NODE: Final = (
    "A pod that an empty node does not admit is rejected there every time, and whatever made it"
    " makes it again."
)

RULES: Final[Mapping[str, str]] = {
    "lint/reserved-hugepages": (
        _FORMULA + " kubeReserved and systemReserved take no huge pages, so that sum is 0."
    ),
    "lint/reserved-hugepages-absent": (
        "What is kept back must be there; the documentation asks for pages that exist."
    ),
    "lint/default-eviction-forgotten": _FORMULA + " The default of that threshold is not zero.",
    "lint/default-eviction-not-merged": (
        "evictionHard is taken as a whole: as soon as it is given, no default of it is left."
    ),
    "lint/no-memory-threshold": (
        "Without a threshold the kubelet evicts nothing before memory runs out, and the kernel"
        " kills what it likes. evictionHard is taken as a whole, and a kubelet that is run with"
        " flags only has no default."
    ),
    "lint/eviction-percentage": (
        "A percentage is taken of the memory of the machine in 32-bit floating point, and"
        " reservedMemory has to match the result to the byte."
    ),
    "lint/reserved-memory-not-read": (
        "Only the memory policy Static, or BestEffort on Windows, reads it."
    ),
    "lint/reserved-more-than-node": (
        _NODE_MAP + " Below zero they wrap around: the node then seems to have 16 EiB."
    ),
    "lint/reserved-on-memoryless-node": (
        _NODE_MAP + " Below zero they wrap around: the node then seems to have 16 EiB."
    ),
    "lint/reserved-on-cpuless-node": (
        "The system and the kubelet run on CPUs, and use the memory near them first."
    ),
    "lint/memory-on-cpuless-nodes": (
        "The Memory Manager takes the memory of every NUMA node for the same: also that of an"
        " accelerator, of a CXL expander, or high-bandwidth memory. A pod without CPUs of its own,"
        " or one that needs several nodes, can get it."
    ),
    "lint/unbalanced-reservation": (
        "Pods of one size, one for each NUMA node, must fit the node that has least left; where"
        " they do not, they take two nodes together and block both for others."
    ),
    "lint/reservation-widens-pod": (
        "The preferred number of NUMA nodes is that of the smallest set that could hold the"
        " request on an empty machine; every node more is one that others can not use alone."
    ),
    "lint/max-allowable-not-a-number": (
        "The option is read with strconv.Atoi. A page of the Kubernetes documentation said true."
    ),
    "lint/many-nodes": "The Topology Manager goes through all combinations of hints.",
    "lint/many-nodes-are-slow": (
        "The kubelet v1.32 goes through every combination of the hints of all resources, and"
        " there are up to 2^nodes hints for each."
    ),
    "lint/topology-options-not-read": "Options belong to a policy; none has no use for any.",
    "lint/option-without-gate": (
        "As soon as a policy reads the option, the kubelet does not start without the gate."
    ),
    "lint/alignment-without-hints": (
        "The Topology Manager merges the hints of the CPU Manager, the Memory Manager and of device"
        " plugins. Containers without such devices are admitted as under the policy none."
    ),
    "lint/cpu-reservation-overridden": (
        "With reservedSystemCPUs the kubelet v1.32 drops kubeReserved.cpu and sets"
        " systemReserved.cpu to the number of the CPUs, under every CPU policy."
    ),
    "lint/reserved-cpus-split-cores": (
        "Threads of one core share its caches and units: a container that gets the sibling of a"
        " reserved CPU is disturbed by the system. With full-pcpus-only, which gives whole cores,"
        " no container gets it."
    ),
    "lint/part-of-a-cpu-reserved": (
        "The static policy keeps whole CPUs back. The scheduler goes by the exact number, and"
        " sends pods whose CPUs are not there."
    ),
    "lint/cpu-policy-may-hang": (
        "Distributing hands out whole cores in turns; on NUMA nodes with an odd number of free"
        " threads the turns never end."
    ),
    "lint/strict-reservation": (
        "The reserved CPUs are not part of the shared pool then, and a state file with an empty"
        " pool is refused."
    ),
    "lint/distances-beyond-rows": (
        "The Topology Manager takes the distance to a NUMA node from the place of a row that has"
        " the node's id as its number; where ids have gaps, rows are too short for the highest."
    ),
    "lint/page-size-not-everywhere": (
        "The Memory Manager looks the size up on every node, without asking whether it is there."
    ),
    "lint/numa-balancing": (
        "Automatic balancing unmaps pages to see who uses them. Where memory is confined to NUMA"
        " nodes by hand it costs time and gains nothing."
    ),
    "lint/swap-is-on": "The kubelet v1.32 does not start beside swap unless failSwapOn is false.",
    "lint/cgroup-v1": (
        "The kubelet v1.32 starts, and warns that cgroup v1 is in maintenance mode."
    ),
    "lint/no-container-runtime": "The kubelet does not start before it reaches its runtime.",
    "lint/soft-eviction-without-grace-period": (
        "The kubelet v1.32 does not start with a soft threshold that has no grace period."
    ),
    "lint/pods-not-checked": "Pods are asked about on the node that the configuration makes.",
    "lint/pod-never-admitted": _EMPTY_NODE,
    "lint/pod-not-whole-units": (
        "With full-pcpus-only CPUs are given by whole cores, and huge pages by whole pages."
    ),
    "lint/pod-never-admitted-together": _EMPTY_NODE,
    "lint/pod-never-admitted-at-all": _EMPTY_NODE,
    "lint/pod-larger-than-node": (
        "Requests with overhead must fit status.allocatable: the capacity without the"
        " reservation, and for memory without all huge pages."
    ),
    "lint/pods-empty-the-pool": (
        "With strict-cpu-reservation the reserved CPUs are not part of the shared pool, and a state"
        " file with an empty pool is refused."
    ),
    "lint/container-without-limits": (
        "A pod is Guaranteed if every container, init containers and sidecars included, has limits"
        " of cpu and memory that are equal to its requests. Only Guaranteed pods get exclusive CPUs"
        " and memory of chosen NUMA nodes, and they are evicted last."
    ),
    "lint/fractional-cpus": (
        "The static policy gives exclusive CPUs to containers of Guaranteed pods that ask for whole"
        " ones. One that asks for 1500m runs in the shared pool with all others."
    ),
    "lint/resource-almost-offered": (
        "Resources are known by their exact names. The scheduler finds no node for a name that none"
        " offers; a kubelet that gets the pod anyway starts it without the device, or rejects it"
        " for huge pages that are not there."
    ),
    "lint/pod-crashes-kubelet": (
        "The kubelet v1.32 panics, or never comes to an end, while it admits such a pod, and again"
        " after every restart."
    ),
}

_RESERVE: Final = "let 'numalet reserve' compute the entries"

MENDS: Final[Mapping[str, str]] = {
    "lint/reserved-hugepages": "remove {type} from reservedMemory",
    "lint/reserved-hugepages-absent": "remove {type} of NUMA node {numa_node}",
    "lint/default-eviction-forgotten": (
        "add {threshold} to one entry, give evictionHard, or " + _RESERVE
    ),
    "lint/default-eviction-not-merged": (
        "add memory.available: {threshold} to evictionHard, or take it off one entry"
    ),
    "lint/no-memory-threshold": (
        "add memory.available to evictionHard, and the same amount to reservedMemory"
    ),
    "lint/eviction-percentage": "write an amount of bytes, such as 500Mi, if machines differ",
    "lint/reserved-memory-not-read": "set memoryManagerPolicy to Static, or remove reservedMemory",
    "lint/reserved-more-than-node": "keep back less here and more on another node; " + _RESERVE,
    "lint/reserved-on-memoryless-node": "move the amount to a node that has memory; " + _RESERVE,
    "lint/reserved-on-cpuless-node": "move the amount to nodes with CPUs; " + _RESERVE,
    "lint/memory-on-cpuless-nodes": (
        "keep back all of it: on these nodes in reservedMemory, and as much more in kubeReserved;"
        " or use --native, where memoryNodeClasses says which nodes pods get memory of"
    ),
    "lint/unbalanced-reservation": "split the sum evenly, or let 'numalet reserve' do it",
    "lint/reservation-widens-pod": "run 'numalet reserve --strategy {strategy}'",
    "lint/max-allowable-not-a-number": "write {nodes}, in quotes",
    "lint/many-nodes": (
        "set max-allowable-numa-nodes to {nodes} together with the policy, and expect slow"
        " admissions"
    ),
    "lint/many-nodes-are-slow": (
        "measure the admission of a pod with several resources first, or use the policy none"
    ),
    "lint/topology-options-not-read": "set topologyManagerPolicy, or remove the options",
    "lint/option-without-gate": "set featureGates.{gate} to true, or remove the option",
    "lint/alignment-without-hints": (
        "set cpuManagerPolicy to static or memoryManagerPolicy to Static, unless only devices are"
        " to be aligned"
    ),
    "lint/cpu-reservation-overridden": "remove {field}, or name other CPUs in reservedSystemCPUs",
    "lint/reserved-cpus-split-cores": "set reservedSystemCPUs to {whole}",
    "lint/part-of-a-cpu-reserved": "keep back {cpus} of cpu, or name CPUs in reservedSystemCPUs",
    "lint/cpu-policy-may-hang": "name all threads of these cores in reservedSystemCPUs, or none",
    "lint/strict-reservation": "keep one CPU more than the largest sum of exclusive CPUs",
    "lint/distances-beyond-rows": "remove prefer-closest-numa-nodes",
    "lint/page-size-not-everywhere": (
        "keep pods with {type} off this node, or let the kernel offer the size on every node"
    ),
    "lint/numa-balancing": "sysctl kernel.numa_balancing=0",
    "lint/swap-is-on": "swapoff -a, or set failSwapOn to false",
    "lint/cgroup-v1": "boot with systemd.unified_cgroup_hierarchy=1",
    "lint/no-container-runtime": "start the container runtime, or set containerRuntimeEndpoint",
    "lint/soft-eviction-without-grace-period": "set evictionSoftGracePeriod.{signal}",
    "lint/pods-not-checked": "mend what keeps the kubelet from starting, then check again",
    "lint/pod-never-admitted": "ask for {most} of {resource} at most, or choose another policy",
    "lint/pod-not-whole-units": "ask for {most} of {resource}, or for a unit less",
    "lint/pod-never-admitted-together": "admitted would be {ways}",
    "lint/pod-never-admitted-at-all": "choose another policy or scope, or another machine",
    "lint/pod-larger-than-node": "ask for {most} of {resource} at most, or keep less back",
    "lint/pods-empty-the-pool": "ask for one CPU less in all, or reserve one CPU more",
    "lint/container-without-limits": (
        "give container {container} requests and limits of {resources} that are equal"
    ),
    "lint/fractional-cpus": "ask for {whole} of cpu, unless the container is meant to share CPUs",
    "lint/resource-almost-offered": "write {offered}",
    "lint/pod-crashes-kubelet": "do not let the pod come to this node, or mend what is named",
}

_NOT_LOOKED_AT: Final[Mapping[str, str]] = {
    "swap": "whether swap is on",
    "cgroup-version": "the cgroup version",
    "container-runtime": "the container runtime",
    "soft-eviction": "the values of soft eviction thresholds",
}


def not_looked_at(names: Sequence[str]) -> str:
    """What else can keep a kubelet from starting, in a sentence; empty without any."""
    return f"Not looked at: {', '.join(_NOT_LOOKED_AT[name] for name in names)}." if names else ""
