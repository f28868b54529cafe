"""Verify state files: present, decodable, with a valid checksum, and free of contradictions.

A file is *sound* without findings, *doubtful* with warnings only, *broken* with an error: a state
that no kubelet writes, or CPUs shared by two pods. A kubelet has both the CPU and the memory file,
or neither: it writes both at its first start, whatever the policies. It treats a missing file as
empty, and allocates resources of running containers a second time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import Final, assert_never

from numalet.core.checkpoint import cpu_file, memory_file
from numalet.core.config.releases.release import Release
from numalet.core.findings.phrases import CHECKSUM, READABLE
from numalet.core.findings.state_files import (
    CpuStateBadBaseline,
    CpuStateBadCpus,
    CpuStateBadDefault,
    CpuStateBadDefaultSpelled,
    CpuStateCorrupted,
    CpuStateDataCorrupted,
    CpuStateNotJson,
    MemoryStateCorrupted,
    MemoryStateDataCorrupted,
    MemoryStateEarlyLayout,
    MemoryStateNotJson,
)
from numalet.core.model.findings import NOWHERE, Finding, Location, Severity, WarningFinding
from numalet.core.model.machine_info import MachineInfo
from numalet.core.model.value import Value
from numalet.insight.state import block_rules, cpu_rules, device_rules, memory_rules, reading
from numalet.insight.state.reading import CpuState, DeviceState, MemoryState, Seal, State


class StateFileMissing(WarningFinding):
    sentence = (
        "{file} is missing, and {beside} has {pods} pods: a kubelet that starts treats it as "
        "empty and may allocate again what these pods hold"
    )
    why = "The CPU file and the memory file either both exist or are both missing."
    file: str
    beside: str
    pods: int


_PAIR = (cpu_file.FILE_NAME, memory_file.FILE_NAME)


def missing_files(files: Mapping[str, str]) -> Iterator[Finding]:
    """Warn about the missing file of a directory whose other file has pods."""
    states = reading.read(files)
    pods = {
        cpu_file.FILE_NAME: 0
        if states.cpu is None
        else len(states.cpu.ledger.exclusive.keys() - {""}),
        memory_file.FILE_NAME: 0 if states.memory is None else len(states.memory.ledger.blocks),
    }
    for missing, there in (_PAIR, reversed(_PAIR)):
        if missing not in files and pods[there]:
            yield StateFileMissing(
                file=missing, beside=there, pods=pods[there], where=Location(missing)
            )


class StateUnsealed(Finding):
    sentence = "the checksum is {checksum}, which the kubelet accepts; its content has {expected}"
    why = CHECKSUM
    checksum: int
    expected: int


class StateFirstFormat(Finding):
    sentence = (
        "the file is of the first format, and its checksum {checksum} is right by the rule of "
        "that format; the kubelet still reads it"
    )
    why = READABLE
    checksum: int
    expected: int


class StateBesideData(WarningFinding):
    sentence = (
        "the kubelet from release 1.37 on reads only the member data, but older ones read the "
        "members beside it, and would not get the same: {problem}"
    )
    why = "The members beside data have the same content for kubelets before release 1.37."
    problem: str


_DECODES: Final = "The file must be JSON that Go decodes."
_CPU_LIST: Final = "A set of CPUs is a list such as 0-3,8."
_RULES: Final[Mapping[type[Finding], str]] = {
    MemoryStateNotJson: _DECODES,
    CpuStateNotJson: _DECODES,
    MemoryStateCorrupted: CHECKSUM,
    MemoryStateDataCorrupted: CHECKSUM,
    CpuStateCorrupted: CHECKSUM,
    CpuStateDataCorrupted: CHECKSUM,
    MemoryStateEarlyLayout: READABLE,
    CpuStateBadBaseline: _CPU_LIST,
    CpuStateBadDefault: _CPU_LIST,
    CpuStateBadDefaultSpelled: _CPU_LIST,
    CpuStateBadCpus: _CPU_LIST,
}
"""Rules for a file whose error, when it prevents a start, has a different reason."""


class Soundness(Enum):
    """The verdict on a file."""

    SOUND = "sound"
    DOUBTFUL = "doubtful"
    BROKEN = "broken"


class FileReport(Value):
    """One file: its seal and policy as far as it can be decoded, and every violation."""

    name: str
    policy_name: str | None
    seal: Seal | None
    checksum: int | None
    expected: int | None
    findings: tuple[Finding, ...]

    @property
    def soundness(self) -> Soundness:
        return soundness(self.findings)


def verify(
    files: Mapping[str, str], machine: MachineInfo | None = None, release: Release | None = None
) -> tuple[FileReport, ...]:
    """Return a report for every file, by name; with a machine, compare the files with it.

    The files are those of a kubelet of the release with any feature gates; without a release any
    format is accepted.
    """
    return tuple(verify_file(name, text, machine, release) for name, text in sorted(files.items()))


def verify_directory(
    files: Mapping[str, str], machine: MachineInfo | None = None, release: Release | None = None
) -> tuple[FileReport, ...]:
    missing = (
        FileReport(finding.where.document, None, None, None, None, (finding,))
        for finding in missing_files(files)
    )
    reports = (*verify(files, machine, release), *missing)
    return tuple(sorted(reports, key=lambda report: report.name))


def rule(finding: Finding) -> str:
    return _RULES.get(type(finding), finding.why)


def soundness(findings: Iterable[Finding]) -> Soundness:
    """Return the worst of these findings; notes are ignored."""
    severities = {finding.severity for finding in findings}
    if Severity.ERROR in severities:
        return Soundness.BROKEN
    return Soundness.DOUBTFUL if Severity.WARNING in severities else Soundness.SOUND


def verify_file(
    name: str, text: str, machine: MachineInfo | None = None, release: Release | None = None
) -> FileReport:
    """Return the report on one file, which has a name that a kubelet uses."""
    state = reading.read_of(release, name, text)
    if isinstance(state, Finding):
        # Without decoded content no other rule can be checked.
        findings = (_placed(state, name, Severity.ERROR),)
        return FileReport(name, None, None, None, None, findings)
    breaches = [*_seal(name, state), *_breaches(state, machine)]
    problem = reading.beside_data(name, text, state)
    if problem and state.seal is not Seal.WRONG:
        breaches.append(_placed(StateBesideData(problem=problem), name, Severity.WARNING))
    return FileReport(
        name, state.policy_name, state.seal, state.checksum, state.expected, tuple(breaches)
    )


def _breaches(state: State, machine: MachineInfo | None) -> Iterator[Finding]:
    match state:
        case MemoryState():
            yield from memory_rules.breaches(state, machine)
            yield from block_rules.breaches(state)
        case CpuState():
            yield from cpu_rules.breaches(state, machine)
        case DeviceState():
            yield from device_rules.breaches(state, machine)
        case _:
            assert_never(state)


def _seal(name: str, state: State) -> Iterator[Finding]:
    match state.seal:
        case Seal.SOUND:
            return
        case Seal.WRONG:
            yield _placed(state.why_corrupted, name, Severity.ERROR)
        case Seal.EARLY_LAYOUT:
            early = MemoryStateEarlyLayout(checksum=state.checksum)
            yield _placed(early, name, Severity.WARNING)
        case Seal.UNSEALED:
            yield _placed(
                StateUnsealed(checksum=state.checksum, expected=state.expected),
                name,
                Severity.WARNING,
            )
        case Seal.FIRST_FORMAT:
            yield _placed(
                StateFirstFormat(checksum=state.checksum, expected=state.expected),
                name,
                Severity.WARNING,
            )
        case _:
            assert_never(state.seal)


def _placed(finding: Finding, name: str, severity: Severity) -> Finding:
    where = Location(name) if finding.where == NOWHERE else finding.where
    return finding.at(where).of_severity(severity)
