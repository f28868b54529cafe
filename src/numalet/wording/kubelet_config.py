"""The kubelet's own texts about its configuration, misspellings included.

``SENTENCES`` has one text per finding; ``start_text`` makes of a refused start the whole text
that the kubelet v1.32 ends with, with the prefixes that it puts around.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from numalet.core.config.rules import StartRefused, StartStage
from numalet.core.model import go_text
from numalet.core.model.findings import Finding
from numalet.wording import english_limits

_INVALID: Final = "invalid configuration: "
_STATIC: Final = "new static policy error: "
_ENFORCE: Final = "enforceNodeAllocatable (--enforce-node-allocatable)"

_DECODE: Final = {
    "config/gate-unknown-in-flag": "unrecognized feature gate: {gate}",
    "config/gate-unknown-in-file": "unrecognized feature gate: {gate}",
    "config/gate-locked-in-flag": (
        "cannot set feature gate {gate} to {value}, feature is locked to {locked_to}"
    ),
    "config/gate-locked-in-file": (
        "cannot set feature gate {gate} to {value}, feature is locked to {locked_to}"
    ),
}
_VALIDATION: Final = {
    "config/max-pods": _INVALID + "maxPods (--max-pods) {count} must not be a negative number",
    "config/pods-per-core": (
        _INVALID + "podsPerCore (--pods-per-core) {count} must not be a negative number"
    ),
    "config/port": _INVALID
    + "{field} ({flag}) {port} must be between {lowest} and 65535, inclusive",
    "config/quota-period-needs-gate": (
        _INVALID + "cpuCFSQuotaPeriod (--cpu-cfs-quota-period) {{{period}}} requires feature gate "
        "CustomCPUCFSQuotaPeriod"
    ),
    "config/quota-period": (
        _INVALID + "cpuCFSQuotaPeriod (--cpu-cfs-quota-period) {{{period}}} must be between 1ms "
        "and 1sec, inclusive"
    ),
    "config/swap-needs-gate": (
        _INVALID + "memorySwap.swapBehavior cannot be set when NodeSwap feature flag is disabled"
    ),
    "config/swap-behavior": (
        _INVALID + 'memorySwap.swapBehavior {behavior:q} must be one of: "", "LimitedSwap" '
        'or "NoSwap"'
    ),
    "config/throttling-factor": (
        _INVALID + "memoryThrottlingFactor {factor} must be greater than 0 and less than or "
        "equal to 1.0"
    ),
    "config/topology-policy": (
        _INVALID + "topologyManagerPolicy (--topology-manager-policy) {policy:q} must be one of: "
        '["none" "best-effort" "restricted" "single-numa-node"]'
    ),
    "config/topology-scope": (
        _INVALID + "topologyManagerScope (--topology-manager-scope) {scope:q} must be one of: "
        '"container", or "pod"'
    ),
    "config/enforce-both-forms": (
        _INVALID + "both {whole:q} and {compressible:q} cannot be specified together in " + _ENFORCE
    ),
    "config/enforce-duplicate": _INVALID + "duplicated enforcements {key:q} in " + _ENFORCE,
    "config/enforce-none-with-others": (
        _INVALID + _ENFORCE + ' may not contain additional enforcements when "none" is specified'
    ),
    "config/enforce-unknown": (
        _INVALID + "option {key:q} specified for " + _ENFORCE + ". Valid options are "
        '"pods", "system-reserved", "system-reserved-compressible", '
        '"kube-reserved", "kube-reserved-compressible" or "none"'
    ),
    "config/enforce-without-cgroup": (
        _INVALID + "{owner}ReservedCgroup (--{owner}-reserved-cgroup) must be specified when "
        '"{owner}-reserved" or "{owner}-reserved-compressible" included in ' + _ENFORCE
    ),
    "config/enforce-without-qos-cgroups": (
        _INVALID + "cgroupsPerQOS (--cgroups-per-qos) must be set to true when {key:q} "
        "contained in " + _ENFORCE
    ),
    "config/reserved-cpus-with-cgroups": (
        _INVALID + "can't use reservedSystemCPUs (--reserved-cpus) with systemReservedCgroup "
        "(--system-reserved-cgroup) or kubeReservedCgroup (--kube-reserved-cgroup)"
    ),
    "config/reserved-cpus": (
        _INVALID + "unable to parse reservedSystemCPUs (--reserved-cpus) {cpus}, error: {problem}"
    ),
    "config/reserved-memory-type": (
        _INVALID + "the limit type {type:q} for NUMA node {numa_node} is not supported, "
        "only [memory hugepages-<HugePageSize>] is accepted"
    ),
    "config/reserved-memory-zero": (
        _INVALID + "reserved memory may not be zero for NUMA node {numa_node} and resource {type:q}"
    ),
    "config/reserved-memory-duplicate": (
        _INVALID + "the reserved memory has a duplicate value for NUMA node {numa_node} "
        "and resource {type:q}"
    ),
}
_RESERVATION: Final = {
    "config/reserved-cpus-no-topology": "unable to discover CPU topology info: {problem}",
    "config/reserved-cpus-offline": (
        "reserved-cpus: {cpus} is not a subset of online-cpus: {online}"
    ),
    "config/reserved-resource": "cannot reserve {resource:q} resource",
    "config/reserved-quantity": (
        "failed to parse quantity {value:q} for {resource:q} resource: {problem}"
    ),
    "config/reserved-negative": "resource quantity for {resource:q} cannot be negative: {value}",
    "config/eviction-signal": "unsupported eviction signal {signal}",
    "config/eviction-number": "{problem}",
    "config/eviction-quantity": "{problem}",
    "config/eviction-below-zero": ("eviction percentage threshold {signal} must be >= 0%: {value}"),
    "config/eviction-above-all": (
        "eviction percentage threshold {signal} must be <= 100%: {value}"
    ),
    "config/eviction-not-positive": "eviction threshold {signal} must be positive: {value}",
    "config/reserved-more-than-capacity": (
        "Resource {resource:q} has a reservation of {reserved_raw} but capacity of "
        "{capacity_raw}. Expected capacity >= reservation."
    ),
}
_TOPOLOGY: Final = {
    "config/topology-options-need-gate": (
        "topology manager policy options {options} require feature gates "
        '"TopologyManagerPolicyOptions" enabled'
    ),
    "config/topology-option-unknown": "unknown Topology Manager Policy option: {option:q}",
    "config/topology-option-needs-gate": (
        "Topology Manager Policy {maturity}-level Options not enabled, "
        "but option {option:q} provided"
    ),
    "config/topology-option-not-boolean": "bad value for option {option:q}: {problem}",
    "config/topology-option-not-integer": (
        "unable to convert policy option to integer {option:q}: {problem}"
    ),
    "config/topology-node-limit": (
        "the minimum value of {option:q} should not be less than {minimum}"
    ),
    "config/topology-distances": (
        "cannot discover NUMA topology: error getting NUMA distances from cadvisor"
    ),
    "config/topology-too-many-nodes": "unsupported on machines with more than {limit} NUMA Nodes",
}
_CPU: Final = {
    "config/cpu-options-need-gate": (
        'CPU Manager policy options {options} require feature gates "CPUManager", '
        '"CPUManagerPolicyOptions" enabled'
    ),
    "config/cpu-topology": "{problem}",
    "config/cpu-policy": 'unknown policy: "{policy}"',
    "config/cpu-options-without-policy": (
        "new none policy error: None policy: received unsupported options={options}"
    ),
    "config/cpu-reservation-missing": (
        "[cpumanager] unable to determine reserved CPU resources for static policy"
    ),
    "config/cpu-option-unknown": _STATIC + "unknown CPU Manager Policy option: {option:q}",
    "config/cpu-option-needs-gate": (
        _STATIC + "CPU Manager Policy {maturity}-level Options not enabled, "
        "but option {option:q} provided"
    ),
    "config/cpu-option-not-boolean": _STATIC + "bad value for option {option:q}: {problem}",
    "config/cpu-options-exclude": (
        _STATIC + "static policy options {first} and {second} can not be used at the same time"
    ),
    "config/align-by-socket-single-node": (
        _STATIC + "Topolgy manager single-numa-node policy is incompatible with "
        "CPUManager align-by-socket policy option"
    ),
    "config/align-by-socket-sockets": (
        _STATIC + "Align by socket is not compatible with hardware where number of sockets "
        "are more than number of NUMA"
    ),
    "config/reserved-cpus-count": (
        _STATIC + "[cpumanager] unable to reserve the required amount of CPUs "
        "(size of {cpus} did not equal {count})"
    ),
}
_MEMORY: Final = {
    "config/memory-policy": 'unknown policy: "{policy}"',
    "config/memory-policy-not-on-windows": "policy {policy:q} is not available on Windows",
    "config/memory-policy-platform": "policy {policy:q} is not available for platform {platform:q}",
    "config/reserved-memory-node": (
        "the reserved memory configuration references a NUMA node {numa_node} "
        "that does not exist on this machine"
    ),
    "config/reserved-memory-sum": (
        'the total amount "{total}" of type {type:q} is not equal to the value "{expected}" '
        "determined by Node Allocatable feature"
    ),
    "config/reserved-memory-not-integer": ("could not covert a variable of type Quantity to int64"),
    "config/reserved-memory-missing": (
        "[memorymanager] you should specify the system reserved memory"
    ),
}

SENTENCES: Final[Mapping[str, str]] = {
    **_DECODE,
    **_VALIDATION,
    **_RESERVATION,
    **_TOPOLOGY,
    **_CPU,
    **_MEMORY,
}

_GATES_BY_FLAG: Final = "failed to set feature gates from initial flags-based config: "
_GATES_BY_FILE: Final = (
    "failed to merge global and in-flight KubeletConfiguration while setting defaults, error: "
)
_PREFIXES: Final = {
    StartStage.KUBE_RESERVED: "--kube-reserved value failed to parse: ",
    StartStage.SYSTEM_RESERVED: "--system-reserved value failed to parse: ",
    StartStage.NODE_ALLOCATABLE: "invalid Node Allocatable configuration. ",
}


def text(finding: Finding) -> str:
    """The kubelet's text for one finding, or numalet's where the kubelet has none."""
    template = SENTENCES.get(finding.code) or english_limits.SENTENCES[finding.code]
    return template.format(**finding.fields)


def start_text(refused: StartRefused) -> str:
    """The text with which the kubelet ends, as ``start_error`` of a recorded scenario has it."""
    texts = [text(finding) for finding in refused.findings]
    match refused.stage:
        case StartStage.CONFIG_DECODE:
            by_flag = refused.findings[0].code.endswith("-in-flag")
            prefix = _GATES_BY_FLAG if by_flag else _GATES_BY_FILE
            return prefix + go_text.joined_errors(texts)
        case StartStage.CONFIG_VALIDATION:
            return go_text.joined_errors(texts)
        case stage:
            return _PREFIXES.get(stage, "") + " ".join(texts)
