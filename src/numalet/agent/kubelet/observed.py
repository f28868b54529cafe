"""One observation of a kubelet that owns the node: its state files, and what is in force of them.

The state files are judged as ``numalet state verify`` judges them, and asked whether a kubelet
would start with them. What they promise a container is held against what is in force for it.

What is wrong for a moment is no problem; it has to last.
A kubelet writes a promise down first and then acts, for the shared CPUs within its reconcile
period: a container may differ for 25 s.
It writes a state file once for a container and once more for the shared pool, and between the two
the file contradicts itself: so what is wrong about the files counts when they have stayed as they
are for 5 s, or when it is still wrong after 25 s of writing.
A kubelet that is restarted is gone for some seconds: it is missed after 10 s.
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
from numalet.core.enforcement import audit
from numalet.core.enforcement.audit import Audit
from numalet.core.enforcement.reality import Reality
from numalet.core.enforcement.settings import CgroupSettings
from numalet.core.managers.cpu.ledger import CpuLedger
from numalet.core.managers.memory.ledger import MemoryLedger
from numalet.core.model import cpu_set
from numalet.core.model.findings import Finding, Location, Severity
from numalet.core.model.machine_info import MachineInfo
from numalet.core.model.pod import ContainerKey
from numalet.core.model.value import Value, replace
from numalet.core.snapshot import placement, runtime_sets
from numalet.core.snapshot.placement import Placement
from numalet.core.snapshot.snapshot import Snapshot
from numalet.insight.state import reading
from numalet.insight.state import verify as state_verify
from numalet.insight.state.verify import FileReport

RECONCILED_WITHIN: Final = timedelta(seconds=25)
"""The kubelet's default reconcile period twice, and a little more."""
SETTLED_WITHIN: Final = timedelta(seconds=5)
"""Files that have not changed for this long are as the kubelet wants them, or as it left them."""
MISSED_AFTER: Final = timedelta(seconds=10)
"""A kubelet that is away for longer is not only being restarted."""
RESTARTS_COUNTED_FOR: Final = timedelta(minutes=10)
MANY_RESTARTS: Final = 3

NOT_RUNNING: Final = "kubelet/not-running"
KEEPS_RESTARTING: Final = "kubelet/keeps-restarting"


class PodName(Value):
    namespace: str
    name: str


class Evidence(Value, kw_only=True):
    """What was read: state files by name, and what is in force for each container by name.

    ``unread`` says why files could not be read at all. ``refusal`` is why a kubelet would not
    start with the files, None if it would, or if its configuration, ``settings`` from the file
    ``config``, is not known. ``running`` says which kubelet is at work, empty if none is, None if
    that is not known; ``known_pods`` are the uids of the pods that it works on, None likewise.
    ``followed`` is the release by which the kubelet is judged. ``app_containers`` are the names of
    each pod's containers but for init containers that end.
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
    """Something that is not as it should be since a moment; ``key`` if it is about a container.

    ``has_lasted`` says that it has lasted, or needs not to.
    """

    finding: Finding
    key: ContainerKey | None
    since: datetime
    lasts: bool


class KubeletObservation(Value, kw_only=True):
    """One observation.

    ``held`` is what the state files promise, by container; ``audits`` are of those of them that
    were seen in a cgroup. ``news`` are the problems that began to last, ``notes`` what
    happened that is no problem. ``changed`` are the files that were written since the one before,
    ``removed`` those that went.

    ``files_since`` is when the files became what they are, ``state_since`` when the kubelet began
    to run, or to be away; ``starts`` are the latest times at which another one was seen.
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
        """Whether the node has something that may soon become a problem."""
        return any(each.key is None and not each.lasts for each in self.problems)

    def is_stale(self, pod_uid: str) -> bool:
        """Whether the files promise something to a pod that the kubelet does not know any more.

        It gives memory back at the next admission only, so this is no problem.
        """
        known = self.evidence.known_pods
        return known is not None and pod_uid not in known

    @property
    def lasting_problems(self) -> tuple[KubeletProblem, ...]:
        """The problems that people should know of."""
        return tuple(each for each in self.problems if each.lasts)


def observe(
    before: KubeletObservation | None, evidence: Evidence, machine: MachineInfo, at: datetime
) -> KubeletObservation:
    """The next observation, from the evidence and the observation before."""
    # A kubelet that is not known may write files of any format.
    files = state_verify.verify(evidence.files, machine, evidence.followed.of_known_kubelet)
    snapshot = promises(evidence.files)
    wanted = {key: _wanted(snapshot, key) for key in sorted(evidence.realities)}
    audits = {key: audit.audit(each, evidence.realities[key], at) for key, each in wanted.items()}
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
    """The result of several observations of the kubelet and its files."""

    at: datetime
    files_since: datetime
    state_since: datetime
    starts: tuple[datetime, ...]
    notes: tuple[Finding, ...]


def _history(before: KubeletObservation | None, evidence: Evidence, at: datetime) -> _History:
    if before is None:
        return _History(at, at, at, (), ())
    old = before.evidence
    # A file that can be read or understood as little as before is the same file.
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
    """Events of the kubelet: a restart, or another release."""
    if started:
        yield KubeletStarted(kubelet=started, root=evidence.root)
    if evidence.followed != old.followed:
        yield of_release(evidence.followed)


def _process_problems(history: _History, evidence: Evidence) -> Iterator[KubeletProblem]:
    """A kubelet that is away, or that does not stay."""
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
    """What is wrong about the files; it lasts if it is not only the middle of a write."""
    earlier = {} if before is None else {_kind(each.finding): each for each in before.problems}
    lasting = () if before is None else {_same(each) for each in before.problems if each.lasts}
    are_settled = at - history.files_since >= SETTLED_WITHIN
    for finding in _of_files(evidence, files):
        old = earlier.get(_kind(finding))
        since = at if old is None else old.since
        has_lasted = are_settled or at - since >= RECONCILED_WITHIN
        problem = KubeletProblem(finding, None, since, has_lasted)
        yield replace(problem, lasts=has_lasted or _same(problem) in lasting)


def _kind(finding: Finding) -> tuple[object, ...]:
    """By what trouble with a file is known again, though CPUs or sizes in it may differ."""
    return finding.code, finding.where.document


def promises(files: Mapping[str, str]) -> Snapshot:
    """The allocations in the state files, as far as they can be decoded."""
    states = reading.read(files)
    # Records of the first format are keyed by container id, which names no container.
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
    key: ContainerKey,
    known: Mapping[tuple[object, ...], KubeletProblem],
    at: datetime,
) -> KubeletProblem:
    """A problem of a container, with its age."""
    fresh = KubeletProblem(finding, key, at, lasts=False)
    old = known.get(_same(fresh))
    since = at if old is None else old.since
    return KubeletProblem(finding, key, since, lasts=at - since >= RECONCILED_WITHIN)


def _same(problem: KubeletProblem) -> tuple[object, ...]:
    """By what a problem is known again; how many bytes are misplaced may differ."""
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
