"""One observation of a kubelet: its state files against the cgroups.

A difference is a problem only after some time, because the kubelet writes its state before it acts.
It also writes the shared pool separately from a container, so a file may briefly contradict itself.
Kubelet v1.32: ``staticPolicy.RemoveContainer``, which calls ``Delete`` and ``SetDefaultCPUSet``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Final

from numalet.agent.findings.kubelet import (
    KubeletCpusDiffer,
    KubeletKeepsRestarting,
    KubeletMemoryMisplaced,
    KubeletMemoryNodesDiffer,
    KubeletNotRunning,
    KubeletStarted,
    of_release,
)
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.releases.versions import NOT_SEEN, FollowedRelease
from numalet.core.enforcement import comparison
from numalet.core.enforcement.cgroup_settings import CgroupSettings
from numalet.core.enforcement.comparison import Audit, Reality
from numalet.core.managers.cpu.ledger import CpuLedger
from numalet.core.managers.memory.ledger import MemoryLedger
from numalet.core.model import cpu_set
from numalet.core.model.findings import Finding, Location, Severity
from numalet.core.model.machine_info import MachineInfo
from numalet.core.model.pod import ContainerKey
from numalet.core.model.value import Value, replace
from numalet.core.snapshot import placement
from numalet.core.snapshot.placement import Placement
from numalet.core.snapshot.snapshot import Snapshot
from numalet.insight.state import reading
from numalet.insight.state import verify as state_verify
from numalet.insight.state.verify import FileReport

RECONCILED_WITHIN: Final = timedelta(seconds=25)
"""Twice the kubelet's default reconcile period, and some slack."""
SETTLED_WITHIN: Final = timedelta(seconds=5)
"""A file that stays unchanged this long is not in the middle of a write."""
MISSED_AFTER: Final = timedelta(seconds=10)
"""A restart takes less."""
RESTARTS_COUNTED_FOR: Final = timedelta(minutes=10)
MANY_RESTARTS: Final = 3

NOT_RUNNING: Final = "kubelet/not-running"
KEEPS_RESTARTING: Final = "kubelet/keeps-restarting"


class PodName(Value):
    namespace: str
    name: str


class Evidence(Value, kw_only=True):
    """State files by name, and the settings in force by container.

    ``unread``: why files are unreadable. ``refusal``: why a kubelet would not start with them, if
    its configuration ``settings`` from the file ``config`` is known. ``running``: the kubelet's
    process, empty if it is down. ``known_pods``: uids that it works on. Both are None if unknown.
    ``followed``: the release for its rules. ``app_containers``: containers without ending init
    containers.
    """

    root: str
    files: Mapping[str, str] = MappingProxyType({})
    unread: tuple[Finding, ...] = ()
    refusal: Finding | None = None
    config: str = ""
    settings: KubeletConfig | None = None
    followed: FollowedRelease = NOT_SEEN
    running: str | None = None
    known_pods: frozenset[str] | None = None
    app_containers: Mapping[PodName, frozenset[str]] | None = None
    realities: Mapping[ContainerKey, Reality] = MappingProxyType({})
    pods: Mapping[str, PodName] = MappingProxyType({})


class KubeletProblem(Value):
    """A condition since ``since``; ``key`` if it concerns a container.

    ``lasts``: it has lasted long enough to be reported.
    """

    finding: Finding
    key: ContainerKey | None
    since: datetime
    lasts: bool


class KubeletObservation(Value, kw_only=True):
    """``held`` are the allocations in the state files, ``audits`` those found in a cgroup.

    ``news``: problems that now last. ``changed`` and ``removed``: files since the previous
    observation. ``files_since``: last change of the files. ``state_since``: when the kubelet
    started or stopped. ``starts``: recent restarts.
    """

    at: datetime
    evidence: Evidence
    files: tuple[FileReport, ...]
    held: Mapping[ContainerKey, Placement]
    audits: Mapping[ContainerKey, Audit]
    problems: tuple[KubeletProblem, ...]
    news: tuple[KubeletProblem, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    notes: tuple[Finding, ...]
    files_since: datetime
    state_since: datetime
    starts: tuple[datetime, ...]

    @property
    def is_unsettled(self) -> bool:
        """Whether a problem of the node may soon last, which needs an early next observation."""
        return any(each.key is None and not each.lasts for each in self.problems)

    def is_stale(self, pod_uid: str) -> bool:
        """Whether the kubelet no longer has this pod.

        It releases memory only at the next admission, so this is not a problem.
        """
        known = self.evidence.known_pods
        return known is not None and pod_uid not in known

    @property
    def lasting_problems(self) -> tuple[KubeletProblem, ...]:
        return tuple(each for each in self.problems if each.lasts)


def observe(
    before: KubeletObservation | None, evidence: Evidence, machine: MachineInfo, at: datetime
) -> KubeletObservation:
    """Make the next observation."""
    # An unknown kubelet release may write another format, so do not judge it by known rules.
    files = state_verify.verify(evidence.files, machine, evidence.followed.of_known_kubelet)
    snapshot = promises(evidence.files)
    wanted = {key: _wanted(snapshot, key) for key in sorted(evidence.realities)}
    audits = {
        key: comparison.audit(each, evidence.realities[key], at) for key, each in wanted.items()
    }
    history = _history(before, evidence, at)
    known = {} if before is None else {_same(each): each for each in before.problems}
    problems = (
        *_process_problems(history, evidence),
        *_file_problems(history, evidence, files, before, at),
        *(
            _aged(finding, key, known, at)
            for finding, key in _of_containers(evidence, wanted, audits)
        ),
    )
    lasted_before = {same for same, each in known.items() if each.lasts}
    old = evidence.files if before is None else before.evidence.files
    return KubeletObservation(
        at=at,
        evidence=evidence,
        files=files,
        held=placement.of_all(snapshot),
        audits=audits,
        problems=problems,
        news=tuple(each for each in problems if each.lasts and _same(each) not in lasted_before),
        changed=tuple(
            name for name in sorted(evidence.files) if old.get(name) != evidence.files[name]
        ),
        removed=tuple(sorted(set(old) - set(evidence.files))),
        notes=history.notes,
        files_since=history.files_since,
        state_since=history.state_since,
        starts=history.starts,
    )


class _History(Value):
    """Times that depend on earlier observations."""

    at: datetime
    files_since: datetime
    state_since: datetime
    starts: tuple[datetime, ...]
    notes: tuple[Finding, ...]


def _history(before: KubeletObservation | None, evidence: Evidence, at: datetime) -> _History:
    if before is None:
        return _History(at, at, at, (), ())
    old = before.evidence
    # A file that remains unreadable is unchanged.
    same_files = (old.files, old.unread) == (evidence.files, evidence.unread)
    same_state = old.running == evidence.running
    started = evidence.running if not same_state and old.running is not None else None
    recent = tuple(each for each in before.starts if at - each < RESTARTS_COUNTED_FOR)
    return _History(
        at=at,
        files_since=before.files_since if same_files else at,
        state_since=before.state_since if same_state else at,
        starts=(*recent, at) if started else recent,
        notes=tuple(_notes(old, evidence, started)),
    )


def _notes(old: Evidence, evidence: Evidence, started: str | None) -> Iterator[Finding]:
    if started:
        yield KubeletStarted(kubelet=started, root=evidence.root)
    if evidence.followed != old.followed:
        yield of_release(evidence.followed)


def _process_problems(history: _History, evidence: Evidence) -> Iterator[KubeletProblem]:
    """A kubelet that is down or keeps restarting."""
    since = history.state_since
    if evidence.running == "" and evidence.files:
        away = KubeletNotRunning(root=evidence.root)
        yield KubeletProblem(away, None, since, history.at - since >= MISSED_AFTER)
    if len(history.starts) >= MANY_RESTARTS:
        minutes = int(RESTARTS_COUNTED_FOR.total_seconds() // 60)
        restless = KubeletKeepsRestarting(root=evidence.root, minutes=minutes)
        yield KubeletProblem(restless, None, history.starts[0], lasts=True)


def _file_problems(
    history: _History,
    evidence: Evidence,
    files: tuple[FileReport, ...],
    before: KubeletObservation | None,
    at: datetime,
) -> Iterator[KubeletProblem]:
    """Problems of the files; they last unless a write is in progress."""
    earlier = {} if before is None else {_kind(each.finding): each for each in before.problems}
    lasting = () if before is None else {_same(each) for each in before.problems if each.lasts}
    are_settled = at - history.files_since >= SETTLED_WITHIN
    for finding in _of_files(evidence, files):
        old = earlier.get(_kind(finding))
        since = at if old is None else old.since
        # On a busy node the files never settle, so age is the second criterion.
        has_lasted = are_settled or at - since >= RECONCILED_WITHIN
        problem = KubeletProblem(finding, None, since, has_lasted)
        yield replace(problem, lasts=has_lasted or _same(problem) in lasting)


def _kind(finding: Finding) -> tuple[object, ...]:
    """Identifies a file's problem even if CPUs or sizes in it change."""
    return finding.code, finding.where.document


def promises(files: Mapping[str, str]) -> Snapshot:
    """Decode the allocations in the state files, as far as possible."""
    states = reading.read(files)
    # The first format has container ids as keys, which name no container here.
    return Snapshot(
        cpu=CpuLedger() if states.cpu is None else states.cpu.ledger,
        memory=MemoryLedger({}, {}) if states.memory is None else states.memory.ledger,
    )


def _wanted(snapshot: Snapshot, key: ContainerKey) -> CgroupSettings:
    return CgroupSettings(
        cpus=placement.cpus(snapshot, *key) or None,
        memory_nodes=placement.memory_nodes(snapshot, *key) or None,
    )


def _aged(
    finding: Finding,
    key: ContainerKey,
    known: Mapping[tuple[object, ...], KubeletProblem],
    at: datetime,
) -> KubeletProblem:
    """A container's problem with its age."""
    fresh = KubeletProblem(finding, key, at, lasts=False)
    old = known.get(_same(fresh))
    since = at if old is None else old.since
    return KubeletProblem(finding, key, since, lasts=at - since >= RECONCILED_WITHIN)


def _same(problem: KubeletProblem) -> tuple[object, ...]:
    """Identifies a problem even if the number of misplaced bytes changes."""
    finding = problem.finding
    shown = () if problem.key else sorted((key, repr(v)) for key, v in finding.fields.items())
    return finding.code, problem.key, finding.where, tuple(shown)


def _of_files(evidence: Evidence, files: tuple[FileReport, ...]) -> Iterator[Finding]:
    yield from (each for each in evidence.unread if each.severity is not Severity.NOTE)
    for report in files:
        yield from (each for each in report.findings if each.severity is not Severity.NOTE)
    if evidence.refusal is not None:
        yield evidence.refusal


def _of_containers(
    evidence: Evidence,
    wanted: Mapping[ContainerKey, CgroupSettings],
    audits: Mapping[ContainerKey, Audit],
) -> Iterator[tuple[Finding, ContainerKey]]:
    for key, promised in wanted.items():
        seen = evidence.realities[key]
        where = Location(f"{_shown(evidence, key.pod_uid)}/{key.container}")
        # An empty set means that there is no cpuset controller, not that no CPU is allowed.
        if promised.cpus and seen.allowed_cpus and seen.allowed_cpus != promised.cpus:
            cpus, allowed = cpu_set.text(promised.cpus), cpu_set.text(seen.allowed_cpus)
            yield KubeletCpusDiffer(promised=cpus, found=allowed, where=where), key
        nodes, in_force = frozenset(promised.memory_nodes or ()), frozenset(seen.allowed_nodes)
        if nodes and in_force and nodes != in_force:
            finding = KubeletMemoryNodesDiffer(
                promised=cpu_set.text(nodes), found=cpu_set.text(in_force), where=where
            )
            yield finding, key
        misplaced = audits[key].misplaced_bytes
        if misplaced:
            yield (
                KubeletMemoryMisplaced(bytes=misplaced, promised=cpu_set.text(nodes), where=where),
                key,
            )


def _shown(evidence: Evidence, pod_uid: str) -> str:
    name = evidence.pods.get(pod_uid)
    return pod_uid if name is None else f"{name.namespace}/{name.name}"
