"""Findings about a kubelet's command line."""

from __future__ import annotations

from numalet.core.model.findings import Finding
from numalet.core.model.go_text import GoText

_WHY = "The kubelet ends at the first flag that it cannot parse; each release has its own flags."


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
