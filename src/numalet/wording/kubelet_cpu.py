"""The kubelet's own texts of its CPU Manager's static policy, to the letter.

``ALLOCATION``: why a container could not get CPUs. ``ADMISSION_REASONS``: which of these are
admission errors of a type of their own; their text is the message as it stands, without
"Allocate failed due to". ``START``: why the manager could not be built. ``STATES``: why a
restored state is not accepted. Kubelet: ``cpumanager``, v1.32.
"""

from __future__ import annotations

from collections.abc import Mapping

ALLOCATION: Mapping[str, str] = {
    "cpu/not-whole-cores": (
        "SMT Alignment Error: requested {requested} cpus not multiple cpus per core ="
        " {cpus_per_core}"
    ),
    "cpu/too-few-whole-cores": (
        "SMT Alignment Error: not enough free physical CPUs: available physical CPUs ="
        " {available}, requested CPUs = {requested}, CPUs per core = {cpus_per_core}"
    ),
    "cpu/too-few-cpus": (
        "not enough cpus available to satisfy request: requested={requested}, available={available}"
    ),
    "cpu/accounting-error": ("accounting error, not enough CPUs allocated, remaining: {remaining}"),
}

ADMISSION_REASONS: Mapping[str, str] = {
    "cpu/not-whole-cores": "SMTAlignmentError",
    "cpu/too-few-whole-cores": "SMTAlignmentError",
}

START: Mapping[str, str] = {
    "cpu-manager/can-not-reserve": (
        "new static policy error: [cpumanager] unable to reserve the required amount of CPUs"
        " (size of {cpus} did not equal {count})"
    ),
    "cpu-manager/unknown-reserved-cpu": (
        "new static policy error: [cpumanager] unable to build the reserved physical CPUs from"
        " the reserved set: unknown CPU ID: {cpu}"
    ),
}

STATES: Mapping[str, str] = {
    "cpu-state/empty-default": "default cpuset cannot be empty",
    "cpu-state/reserved-not-in-default": (
        'not all reserved cpus: "{reserved}" are present in defaultCpuSet: "{default}"'
    ),
    "cpu-state/reserved-in-default": (
        'some of strictly reserved cpus: "{reserved}" are present in defaultCpuSet: "{default}"'
    ),
    "cpu-state/overlap": (
        'pod: {pod}, container: {container} cpuset: "{cpus}" overlaps with default cpuset'
        ' "{default}"'
    ),
    "cpu-state/other-cpus": (
        'current set of available CPUs "{available}" doesn\'t match with CPUs in state "{found}"'
    ),
}
