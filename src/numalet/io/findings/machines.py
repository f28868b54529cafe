"""Findings about a description of a machine."""

from __future__ import annotations

from numalet.core.model.findings import NoteFinding


class MachineNotePagesAssumed(NoteFinding):
    sentence = (
        "huge pages of every node with CPUs are those of {flag} {value}, not the machine's own"
    )
    flag: str
    value: str


class MachineNoteMemoryAssumed(NoteFinding):
    sentence = "no memory was given for this shape; every node gets {value} (--memory-per-node)"
    value: str


class MachineNoteUnreadable(NoteFinding):
    sentence = "files that could not be read: {value}"
    value: str
