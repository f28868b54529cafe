"""Findings of the rules about policies and their options."""

from __future__ import annotations

from numalet.core.model.quantity import Quantity
from numalet.insight.lint.lint_finding import LintFinding, LintNote, LintWarning


class LintMaxAllowableNotANumber(LintFinding):
    sentence = "max-allowable-numa-nodes is {value!r}; it must be a number of NUMA nodes"
    why = "The option is read with strconv.Atoi. A page of the Kubernetes documentation said true."
    fix = 'set max-allowable-numa-nodes: "{nodes}"'
    value: str
    nodes: int


class LintManyNodes(LintNote):
    sentence = (
        "the machine has {nodes} NUMA nodes; every topology policy but none refuses more than "
        "{limit} unless max-allowable-numa-nodes is set"
    )
    why = "The Topology Manager tries all combinations of hints."
    fix = (
        "set max-allowable-numa-nodes to {nodes} together with the policy, and expect slow "
        "admissions"
    )
    nodes: int
    limit: int


class LintManyNodesAreSlow(LintWarning):
    sentence = (
        "with {nodes} NUMA nodes, more than {limit}, the admission of one pod can take the "
        "kubelet minutes"
    )
    why = (
        "The kubelet tries every combination of the hints of all resources, and "
        "there are up to 2^nodes hints for each."
    )
    fix = "measure the admission of a pod with several resources first, or use the policy none"
    nodes: int
    limit: int


class LintTopologyOptionsNotRead(LintWarning):
    sentence = (
        "topologyManagerPolicyOptions ({options}) are set, but the topology policy none ignores "
        "them"
    )
    why = "The kubelet reads the options only under other policies."
    fix = "set topologyManagerPolicy, or remove the options"
    options: str


class LintOptionWithoutGate(LintWarning):
    sentence = "option {option!r} is at level {maturity}, and its feature gate {gate} is off"
    why = (
        "No policy reads the option now. With a policy that does, the kubelet does not start "
        "without the gate."
    )
    fix = "set featureGates.{gate} to true, or remove the option"
    option: str
    maturity: str
    gate: str


class LintFieldOfALaterRelease(LintWarning):
    sentence = "{field} does nothing in release {release}; Kubernetes has it since {since}"
    why = "The kubelet ignores an unknown field and logs a warning."
    fix = "remove {field}, or run a kubelet v{since}"
    field: str
    release: str
    since: str


class LintAlignmentWithoutHints(LintNote):
    sentence = (
        "topologyManagerPolicy is {policy}, but cpuManagerPolicy is none and memoryManagerPolicy "
        "is None: only device plugins give hints"
    )
    why = (
        "The Topology Manager merges the hints of the CPU Manager, the Memory Manager and of "
        "device plugins. Containers without such devices are admitted as under the policy none."
    )
    fix = (
        "set cpuManagerPolicy to static or memoryManagerPolicy to Static, unless only devices "
        "need alignment"
    )
    policy: str


class LintCpuReservationOverridden(LintWarning):
    sentence = (
        "{field} is {amount} and is ignored: reservedSystemCPUs sets the CPUs that are "
        "reserved, here {cpus}"
    )
    why = (
        "With reservedSystemCPUs the kubelet drops kubeReserved.cpu and sets "
        "systemReserved.cpu to the number of the CPUs, under every CPU policy."
    )
    fix = "remove {field}, or name other CPUs in reservedSystemCPUs"
    field: str
    amount: Quantity
    cpus: int


class LintReservedCpusSplitCores(LintWarning):
    sentence = "CPUs {reserved} are reserved, but not CPUs {siblings}, which are on the same cores"
    why = (
        "Two threads of a core share its caches and execution units. If a container gets the "
        "sibling of a reserved CPU, system processes slow it down. With full-pcpus-only no "
        "container can get the sibling, because only whole cores are allocated."
    )
    fix = "set reservedSystemCPUs to {whole}"
    reserved: str
    siblings: str
    whole: str


class LintPartOfACpuReserved(LintWarning):
    sentence = (
        "{reserved} of cpu are reserved; the static CPU policy reserves {cpus} whole CPUs, but "
        "allocatable is reduced only by {reserved}"
    )
    why = (
        "The static policy rounds the reservation up to whole CPUs; the allocatable of the node "
        "does not. The scheduler counts the difference as free and binds pods that the kubelet "
        "then rejects."
    )
    fix = "reserve {cpus} of cpu, or name CPUs in reservedSystemCPUs"
    reserved: Quantity
    cpus: int


class LintCpuPolicyMayHang(LintWarning):
    sentence = (
        "full-pcpus-only with distribute-cpus-across-numa, and only some threads of the cores "
        "{cores} are reserved: some requests make the kubelet loop forever"
    )
    why = (
        "With both options the kubelet takes the CPUs that it cannot divide evenly core by core "
        "from the chosen NUMA nodes in turn. If these nodes have an odd number of free threads, "
        "only single threads may be left before it has enough, and the loop never ends."
    )
    fix = "name either all threads of these cores in reservedSystemCPUs, or no thread"
    cores: str


class LintStrictReservation(LintWarning):
    sentence = (
        "with strict-cpu-reservation, pods that hold all {cpus} CPUs that are not reserved leave "
        "the shared pool empty; the kubelet then fails at its next start"
    )
    why = (
        "The reserved CPUs are not part of the shared pool then, and a state file with an empty "
        "pool is refused."
    )
    fix = "let the exclusive CPUs of all pods add up to less than {cpus}, so that one stays shared"
    cpus: int


class LintDistancesBeyondRows(LintWarning):
    sentence = (
        "with prefer-closest-numa-nodes the kubelet panics (index out of range) when it compares "
        "sets with NUMA node {numa_node}: it indexes rows of {places} distances by node id "
        "({numa_nodes})"
    )
    why = (
        "The Topology Manager takes the distance to a NUMA node from the place of a row that has "
        "the node's id as its number; where ids have gaps, rows are too short for the highest."
    )
    fix = "remove prefer-closest-numa-nodes"
    numa_node: int
    places: int
    numa_nodes: str


class LintPageSizeNotEverywhere(LintWarning):
    sentence = (
        "NUMA nodes {numa_nodes} do not know {type}, other nodes do: a Guaranteed pod that asks "
        "for such pages makes the kubelet panic"
    )
    why = "The Memory Manager looks the size up on every node, without asking whether it is there."
    fix = "keep pods with {type} off this node, or let the kernel offer the size on every node"
    type: str
    numa_nodes: str


class LintNumaBalancing(LintWarning):
    sentence = (
        "kernel.numa_balancing is {value}: automatic NUMA balancing is on, although the memory of "
        "containers is confined to NUMA nodes already"
    )
    why = (
        "Automatic balancing unmaps pages to see who uses them. Where memory is confined to NUMA "
        "nodes by hand it costs time and gains nothing."
    )
    fix = "sysctl kernel.numa_balancing=0"
    value: int
