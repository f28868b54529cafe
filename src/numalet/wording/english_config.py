"""Our own sentences about documents, flags and configurations: what is wrong, what is allowed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from numalet.wording import english_limits, kubelet_config

_DOCUMENT: Final = {
    "document/unreadable": "this file can not be read: {reason}",
    "document/too-large": "this file is too large; at most {limit_bytes} bytes are read",
    "document/not-utf8": "this file is not UTF-8 text: byte {byte} at offset {offset}",
    "document/syntax": "this is neither YAML nor JSON: {problem}",
    "document/too-deep": "this is nested too deeply; at most {limit} levels are read",
    "document/too-many-nodes": (
        "with its aliases written out this document is too large; at most {limit} values are read"
    ),
    "document/cyclic-alias": "the alias *{alias} refers to a value that it is itself a part of",
    "document/unknown-alias": "the alias *{alias} refers to no anchor before it",
    "document/bad-merge": "'<<' merges a mapping or a list of mappings, and this is neither",
    "document/key-not-text": "a key must be a text, and this one is a mapping or a list",
    "document/unknown-tag": (
        "the tag {tag!r} has no meaning here; allowed are !!str, !!int, !!float, !!bool, !!null, "
        "!!map and !!seq"
    ),
    "document/duplicate-key": "{path} is given twice; the last one counts",
}
_CONFIG_FILE: Final = {
    "config-file/empty": "this configuration file is empty; it must hold a KubeletConfiguration",
    "config-file/several-documents": (
        "this file holds {count} documents; a configuration file holds one KubeletConfiguration, "
        "and may hold one NumaletConfiguration and other objects of Kubernetes beside it, drop-in "
        "files excepted"
    ),
    "config-file/not-a-mapping": "a KubeletConfiguration is a mapping, and this is {found}",
    "config-file/kind": (
        "apiVersion {api_version!r} and kind {kind!r} are not known here; "
        "allowed are 'kubelet.config.k8s.io/v1beta1' and 'KubeletConfiguration', or an object that "
        "holds one: a ConfigMap, a KubeletConfig of OpenShift, the answer of /configz, a machine "
        "configuration of Talos, user data of Bottlerocket, a kubelet's command line"
    ),
    "config-file/command-line": "this begins as a kubelet's command line, and is none: {problem}",
    "config-file/extra-config": (
        "kubelet-extra-config must be fields of a KubeletConfiguration, as YAML in base64, and "
        "{value} is not"
    ),
    "config-file/no-settings": (
        "there is no table [settings.kubernetes], which has the settings of Bottlerocket's kubelet"
    ),
    "config-file/toml": "this begins as TOML, and is none: {problem}",
    "config-file/unknown-setting": (
        "Bottlerocket has no setting {name!r} of Kubernetes that is known here; nearest: {nearest}"
    ),
    "config-file/read-from": "read from here: {source}",
    "config-file/read-in-part": (
        "read from here: {source}; what {system} sets besides is not known here, so give the "
        "answer of /configz for the whole configuration of a node"
    ),
    "config-file/unknown-field": "there is no field {field!r}; it is ignored, as the kubelet does",
    "config-file/wrong-type": ("{field} must be {expected}, and {value} is {found}: {go_text}"),
    "config-file/out-of-range": (
        "{field} must be a number from {lowest} to {highest}, and {value} is not: {go_text}"
    ),
    "config-file/quantity": "{field} must be a quantity such as '1Gi', and {value!r} is none: "
    "{problem}",
    "config-file/duration": "{field} must be a duration such as '100ms', and {value!r} is none: "
    "{problem}",
    "config-file/directory": "the directory of drop-in files can not be read: {reason}",
}
_NUMALET: Final = {
    "check/unknown-code": (
        "there is no finding {code!r}, and no area of findings of that name; nearest: {nearest}"
    ),
    "numalet-config/needs-native": (
        "{field} has a meaning in native mode only; add --native, or mode: native"
    ),
    "numalet-config/unknown-value": "{value} is not known here; allowed: {allowed}",
}
_FLAGS: Final = {
    "flag/unknown": "failed to parse kubelet flag: unknown flag: {flag}",
    "flag/invalid": (
        "failed to parse kubelet flag: invalid argument {value:q} for {flag:q} flag: {problem}"
    ),
    "flag/two-values": (
        "{flag} gives {key} two values, {first} and {second}, of which the kubelet would use the"
        " last; write the one that is meant"
    ),
}
_CONFIG: Final = {
    "config/size-without-unit": (
        "{field} {value} has no unit, so it is {value} bytes; write the unit that is meant, such"
        " as {value}Mi"
    ),
    "config/gate-unknown-in-flag": "there is no feature gate {gate!r} in release {release}",
    "config/gate-unknown-in-file": "there is no feature gate {gate!r} in release {release}",
    "config/topology-policy": (
        "topologyManagerPolicy {policy!r} is unknown; allowed are none, best-effort, restricted "
        "and single-numa-node"
    ),
    "config/topology-scope": (
        "topologyManagerScope {scope!r} is unknown; allowed are container and pod"
    ),
    "config/reserved-cpus-with-cgroups": (
        "reservedSystemCPUs {cpus!r} can not be used together with systemReservedCgroup or "
        "kubeReservedCgroup; leave out one of them"
    ),
    "config/reserved-cpus": (
        "reservedSystemCPUs {cpus!r} is no list of CPUs such as 0-3,8: {problem}"
    ),
    "config/reserved-memory-type": (
        "memory type {type!r} of NUMA node {numa_node} can not be reserved; allowed are memory "
        "and hugepages-<size>"
    ),
    "config/reserved-resource": (
        "{resource!r} can not be reserved here; allowed are cpu, memory, ephemeral-storage and pid"
    ),
    "config/reserved-quantity": (
        "{value!r} is no quantity for {resource!r} (allowed are such as 500m or 1Gi): {problem}"
    ),
    "config/eviction-signal": (
        "{signal!r} is no eviction signal; allowed are memory.available, nodefs.available, "
        "imagefs.available, pid.available and the like"
    ),
    "config/eviction-number": (
        "threshold {value!r} of {signal} is no percentage such as 5%: {problem}"
    ),
    "config/eviction-quantity": (
        "threshold {value!r} of {signal} is neither a quantity such as 100Mi nor a percentage "
        "such as 5%: {problem}"
    ),
    "config/eviction-below-zero": (
        "threshold {value!r} of {signal} is below 0%; allowed are 0% to 100%"
    ),
    "config/eviction-above-all": (
        "threshold {value!r} of {signal} is above 100%; allowed are 0% to 100%"
    ),
    "config/reserved-more-than-capacity": (
        "{reserved} of {resource} are kept back, and the machine has only {capacity}"
    ),
    "config/topology-option-unknown": (
        "there is no option {option!r} of the topology policy; allowed are {allowed}"
    ),
    "config/topology-option-needs-gate": (
        "option {option!r} is at level {maturity} and needs the feature gate {gate}"
    ),
    "config/topology-option-not-boolean": (
        "option {option!r} must be true or false, and {value!r} is neither"
    ),
    "config/topology-option-not-integer": (
        "option {option!r} must be a whole number from {minimum} upwards, and {value!r} is none"
    ),
    "config/topology-node-limit": (
        "option {option!r} must be a whole number from {minimum} upwards, and {value} is less"
    ),
    "config/topology-distances": (
        "option prefer-closest-numa-nodes needs distances, and a NUMA node of this machine has none"
    ),
    "config/topology-too-many-nodes": (
        "the machine has {numa_nodes} NUMA nodes, and the topology policy accepts at most {limit}; "
        "the option max-allowable-numa-nodes allows more"
    ),
    "config/cpu-policy": ("cpuManagerPolicy {policy!r} is unknown; allowed are none and static"),
    "config/cpu-reservation-missing": (
        "cpuManagerPolicy static needs CPUs kept back: give kubeReserved, systemReserved or "
        "reservedSystemCPUs an amount above 0"
    ),
    "config/cpu-option-unknown": (
        "there is no option {option!r} of the CPU policy; allowed are {allowed}"
    ),
    "config/cpu-option-needs-gate": (
        "option {option!r} is at level {maturity} and needs the feature gate {gate}"
    ),
    "config/cpu-option-not-boolean": (
        "option {option!r} must be true or false, and {value!r} is neither"
    ),
    "config/align-by-socket-sockets": (
        "option align-by-socket does not fit a machine with more sockets ({sockets}) than NUMA "
        "nodes with CPUs ({numa_nodes})"
    ),
    "config/reserved-cpus-count": (
        "{count} CPUs are to be kept back, and the CPUs chosen for that are {cpus!r}"
    ),
    "config/memory-policy": (
        "memoryManagerPolicy {policy!r} is unknown; allowed are None, Static and, on Windows, "
        "BestEffort"
    ),
    "config/reserved-memory-node": (
        "reservedMemory names NUMA node {numa_node}, and the machine has the nodes {existing}"
    ),
    "config/reserved-memory-sum": (
        "reservedMemory keeps back {total} of {type} in all; it must be exactly {expected}, the "
        "sum of kubeReserved, systemReserved and the hard eviction threshold"
    ),
    "config/reserved-memory-not-integer": (
        "an amount of reservedMemory must be whole bytes written without decimals, such as 1536Mi "
        "instead of 1.5Gi; this one, which comes to {amount}, is not"
    ),
    "config/reserved-memory-missing": (
        "memoryManagerPolicy Static needs reservedMemory of type memory on at least one NUMA node"
    ),
}

SENTENCES: Final[Mapping[str, str]] = {
    **_DOCUMENT,
    **_CONFIG_FILE,
    **_NUMALET,
    **_FLAGS,
    **kubelet_config.SENTENCES,
    **_CONFIG,
    **english_limits.SENTENCES,
}
"""Where nothing better is said here, the kubelet's own text is the sentence."""
