"""A look at another owner of the node, a kubelet: its books, and what the kernel has of them.

The state files are judged as ``numalet state verify`` judges them, and asked whether a kubelet
would start with them. What they promise a container is held against what is in force for it. A
kubelet writes a promise down first and then acts, for the shared CPUs within its reconcile period,
so what differs about a container is a *problem* only when it lasts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Final

from numalet.enforcement import audit
from numalet.enforcement.audit import Audit
from numalet.enforcement.reality import Reality
from numalet.enforcement.settings import CgroupSettings
from numalet.managers.cpu.ledger import CpuLedger
from numalet.managers.memory.ledger import MemoryLedger
from numalet.model import cpu_set
from numalet.model.cpu_set import CpuSet
from numalet.model.findings import Finding, Location, Severity
from numalet.model.machine_info import MachineInfo
from numalet.model.pod import ContainerKey
from numalet.reports import state_reading, state_verify
from numalet.reports.state_verify import FileReport
from numalet.snapshot import placement, runtime_sets
from numalet.snapshot.placement import Placement
from numalet.snapshot.snapshot import Snapshot

RECONCILED_WITHIN: Final = timedelta(seconds=25)
"""The kubelet's default reconcile period twice, and a little more."""


@dataclass(frozen=True, slots=True)
class PodName:
    """What a pod of the kubelet is called."""

    namespace: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What was read: state files by name, and what is in force for each container by name.

    ``unread`` says why files could not be read at all. ``refusal`` is why a kubelet would not
    start with the files, None if it would, or if its configuration, which is the file ``config``,
    is not known.
    """

    root: str
    files: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    unread: tuple[Finding, ...] = ()
    refusal: Finding | None = None
    config: str = ""
    realities: Mapping[ContainerKey, Reality] = field(default_factory=lambda: MappingProxyType({}))
    pods: Mapping[str, PodName] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is not as it should be since a moment; ``key`` if it is about a container.

    ``is_told`` says that it has lasted, or needs not to.
    """

    finding: Finding
    key: ContainerKey | None
    since: datetime
    is_told: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeletLook:
    """What one look found.

    ``held`` is what the state files promise, by container; ``audits`` are of those of them that
    were found in a cgroup. ``news`` are the problems that were not told before, ``changed`` the
    files that became different since the look before.
    """

    at: datetime
    evidence: Evidence
    files: tuple[FileReport, ...]
    held: Mapping[ContainerKey, Placement]
    audits: Mapping[ContainerKey, Audit]
    problems: tuple[Problem, ...]
    news: tuple[Problem, ...]
    changed: tuple[str, ...]

    @property
    def told(self) -> tuple[Problem, ...]:
        """The problems that people should know of."""
        return tuple(each for each in self.problems if each.is_told)


def look(
    before: KubeletLook | None, evidence: Evidence, machine: MachineInfo, at: datetime
) -> KubeletLook:
    """What the evidence comes to, after the look before."""
    files = state_verify.verify(evidence.files, machine)
    snapshot = promises(evidence.files)
    wanted = {key: _wanted(snapshot, key) for key in sorted(evidence.realities)}
    audits = {key: audit.audit(each, evidence.realities[key], at) for key, each in wanted.items()}
    known = {} if before is None else {_same(each): each for each in before.problems}
    problems = tuple(
        _aged(finding, key, known, at)
        for finding, key in (
            *_of_files(evidence, files),
            *_of_containers(evidence, wanted, audits),
        )
    )
    told_before = {same for same, each in known.items() if each.is_told}
    old = {} if before is None else before.evidence.files
    names = sorted({*old, *evidence.files})
    return KubeletLook(
        at=at,
        evidence=evidence,
        files=files,
        held=placement.of_all(snapshot),
        audits=audits,
        problems=problems,
        news=tuple(each for each in problems if each.is_told and _same(each) not in told_before),
        changed=tuple(name for name in names if old.get(name) != evidence.files.get(name)),
    )


def promises(files: Mapping[str, str]) -> Snapshot:
    """What the state files promise, as far as they can be decoded, sound or not."""
    states = state_reading.read(files)
    # Records of the first format are keyed by container id, which is nobody's name.
    return Snapshot(
        cpu=CpuLedger() if states.cpu is None else states.cpu.ledger,
        memory=MemoryLedger({}, {}) if states.memory is None else states.memory.ledger,
    )


def _wanted(snapshot: Snapshot, key: ContainerKey) -> CgroupSettings:
    return CgroupSettings(
        cpus=runtime_sets.cpus(snapshot, *key) or None,
        memory_nodes=runtime_sets.memory_nodes(snapshot, *key) or None,
    )


def _aged(
    finding: Finding,
    key: ContainerKey | None,
    known: Mapping[tuple[object, ...], Problem],
    at: datetime,
) -> Problem:
    fresh = Problem(finding, key, at, is_told=key is None)
    old = known.get(_same(fresh))
    since = at if old is None else old.since
    return Problem(finding, key, since, fresh.is_told or at - since >= RECONCILED_WITHIN)


def _same(problem: Problem) -> tuple[object, ...]:
    """By what a problem is known again; how many bytes are misplaced may differ."""
    finding = problem.finding
    shown = () if problem.key else sorted((key, repr(v)) for key, v in finding.fields.items())
    return finding.code, problem.key, finding.where, tuple(shown)


def _of_files(
    evidence: Evidence, files: tuple[FileReport, ...]
) -> Iterator[tuple[Finding, ContainerKey | None]]:
    for unread in evidence.unread:
        yield unread, None
    for report in files:
        for finding in report.findings:
            if finding.severity is not Severity.NOTE:
                yield finding, None
    if evidence.refusal is not None:
        yield evidence.refusal, None


def _of_containers(
    evidence: Evidence,
    wanted: Mapping[ContainerKey, CgroupSettings],
    audits: Mapping[ContainerKey, Audit],
) -> Iterator[tuple[Finding, ContainerKey | None]]:
    for key, promised in wanted.items():
        seen = evidence.realities[key]
        where = Location(f"{_shown(evidence, key.pod_uid)}/{key.container}")
        if promised.cpus and seen.allowed_cpus and seen.allowed_cpus != promised.cpus:
            yield _differ("kubelet/cpus-differ", promised.cpus, seen.allowed_cpus, where), key
        nodes, found = frozenset(promised.memory_nodes or ()), frozenset(seen.allowed_nodes)
        if nodes and found and nodes != found:
            yield _differ("kubelet/memory-nodes-differ", nodes, found, where), key
        misplaced = audits[key].misplaced_bytes
        if misplaced:
            fields = {"bytes": misplaced, "promised": cpu_set.text(nodes)}
            yield Finding("kubelet/memory-misplaced", fields, where, Severity.WARNING), key


def _differ(code: str, promised: CpuSet, found: CpuSet, where: Location) -> Finding:
    fields = {"promised": cpu_set.text(promised), "found": cpu_set.text(found)}
    return Finding(code, fields, where, Severity.WARNING)


def _shown(evidence: Evidence, pod_uid: str) -> str:
    name = evidence.pods.get(pod_uid)
    return pod_uid if name is None else f"{name.namespace}/{name.name}"
