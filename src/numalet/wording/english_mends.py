"""Words for what keeps a kubelet from starting: the rule behind a finding, and the mend.

What is wrong is said by ``english_config`` and its siblings, the kubelet's text stands in
``kubelet_config`` and ``kubelet_start``. ``RULES`` need no fields; ``MENDS`` are templates over
the fields of the finding. A code without words of its own has those of its area.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_GATES: Final = (
    "A feature gate can be set only if the release has it and has not locked it to one value."
)
_ENFORCE: Final = (
    "What enforceNodeAllocatable names is enforced by cgroups, which must be there and be named."
)
_FORMULA: Final = (
    "Under the memory policy Static the sum of reservedMemory over all NUMA nodes must equal"
    " kubeReserved + systemReserved + the hard eviction threshold, for each type of memory."
)
_RESERVABLE: Final = (
    "kubeReserved and systemReserved take cpu, memory, ephemeral-storage and pid, each with a"
    " quantity that is not negative."
)
_THRESHOLDS: Final = (
    "A hard eviction threshold is a known signal with an amount above 0, or with a percentage"
    " from 0% to 100%."
)
_OPTIONS: Final = (
    "Options of a policy must be known, must have the gate of their level of maturity, and must"
    " have a value of their type; a policy refuses options that contradict each other."
)
_CPUS: Final = (
    "The static CPU policy keeps whole CPUs back for the system: those of reservedSystemCPUs, or"
    " as many as kubeReserved and systemReserved come to, rounded up."
)
_FILE: Final = (
    "A state file must be whole, of the configured policy, and must fit machine and configuration;"
    " the kubelet repairs nothing in it."
)
_CRASH: Final = (
    "The kubelet's own checks let this pass; it then crashes, or hardly comes to an end."
)

RULES: Final[Mapping[str, str]] = {
    "config/gate-unknown-in-flag": _GATES,
    "config/gate-unknown-in-file": _GATES,
    "config/gate-locked-in-flag": _GATES,
    "config/gate-locked-in-file": _GATES,
    "config/max-pods": "Numbers of pods can not be negative.",
    "config/pods-per-core": "Numbers of pods can not be negative.",
    "config/port": "Port numbers are 1 to 65535; 0 switches the health or read-only port off.",
    "config/quota-period-needs-gate": "Another period of the CPU quota needs a feature gate.",
    "config/quota-period": "The kernel takes a period of the CPU quota from 1 ms to 1 s.",
    "config/swap-needs-gate": "Settings of swap need the feature gate NodeSwap.",
    "config/swap-behavior": "There are two ways to use swap.",
    "config/throttling-factor": "Memory is throttled at a part of its limit, at most at all of it.",
    "config/topology-policy": "The Topology Manager has four policies.",
    "config/topology-scope": "The Topology Manager has two scopes.",
    "config/enforce-both-forms": _ENFORCE,
    "config/enforce-duplicate": _ENFORCE,
    "config/enforce-none-with-others": _ENFORCE,
    "config/enforce-unknown": _ENFORCE,
    "config/enforce-without-cgroup": _ENFORCE,
    "config/enforce-without-qos-cgroups": _ENFORCE,
    "config/reserved-cpus-with-cgroups": (
        "Reserved CPUs are for everything that is not a pod, so cgroups of their own contradict"
        " them."
    ),
    "config/reserved-cpus": "reservedSystemCPUs is a list in the kernel's form: 0-3,8.",
    "config/reserved-memory-type": "reservedMemory takes memory and hugepages-<size>.",
    "config/reserved-memory-zero": "An entry that keeps nothing back is taken for a mistake.",
    "config/reserved-memory-duplicate": "A type comes once for each NUMA node.",
    "config/reserved-cpus-no-topology": "Reserved CPUs are looked up in the CPU topology.",
    "config/reserved-cpus-offline": "Reserved CPUs must be online when the kubelet starts.",
    "config/reserved-resource": _RESERVABLE,
    "config/reserved-quantity": _RESERVABLE,
    "config/reserved-negative": _RESERVABLE,
    "config/eviction-signal": _THRESHOLDS,
    "config/eviction-number": _THRESHOLDS,
    "config/eviction-quantity": _THRESHOLDS,
    "config/eviction-below-zero": _THRESHOLDS,
    "config/eviction-above-all": _THRESHOLDS,
    "config/eviction-not-positive": _THRESHOLDS,
    "config/reserved-more-than-capacity": "A node can not keep back more than it has.",
    "config/topology-distances": (
        "prefer-closest-numa-nodes compares distances, which the kernel must give for every node."
    ),
    "config/topology-too-many-nodes": (
        "The Topology Manager goes through all combinations of hints, and takes 8 NUMA nodes"
        " unless max-allowable-numa-nodes allows more."
    ),
    "config/cpu-topology": "The CPU Manager needs to know which CPUs share a core.",
    "config/cpu-policy": "The CPU Manager has two policies.",
    "config/cpu-options-without-policy": "The CPU policy none takes no options.",
    "config/cpu-reservation-missing": _CPUS + " Without any the policy does not start.",
    "config/reserved-cpus-count": _CPUS,
    "config/memory-policy": "The Memory Manager has the policies None, Static and BestEffort.",
    "config/memory-policy-not-on-windows": "Windows can not confine memory to NUMA nodes.",
    "config/memory-policy-platform": "BestEffort is the memory policy of Windows alone.",
    "config/reserved-memory-node": "Entries name NUMA nodes that the machine has.",
    "config/reserved-memory-sum": _FORMULA,
    "config/reserved-memory-not-integer": (
        "The Memory Manager takes a quantity only if it is held as a whole number."
    ),
    "config/reserved-memory-missing": _FORMULA + " A sum of 0 is refused.",
}

MENDS: Final[Mapping[str, str]] = {
    "config/size-without-unit": "write the size with its unit: Ki, Mi or Gi",
    "config/gate-unknown-in-flag": "remove {gate} from --feature-gates",
    "config/gate-unknown-in-file": "remove {gate} from featureGates",
    "config/gate-locked-in-flag": "remove {gate} from --feature-gates; it is {locked_to} anyway",
    "config/gate-locked-in-file": "remove {gate} from featureGates; it is {locked_to} anyway",
    "config/max-pods": "set maxPods to 110, the default, or to what the node shall take",
    "config/pods-per-core": "set podsPerCore to 0, the default, for no limit",
    "config/port": "set {field} to a number from {lowest} to 65535",
    "config/quota-period-needs-gate": (
        "set cpuCFSQuotaPeriod to 100ms, the default, or CustomCPUCFSQuotaPeriod to true"
    ),
    "config/quota-period": "set cpuCFSQuotaPeriod to 100ms, the default",
    "config/swap-needs-gate": "remove memorySwap.swapBehavior, or set NodeSwap to true",
    "config/swap-behavior": "write LimitedSwap or NoSwap",
    "config/throttling-factor": "set memoryThrottlingFactor to 0.9, the default",
    "config/topology-policy": "write none, best-effort, restricted or single-numa-node",
    "config/topology-scope": "write container or pod",
    "config/enforce-both-forms": "keep one of {whole} and {compressible}",
    "config/enforce-duplicate": "name {key} once",
    "config/enforce-none-with-others": "write none alone, or leave it out",
    "config/enforce-unknown": "remove {key}",
    "config/enforce-without-cgroup": "set {owner}ReservedCgroup, or remove {key}",
    "config/enforce-without-qos-cgroups": "set cgroupsPerQOS to true, or remove {key}",
    "config/reserved-cpus-with-cgroups": (
        "remove reservedSystemCPUs, or systemReservedCgroup and kubeReservedCgroup"
    ),
    "config/reserved-cpus": "write a list such as 0-3,8",
    "config/reserved-memory-type": (
        "write memory, hugepages-2Mi or hugepages-1Gi, or remove {type} from NUMA node {numa_node}"
    ),
    "config/reserved-memory-zero": "remove {type} from NUMA node {numa_node}",
    "config/reserved-memory-duplicate": "merge the entries of {type} on NUMA node {numa_node}",
    "config/reserved-cpus-no-topology": "remove reservedSystemCPUs, or use another machine",
    "config/reserved-cpus-offline": "choose from the CPUs {online}",
    "config/reserved-resource": (
        "write cpu, memory, ephemeral-storage or pid, or remove {resource}"
    ),
    "config/reserved-quantity": "write an amount such as 500m or 1Gi for {resource}",
    "config/reserved-negative": "write an amount of 0 or more for {resource}",
    "config/eviction-signal": "remove {signal}, or use memory.available",
    "config/eviction-number": "write a percentage such as 5%",
    "config/eviction-quantity": "write an amount such as 100Mi, or a percentage such as 5%",
    "config/eviction-below-zero": "write a percentage from 0% to 100%",
    "config/eviction-above-all": "write a percentage from 0% to 100%",
    "config/eviction-not-positive": "write an amount above 0, or 0% for no threshold",
    "config/reserved-more-than-capacity": "keep back less than {capacity} of {resource}",
    "config/topology-options-need-gate": "set featureGates.{gate} to true, or remove the options",
    "config/topology-option-unknown": "remove {option}; allowed are {allowed}",
    "config/topology-option-needs-gate": "set featureGates.{gate} to true, or remove {option}",
    "config/topology-option-not-boolean": "write true or false, in quotes",
    "config/topology-option-not-integer": (
        "write a whole number from {minimum} upwards, in quotes: as many as the machine has NUMA"
        " nodes"
    ),
    "config/topology-node-limit": "write {minimum} or more, or remove the option",
    "config/topology-distances": "remove prefer-closest-numa-nodes",
    "config/topology-too-many-nodes": (
        "set topologyManagerPolicyOptions.max-allowable-numa-nodes to {numa_nodes} in quotes, or"
        " use the policy none"
    ),
    "config/cpu-options-need-gate": "set featureGates.{gate} to true, or remove the options",
    "config/cpu-topology": "use another machine, or see why the kernel does not say where CPUs are",
    "config/cpu-policy": "write none or static",
    "config/cpu-options-without-policy": (
        "set cpuManagerPolicy to static, or remove cpuManagerPolicyOptions"
    ),
    "config/cpu-reservation-missing": (
        "give kubeReserved.cpu or systemReserved.cpu an amount, or name CPUs in reservedSystemCPUs"
    ),
    "config/cpu-option-unknown": "remove {option}; allowed are {allowed}",
    "config/cpu-option-needs-gate": "set featureGates.{gate} to true, or remove {option}",
    "config/cpu-option-not-boolean": "write true or false, in quotes",
    "config/cpu-options-exclude": "keep one of {first} and {second}",
    "config/align-by-socket-single-node": (
        "remove align-by-socket, or use another topology policy than single-numa-node"
    ),
    "config/align-by-socket-sockets": "remove align-by-socket",
    "config/reserved-cpus-count": "keep back fewer CPUs than the machine has",
    "config/memory-policy": "write None or Static",
    "config/memory-policy-not-on-windows": "write None or BestEffort",
    "config/memory-policy-platform": "write None or Static",
    "config/reserved-memory-node": "choose from the NUMA nodes {existing}",
    "config/reserved-memory-sum": (
        "make the entries of {type} add up to {expected}; 'numalet reserve' computes them"
    ),
    "config/reserved-memory-not-integer": "write whole units, such as 1536Mi instead of 1.5Gi",
    "config/reserved-memory-missing": (
        "add reservedMemory with an amount above 0; 'numalet reserve' computes it"
    ),
    "cpu-manager/can-not-reserve": "keep back fewer CPUs, or name them in reservedSystemCPUs",
    "cpu-manager/unknown-reserved-cpu": "choose from the CPUs {cpus}",
    "cpu-manager/reserving-would-hang": "name {count} CPUs in reservedSystemCPUs",
    "cpu-state/empty-default": (
        "drain the node and delete cpu_manager_state; then keep one CPU more for the pool"
    ),
    **{
        f"cpu-state/{what}": "drain the node and delete cpu_manager_state, which is damaged"
        for what in ("not-json", "corrupted", "bad-default", "bad-cpus")
    },
    **{
        f"memory-state/{what}": "drain the node and delete memory_manager_state, which is damaged"
        for what in ("not-json", "corrupted", "no-machine-state")
    },
    "memory-state/early-layout": (
        "drain the node and delete memory_manager_state: it was written by an early kubelet"
    ),
    "numalet/node-id-too-high": "use the policies none and None on this machine",
    "numalet/reservation-wraps": "reserve at most {size_bytes} bytes of {type} there",
    "numalet/reserved-too-much": "reserve at most {size_bytes} bytes of {type} there",
    "numalet/no-node-gives-memory": "name one of these classes in memoryNodeClasses: {there}",
}

AREA_RULES: Final[Mapping[str, str]] = {
    "config": _OPTIONS,
    "cpu-manager": _CPUS,
    "cpu-state": _FILE,
    "decision": (
        "After the managers the kubelet asks about sums, room for pods, labels, names and ports;"
        " an answer is only as good as what is known of them."
    ),
    "memory-state": _FILE,
    "numalet": _CRASH,
}
"""By the first part of a code: the rule where the code has none of its own."""

_REBASE: Final = (
    "stop the kubelet and run 'numalet state rebase DIR --write' with this configuration, which"
    " keeps every record that still fits"
)
AREA_MENDS: Final[Mapping[str, str]] = {
    "cpu-state": _REBASE,
    "decision": "give whole manifests, --node-name and --node-labels, and all pods of the node",
    "memory-state": _REBASE,
}
"""By the first part of a code: the mend where the code has none of its own."""
