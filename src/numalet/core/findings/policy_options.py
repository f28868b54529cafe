"""Findings about options of the topology and CPU policies."""

from __future__ import annotations

from numalet.core.findings.phrases import OPTIONS
from numalet.core.model.findings import Finding
from numalet.core.model.go_text import GoText


class OptionsNeedGate(Finding):
    options: str
    gate: str


class OptionUnknown(Finding):
    option: GoText
    allowed: str


class OptionNeedsGate(Finding):
    """An option whose maturity level is disabled."""

    option: GoText
    maturity: str
    gate: str
    level_options: str
    """The release's name for the options of this level."""


class OptionNotBoolean(Finding):
    option: GoText
    value: str
    problem: str


class ConfigTopologyOptionsNeedGate(OptionsNeedGate):
    why = OPTIONS
    fix = "set featureGates.{gate} to true, or remove the options"
    sentence = kubelet_text = (
        "topology manager policy options {options} require feature gates "
        '"TopologyManagerPolicyOptions" enabled'
    )


class ConfigTopologyOptionUnknown(OptionUnknown):
    sentence = "unknown option {option!r} of the topology policy; expected {allowed}"
    why = OPTIONS
    fix = "remove {option}; known options are {allowed}"
    kubelet_text = "unknown Topology Manager Policy option: {option:q}"


class ConfigTopologyOptionNeedsGate(OptionNeedsGate):
    sentence = (
        "option {option!r} has maturity level {maturity} and requires the feature gate {gate}"
    )
    why = OPTIONS
    fix = "set featureGates.{gate} to true, or remove {option}"
    kubelet_text = "{level_options} not enabled, but option {option:q} provided"


class ConfigTopologyOptionNotBoolean(OptionNotBoolean):
    sentence = "option {option!r} must be true or false, not {value!r}"
    why = OPTIONS
    fix = "write true or false, in quotes"
    kubelet_text = "bad value for option {option:q}: {problem}"


class ConfigTopologyOptionNotInteger(Finding):
    sentence = "option {option!r} must be a whole number of {minimum} or more, not {value!r}"
    why = OPTIONS
    fix = "write a whole number of {minimum} or more, in quotes: the machine's number of NUMA nodes"
    kubelet_text = "unable to convert policy option to integer {option:q}: {problem}"
    option: GoText
    value: str
    minimum: int
    problem: str


class ConfigTopologyNodeLimit(Finding):
    sentence = "option {option!r} must be a whole number of {minimum} or more, not {value}"
    why = OPTIONS
    fix = "write {minimum} or more, or remove the option"
    kubelet_text = "the minimum value of {option:q} should not be less than {minimum}"
    option: GoText
    value: str
    minimum: int


class ConfigCpuOptionsNeedGate(OptionsNeedGate):
    why = OPTIONS
    fix = "set featureGates.{gate} to true, or remove the options"
    sentence = kubelet_text = (
        'CPU Manager policy options {options} require feature gates "CPUManager", '
        '"CPUManagerPolicyOptions" enabled'
    )


class ConfigCpuOptionUnknown(OptionUnknown):
    sentence = "unknown option {option!r} of the CPU policy; expected {allowed}"
    why = OPTIONS
    fix = "remove {option}; known options are {allowed}"
    kubelet_text = "new static policy error: unknown CPU Manager Policy option: {option:q}"


class ConfigCpuOptionNeedsGate(OptionNeedsGate):
    sentence = (
        "option {option!r} has maturity level {maturity} and requires the feature gate {gate}"
    )
    why = OPTIONS
    fix = "set featureGates.{gate} to true, or remove {option}"
    kubelet_text = (
        "new static policy error: {level_options} not enabled, but option {option:q} provided"
    )


class ConfigCpuOptionNotBoolean(OptionNotBoolean):
    sentence = "option {option!r} must be true or false, not {value!r}"
    why = OPTIONS
    fix = "write true or false, in quotes"
    kubelet_text = "new static policy error: bad value for option {option:q}: {problem}"


class ConfigCpuOptionsExclude(Finding):
    why = OPTIONS
    fix = "keep one of {first} and {second}"
    sentence = kubelet_text = (
        "new static policy error: static policy options {first} and {second} can not be used at "
        "the same time"
    )
    first: str
    second: str


class ConfigAlignBySocketSingleNode(Finding):
    why = OPTIONS
    fix = "remove align-by-socket, or use another topology policy than single-numa-node"
    sentence = kubelet_text = (
        "new static policy error: Topolgy manager single-numa-node policy is incompatible with "
        "CPUManager align-by-socket policy option"
    )


class ConfigAlignBySocketSockets(Finding):
    sentence = (
        "option align-by-socket does not support a machine with more sockets ({sockets}) than NUMA "
        "nodes with CPUs ({numa_nodes})"
    )
    why = OPTIONS
    fix = "remove align-by-socket"
    kubelet_text = (
        "new static policy error: Align by socket is not compatible with hardware where number of "
        "sockets are more than number of NUMA"
    )
    sockets: int
    numa_nodes: int
