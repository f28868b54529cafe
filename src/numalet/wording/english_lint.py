"""Words for the rules of our own: what is wrong, why the rule exists, and the mend, by code.

Those about pods are in ``english_lint_pods``. For what keeps a kubelet from starting see
``english_mends``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from numalet.wording import english_lint_pods
from numalet.wording.english_lint_types import LintWords

_FORMULA: Final = (
    "Under the memory policy Static the sum of reservedMemory over all NUMA nodes must equal"
    " kubeReserved + systemReserved + the hard eviction threshold, for each type of memory."
)
_NODE_MAP: Final = (
    "The Memory Manager subtracts the reservation of a node, and for ordinary memory its huge"
    " pages, from what the node has, in unsigned 64-bit numbers."
)
_RESERVE: Final = "let 'numalet reserve' compute the entries"

WORDS: Final[Mapping[str, LintWords]] = {
    "lint/reserved-hugepages": LintWords(
        sentence=(
            "reservedMemory keeps back {amount} of {type} on NUMA node {numa_node}; the sum over"
            " all"
            " nodes must be 0 for huge pages"
        ),
        why=_FORMULA + " kubeReserved and systemReserved take no huge pages, so that sum is 0.",
        mend="remove {type} from reservedMemory",
    ),
    "lint/reserved-hugepages-absent": LintWords(
        sentence="reservedMemory names {type} on NUMA node {numa_node}, which has no such pages",
        why="What is kept back must be there; the documentation asks for pages that exist.",
        mend="remove {type} of NUMA node {numa_node}",
    ),
    "lint/default-eviction-forgotten": LintWords(
        sentence=(
            "reservedMemory keeps back {given}; {expected} is needed, because evictionHard is not"
            " given and memory.available is {threshold} by default"
        ),
        why=_FORMULA + " The default of that threshold is not zero.",
        mend="add {threshold} to one entry, give evictionHard, or " + _RESERVE,
    ),
    "lint/default-eviction-not-merged": LintWords(
        sentence=(
            "reservedMemory keeps back {given}, {threshold} more than the {expected} that is"
            " needed:"
            " evictionHard is given without memory.available, so the default is gone"
        ),
        why="evictionHard is taken as a whole: as soon as it is given, no default of it is left.",
        mend="add memory.available: {threshold} to evictionHard, or take it off one entry",
    ),
    "lint/no-memory-threshold": LintWords(
        sentence=(
            "there is no hard eviction threshold for memory.available; the default {threshold} does"
            " not apply here"
        ),
        why=(
            "Without a threshold the kubelet evicts nothing before memory runs out, and the kernel"
            " kills what it likes. evictionHard is taken as a whole, and a kubelet that is run with"
            " flags only has no default."
        ),
        mend="add memory.available to evictionHard, and the same amount to reservedMemory",
    ),
    "lint/eviction-percentage": LintWords(
        sentence=(
            "memory.available {value} is {amount_bytes} ({exactly} bytes) on this machine with"
            " {capacity_bytes}, and another number on every other"
        ),
        why=(
            "A percentage is taken of the memory of the machine in 32-bit floating point, and"
            " reservedMemory has to match the result to the byte."
        ),
        mend="write an amount of bytes, such as 500Mi, if machines differ",
    ),
    "lint/reserved-memory-not-read": LintWords(
        sentence="reservedMemory is given, but memoryManagerPolicy {policy!r} does not read it",
        why="Only the memory policy Static, or BestEffort on Windows, reads it.",
        mend="set memoryManagerPolicy to Static, or remove reservedMemory",
    ),
    "lint/reserved-more-than-node": LintWords(
        sentence=(
            "{reserved_bytes} are kept back on NUMA node {numa_node}, which has {memory_bytes}, of"
            " these {hugepages_bytes} in huge pages"
        ),
        why=_NODE_MAP + " Below zero they wrap around: the node then seems to have 16 EiB.",
        mend="keep back less here and more on another node; " + _RESERVE,
    ),
    "lint/reserved-on-memoryless-node": LintWords(
        sentence="{reserved_bytes} are kept back on NUMA node {numa_node}, which has no memory",
        why=_NODE_MAP + " Below zero they wrap around: the node then seems to have 16 EiB.",
        mend="move the amount to a node that has memory; " + _RESERVE,
    ),
    "lint/reserved-on-cpuless-node": LintWords(
        sentence="{reserved_bytes} are kept back on NUMA node {numa_node}, which has no CPUs",
        why="The system and the kubelet run on CPUs, and use the memory near them first.",
        mend="move the amount to nodes with CPUs; " + _RESERVE,
    ),
    "lint/memory-on-cpuless-nodes": LintWords(
        sentence=(
            "{left_bytes} of the memory that pods may get are on NUMA nodes without CPUs:"
            " {numa_nodes}"
        ),
        why=(
            "The Memory Manager takes the memory of every NUMA node for the same: also that of an"
            " accelerator, of a CXL expander, or high-bandwidth memory. A pod without CPUs of its"
            " own,"
            " or one that needs several nodes, can get it."
        ),
        mend=(
            "keep back all of it: on these nodes in reservedMemory, and as much more in"
            " kubeReserved;"
            " or use --native, where memoryNodeClasses says which nodes pods get memory of"
        ),
    ),
    "lint/unbalanced-reservation": LintWords(
        sentence=(
            "the reservation leaves {left_bytes} on NUMA node {numa_node}; an even or proportional"
            " split of the same sum leaves {better_bytes} on every node with CPUs"
        ),
        why=(
            "Pods of one size, one for each NUMA node, must fit the node that has least left; where"
            " they do not, they take two nodes together and block both for others."
        ),
        mend="split the sum evenly, or let 'numalet reserve' do it",
    ),
    "lint/reservation-widens-pod": LintWords(
        sentence=(
            "pod {pod}, {subject}: {asked_bytes} of memory need {nodes} NUMA nodes at least; with a"
            " split that is {strategy} they need {fewer}"
        ),
        why=(
            "The preferred number of NUMA nodes is that of the smallest set that could hold the"
            " request on an empty machine; every node more is one that others can not use alone."
        ),
        mend="run 'numalet reserve --strategy {strategy}'",
    ),
    "lint/max-allowable-not-a-number": LintWords(
        sentence="max-allowable-numa-nodes is {value!r}; it must be a number of NUMA nodes",
        why=(
            "The option is read with strconv.Atoi. A page of the Kubernetes documentation said"
            " true."
        ),
        mend="write {nodes}, in quotes",
    ),
    "lint/many-nodes": LintWords(
        sentence=(
            "the machine has {nodes} NUMA nodes; every topology policy but none refuses more than"
            " {limit} unless max-allowable-numa-nodes is set"
        ),
        why="The Topology Manager goes through all combinations of hints.",
        mend=(
            "set max-allowable-numa-nodes to {nodes} together with the policy, and expect slow"
            " admissions"
        ),
    ),
    "lint/many-nodes-are-slow": LintWords(
        sentence=(
            "with {nodes} NUMA nodes, more than {limit}, the admission of one pod can take the"
            " kubelet"
            " v1.32 minutes"
        ),
        why=(
            "The kubelet v1.32 goes through every combination of the hints of all resources, and"
            " there are up to 2^nodes hints for each."
        ),
        mend="measure the admission of a pod with several resources first, or use the policy none",
    ),
    "lint/topology-options-not-read": LintWords(
        sentence=(
            "topologyManagerPolicyOptions ({options}) are given, but the topology policy none reads"
            " none of them"
        ),
        why="Options belong to a policy; none has no use for any.",
        mend="set topologyManagerPolicy, or remove the options",
    ),
    "lint/option-without-gate": LintWords(
        sentence="option {option!r} is at level {maturity}, and its feature gate {gate} is off",
        why="As soon as a policy reads the option, the kubelet does not start without the gate.",
        mend="set featureGates.{gate} to true, or remove the option",
    ),
    "lint/alignment-without-hints": LintWords(
        sentence=(
            "topologyManagerPolicy is {policy}, but cpuManagerPolicy is none and"
            " memoryManagerPolicy is"
            " None: nothing but device plugins says where a container should be"
        ),
        why=(
            "The Topology Manager merges the hints of the CPU Manager, the Memory Manager and of"
            " device"
            " plugins. Containers without such devices are admitted as under the policy none."
        ),
        mend=(
            "set cpuManagerPolicy to static or memoryManagerPolicy to Static, unless only devices"
            " are"
            " to be aligned"
        ),
    ),
    "lint/cpu-reservation-overridden": LintWords(
        sentence=(
            "{field} is {amount} and counts for nothing: reservedSystemCPUs sets the CPUs that are"
            " reserved, here {cpus}"
        ),
        why=(
            "With reservedSystemCPUs the kubelet v1.32 drops kubeReserved.cpu and sets"
            " systemReserved.cpu to the number of the CPUs, under every CPU policy."
        ),
        mend="remove {field}, or name other CPUs in reservedSystemCPUs",
    ),
    "lint/reserved-cpus-split-cores": LintWords(
        sentence=(
            "CPUs {reserved} are reserved, but not CPUs {siblings}, which are on the same cores"
        ),
        why=(
            "Threads of one core share its caches and units: a container that gets the sibling of a"
            " reserved CPU is disturbed by the system. With full-pcpus-only, which gives whole"
            " cores,"
            " no container gets it."
        ),
        mend="set reservedSystemCPUs to {whole}",
    ),
    "lint/part-of-a-cpu-reserved": LintWords(
        sentence=(
            "{reserved} of cpu are kept back; the static CPU policy rounds that up to {cpus}, but"
            " the"
            " node offers the difference to pods"
        ),
        why=(
            "The static policy keeps whole CPUs back. The scheduler goes by the exact number, and"
            " sends pods whose CPUs are not there."
        ),
        mend="keep back {cpus} of cpu, or name CPUs in reservedSystemCPUs",
    ),
    "lint/cpu-policy-may-hang": LintWords(
        sentence=(
            "full-pcpus-only with distribute-cpus-across-numa, and only some threads of the cores"
            " {cores} are reserved: some requests make the kubelet v1.32 loop for ever"
        ),
        why=(
            "Distributing hands out whole cores in turns; on NUMA nodes with an odd number of free"
            " threads the turns never end."
        ),
        mend="name all threads of these cores in reservedSystemCPUs, or none",
    ),
    "lint/strict-reservation": LintWords(
        sentence=(
            "with strict-cpu-reservation, pods that hold all {cpus} CPUs that are not reserved"
            " leave"
            " the shared pool empty; the kubelet v1.32 then fails at its next start"
        ),
        why=(
            "The reserved CPUs are not part of the shared pool then, and a state file with an empty"
            " pool is refused."
        ),
        mend="keep one CPU more than the largest sum of exclusive CPUs",
    ),
    "lint/distances-beyond-rows": LintWords(
        sentence=(
            "with prefer-closest-numa-nodes the kubelet v1.32 panics at pods for which it"
            " compares sets"
            " with NUMA node {numa_node} by distance: it looks for that distance at place"
            " {numa_node}"
            " of rows that have {places} places (nodes: {numa_nodes})"
        ),
        why=(
            "The Topology Manager takes the distance to a NUMA node from the place of a row that"
            " has"
            " the node's id as its number; where ids have gaps, rows are too short for the highest."
        ),
        mend="remove prefer-closest-numa-nodes",
    ),
    "lint/page-size-not-everywhere": LintWords(
        sentence=(
            "NUMA nodes {numa_nodes} do not know {type}, other nodes do: a Guaranteed pod that asks"
            " for such pages makes the kubelet v1.32 panic"
        ),
        why=(
            "The Memory Manager looks the size up on every node, without asking whether it is"
            " there."
        ),
        mend="keep pods with {type} off this node, or let the kernel offer the size on every node",
    ),
    "lint/numa-balancing": LintWords(
        sentence=(
            "kernel.numa_balancing is {value}: the kernel moves pages of containers that are pinned"
            " to NUMA nodes anyway"
        ),
        why=(
            "Automatic balancing unmaps pages to see who uses them. Where memory is confined to"
            " NUMA"
            " nodes by hand it costs time and gains nothing."
        ),
        mend="sysctl kernel.numa_balancing=0",
    ),
    "lint/swap-is-on": LintWords(
        sentence="this host swaps to {areas}, and failSwapOn is true",
        why="The kubelet v1.32 does not start beside swap unless failSwapOn is false.",
        mend="swapoff -a, or set failSwapOn to false",
    ),
    "lint/cgroup-v1": LintWords(
        sentence="this host has cgroup v1",
        why="The kubelet v1.32 starts, and warns that cgroup v1 is in maintenance mode.",
        mend="boot with systemd.unified_cgroup_hierarchy=1",
    ),
    "lint/no-container-runtime": LintWords(
        sentence="no container runtime listens at {endpoint}",
        why="The kubelet does not start before it reaches its runtime.",
        mend="start the container runtime, or set containerRuntimeEndpoint",
    ),
    "lint/soft-eviction-without-grace-period": LintWords(
        sentence="evictionSoft has a threshold for {signal}, and evictionSoftGracePeriod has none",
        why="The kubelet v1.32 does not start with a soft threshold that has no grace period.",
        mend="set evictionSoftGracePeriod.{signal}",
    ),
    **english_lint_pods.WORDS,
}

SENTENCES: Final[Mapping[str, str]] = {code: words.sentence for code, words in WORDS.items()}
"""What is wrong, by code: as every module of words has it."""

_NOT_LOOKED_AT: Final[Mapping[str, str]] = {
    "swap": "whether swap is on",
    "cgroup-version": "the cgroup version",
    "container-runtime": "the container runtime",
    "soft-eviction": "the values of soft eviction thresholds",
}


def not_looked_at(names: Sequence[str]) -> str:
    """What else can keep a kubelet from starting, in a sentence; empty without any."""
    return f"Not looked at: {', '.join(_NOT_LOOKED_AT[name] for name in names)}." if names else ""
