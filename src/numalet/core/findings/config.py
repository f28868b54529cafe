"""Findings of the kubelet's own checks at start: of its configuration and its command line."""

from __future__ import annotations

from typing import Final

from numalet.core.model.findings import Finding, NoteFinding, WarningFinding
from numalet.core.model.go_text import GoText

_WHY = "The kubelet ends at the first flag that it cannot parse; each release has its own flags."

_GATES: Final = (
    "A feature gate can be set only if the release has it and has not locked it to one value."
)
_GATE_NEEDS: Final = (
    "From release 1.35 on, an enabled feature gate requires every gate that its feature depends on."
)


class FlagUnknown(Finding):
    sentence = "failed to parse kubelet flag: unknown flag: {flag}{hint}"
    why = _WHY
    fix = "correct {flag} or remove it"
    kubelet_text = "failed to parse kubelet flag: unknown flag: {flag}"
    flag: str
    hint: str


class FlagInvalid(Finding):
    why = _WHY
    fix = "correct the value of {flag}"
    sentence = kubelet_text = (
        "failed to parse kubelet flag: invalid argument {value:q} for {flag:q} flag: {problem}"
    )
    flag: GoText
    value: GoText
    problem: str


class FlagSyntax(Finding):
    why = _WHY
    fix = "write flags as --name=value, with their two dashes"
    sentence = kubelet_text = "failed to parse kubelet flag: {problem}"
    problem: str


class FlagArgument(Finding):
    why = "The kubelet has no subcommands and takes no arguments besides its flags."
    fix = "remove {word}, or write it into the flag before it: --name={word}"
    sentence = kubelet_text = "unknown command {word}"
    word: str


class FlagShortCircuit(Finding):
    why = "With such a flag the kubelet prints a text and exits."
    fix = "remove {flag}"
    sentence = "with {flag} the kubelet prints its {printed} and does not start"
    flag: str
    printed: str


class FieldFinding(Finding):
    """A field that the kubelet refuses; ``problem`` is its text, values included."""

    field: str
    problem: str


class ConfigFieldValue(FieldFinding):
    why = "The kubelet checks the values of fields before it starts."
    fix = "correct {field}, or remove it"
    sentence = kubelet_text = "invalid configuration: {problem}"


class ConfigTracingRate(FieldFinding):
    why = "Requests are traced at a rate per million."
    fix = "set {field} to a number from 0 to 1000000"
    sentence = kubelet_text = "{field}: Invalid value: {problem}"


class ConfigFieldsConflict(FieldFinding):
    why = "Some fields need another field, or exclude it."
    fix = "remove {field}, or change {other}"
    sentence = kubelet_text = "invalid configuration: {problem}"
    other: str


class ConfigFieldNeedsGate(FieldFinding):
    why = "The kubelet reads some fields only if a feature gate is on."
    fix = "remove {field}, or set featureGates.{gate} to true"
    sentence = kubelet_text = "invalid configuration: {problem}"
    gate: str


class ConfigUndecided(WarningFinding):
    sentence = (
        "cannot tell {question} without {fields_unknown}, which {system} sets outside this file; "
        "give the output of '{command}', or the flags of these fields"
    )
    why = "A field that a vendor sets on the node decides here, and the file does not contain it."
    fix = "check the whole configuration of a node, or add the flags to the command"
    question: str
    fields_unknown: str
    system: str
    command: str


class ConfigNotAtHand(WarningFinding):
    sentence = (
        "cannot tell {question} without {files}, which this file names and which cannot be read "
        "here; give the output of '{command}', or run the command where everything can be read"
    )
    why = "A command line is only a part of a configuration if it names a file or a variable."
    fix = "check the whole configuration of a node"
    question: str
    files: str
    command: str


class ConfigDependOnUnknown(NoteFinding):
    sentence = "cannot tell whether these apply without {fields_unknown}: {codes}"
    why = "They apply for some values of these fields, and not for others."
    fix = "check the whole configuration of a node, or add the flags to the command"
    fields_unknown: str
    codes: str


class GateUnknown(Finding):
    gate: str
    release: str


class ConfigGateUnknownInFlag(GateUnknown):
    sentence = "unknown feature gate {gate!r} in release {release}"
    why = _GATES
    fix = "remove {gate} from --feature-gates"
    kubelet_text = "unrecognized feature gate: {gate}"


class ConfigGateUnknownInFile(GateUnknown):
    sentence = "unknown feature gate {gate!r} in release {release}"
    why = _GATES
    fix = "remove {gate} from featureGates"
    kubelet_text = "unrecognized feature gate: {gate}"


class GateLocked(Finding):
    """A feature gate that the release has locked to one value."""

    gate: str
    value: str
    locked_to: str


class ConfigGateLockedInFlag(GateLocked):
    why = _GATES
    fix = "remove {gate} from --feature-gates; it is {locked_to} anyway"
    sentence = kubelet_text = (
        "cannot set feature gate {gate} to {value}, feature is locked to {locked_to}"
    )


class ConfigGateLockedInFile(GateLocked):
    why = _GATES
    fix = "remove {gate} from featureGates; it is {locked_to} anyway"
    sentence = kubelet_text = (
        "cannot set feature gate {gate} to {value}, feature is locked to {locked_to}"
    )


class GateNeeds(Finding):
    """An enabled feature gate that depends on disabled ones."""

    gate: str
    needed: str


class ConfigGateNeedsInFlag(GateNeeds):
    sentence = "feature gate {gate} is on and requires {needed}, which is off"
    why = _GATE_NEEDS
    fix = "add {gate}=false to --feature-gates, or switch on {needed}"
    kubelet_text = "{gate} is enabled, but depends on features that are disabled: [{needed}]"


class ConfigGateNeedsInFile(GateNeeds):
    sentence = "feature gate {gate} is on and requires {needed}, which is off"
    why = _GATE_NEEDS
    fix = "set featureGates.{gate} to false, or {needed} to true"
    kubelet_text = "{gate} is enabled, but depends on features that are disabled: [{needed}]"


class ConfigReservedCpusWithCgroups(Finding):
    sentence = (
        "reservedSystemCPUs {cpus!r} cannot be used with systemReservedCgroup or "
        "kubeReservedCgroup; remove one of them"
    )
    why = "Reserved CPUs are for all processes outside pods, which contradicts separate cgroups."
    fix = "remove reservedSystemCPUs, or systemReservedCgroup and kubeReservedCgroup"
    kubelet_text = (
        "invalid configuration: can't use reservedSystemCPUs (--reserved-cpus) with "
        "systemReservedCgroup (--system-reserved-cgroup) or kubeReservedCgroup "
        "(--kube-reserved-cgroup)"
    )
    cpus: str


class ConfigReservedCpus(Finding):
    sentence = "reservedSystemCPUs {cpus!r} is not a CPU list such as 0-3,8: {problem}"
    why = "reservedSystemCPUs is a list in the kernel's form: 0-3,8."
    fix = "write a list such as 0-3,8"
    kubelet_text = (
        "invalid configuration: unable to parse reservedSystemCPUs (--reserved-cpus) {cpus}, "
        "error: {problem}"
    )
    cpus: str
    problem: str


class ConfigReservedCpusNoTopology(Finding):
    why = "The kubelet checks reserved CPUs against the CPU topology."
    fix = "remove reservedSystemCPUs, or use another machine"
    sentence = kubelet_text = "unable to discover CPU topology info: {problem}"
    problem: str


class ConfigReservedCpusOffline(Finding):
    why = "Reserved CPUs must be online when the kubelet starts."
    fix = "choose from the CPUs {online}"
    sentence = kubelet_text = "reserved-cpus: {cpus} is not a subset of online-cpus: {online}"
    cpus: str
    online: str
