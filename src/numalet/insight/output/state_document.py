"""What ``numalet state ... -o json`` prints.

Every document names its schema; a breaking change gives it the next number. Sizes are bytes;
``cpus`` are lists such as ``0-3,8``, which may be empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from numalet.core.config.behaviour import Mode
from numalet.core.config.releases.release import Release
from numalet.core.config.rules import StartRefused, StartStage
from numalet.core.model.findings import Finding, Severity
from numalet.core.model.pod import ContainerKey
from numalet.insight.output.json_schema import OutputDocument
from numalet.insight.output.memory_document import TypeDocument, types
from numalet.insight.state import verify
from numalet.insight.state.holder_map import GroupRow, HolderRow, StateMap
from numalet.insight.state.reading import Seal
from numalet.insight.state.rebase import Lost, Rebased
from numalet.insight.state.restart_check import RestartAnswer, RestoreCheck
from numalet.insight.state.state_diff import StateDifference
from numalet.insight.state.verify import FileReport, Soundness
from numalet.wording import kubelet_start


class StateFindingDocument(OutputDocument):
    """One finding: a stable code, the values in its sentence by name, and the sentence.

    ``file`` and ``path`` say where; they are empty where that is no place in a file.
    """

    code: str
    severity: Severity
    file: str
    path: str
    fields: dict[str, Any]
    text: str


class StateContainerDocument(OutputDocument):
    """A container."""

    pod_uid: str
    container: str


class StateNodeDocument(OutputDocument):
    """A NUMA node of a group."""

    node_id: int
    assignments: int
    types: list[TypeDocument]


class GroupDocument(OutputDocument):
    """NUMA nodes that are given away together; ``types`` are the sums over them.

    ``containers`` hold memory on exactly these nodes.
    """

    numa_nodes: list[int]
    types: list[TypeDocument]
    nodes: list[StateNodeDocument]
    containers: list[StateContainerDocument]


class PartDocument(OutputDocument):
    """Memory of one type on a set of NUMA nodes; ``size`` in bytes."""

    numa_nodes: list[int]
    type: str
    size: int


class StateHolderDocument(StateContainerDocument):
    """A container with all that it holds; ``name`` is namespace/pod, or the uid.

    ``devices`` are texts such as ``gpu0@0, gpu1@0+1`` by resource: ids, and their NUMA nodes.
    ``stale`` says that its pod is known to be gone or finished.
    """

    name: str
    memory: list[PartDocument]
    cpus: str
    devices: dict[str, str]
    stale: bool


class ShownDocument(OutputDocument):
    """What state files say. ``policies`` are by manager, as far as there is a file.

    ``default_cpu_set`` is the shared pool, null without a file of the CPU Manager.
    """

    schema: Literal["numalet.state-show/1"]
    policies: dict[Literal["cpu", "memory"], str]
    groups: list[GroupDocument]
    default_cpu_set: str | None
    registered_devices: dict[str, list[str]]
    holders: list[StateHolderDocument]
    unreadable: list[StateFindingDocument]


class BreachDocument(StateFindingDocument):
    """A finding with the rule that is broken."""

    rule: str


class StateFileDocument(OutputDocument):
    """A state file. What cannot be known of a file that cannot be decoded is null.

    ``expected_checksum`` is the one that the kubelet would write for this content.
    """

    file: str
    soundness: Soundness
    policy: str | None
    seal: Seal | None
    checksum: int | None
    expected_checksum: int | None
    findings: list[BreachDocument]


class VerifiedDocument(OutputDocument):
    """Whether state files are sound, as those of a kubelet of the release.

    ``release`` is null where none is known: then they may be of any format.
    """

    schema: Literal["numalet.state-verify/1"]
    release: str | None
    files: list[StateFileDocument]


class DifferenceDocument(OutputDocument):
    """One member that is not the same in both; null is "not there".

    Numbers are bytes, but for assignments. ``change_bytes`` is there where both are sizes.
    """

    file: str
    subject: str
    what: str
    before: int | str | None
    after: int | str | None
    change_bytes: int | None


class ComparedDocument(OutputDocument):
    """What differs between two sets of state files."""

    schema: Literal["numalet.state-diff/1"]
    differences: list[DifferenceDocument]
    unreadable: list[StateFindingDocument]


class LostDocument(StateFindingDocument):
    """A container's record that does not fit any more, and why."""

    pod_uid: str
    container: str


class KeptDocument(OutputDocument):
    """What a rebase does: files that change, and what is kept and lost, by file.

    ``unusable`` are files from which nothing can be kept.
    """

    changes: list[str]
    kept: dict[str, list[StateContainerDocument]]
    lost: list[LostDocument]
    unusable: list[StateFindingDocument]


class CheckedDocument(OutputDocument):
    """Whether a kubelet would start with the files, and what became different since.

    ``start_error`` is the kubelet's own text; it is null where the kubelet starts, and where it
    would crash or hang. ``rebase`` is null where it does not start whatever the files say.
    ``pods`` says which of the given pods are lost or moved; it is null without pods or a start.
    """

    schema: Literal["numalet.state-restore-check/1"]
    mode: Mode
    release: str
    answer: RestartAnswer
    start_error: str | None
    start_error_stage: StartStage | None
    drift: list[StateFindingDocument]
    rebase: KeptDocument | None
    pods: list[StateFindingDocument] | None = None


class RebasedDocument(KeptDocument):
    """What a rebase did; ``written`` are the backups by the paths that were replaced."""

    schema: Literal["numalet.state-rebase/1"]
    written: dict[str, str]


def shown(chart: StateMap, unreadable: Iterable[Finding]) -> ShownDocument:
    return ShownDocument(
        schema="numalet.state-show/1",
        policies=dict(chart.policies),
        groups=[_group(row) for row in chart.groups],
        default_cpu_set=chart.pool,
        registered_devices={name: list(ids) for name, ids in chart.registered.items()},
        holders=[_holder(row) for row in chart.holders],
        unreadable=[finding(each) for each in unreadable],
    )


def _group(row: GroupRow) -> GroupDocument:
    return GroupDocument(
        numa_nodes=list(row.node_ids),
        types=types(row.sums),
        nodes=[StateNodeDocument(n.node_id, n.assignments, types(n.types)) for n in row.nodes],
        containers=_containers(row.holders),
    )


def _containers(keys: Iterable[ContainerKey]) -> list[StateContainerDocument]:
    return [StateContainerDocument(key.pod_uid, key.container) for key in keys]


def _holder(row: HolderRow) -> StateHolderDocument:
    return StateHolderDocument(
        pod_uid=row.key.pod_uid,
        container=row.key.container,
        name=row.name,
        memory=[
            PartDocument(list(part.node_ids), part.resource, part.size_bytes) for part in row.memory
        ],
        cpus=row.cpus,
        devices=dict(row.devices),
        stale=row.is_stale,
    )


def verified(reports: Iterable[FileReport], release: Release | None = None) -> VerifiedDocument:
    """Return whether the files are sound, as those of a kubelet of this release."""
    files = [_file(report) for report in reports]
    name = None if release is None else release.name
    return VerifiedDocument("numalet.state-verify/1", name, files)


def _file(report: FileReport) -> StateFileDocument:
    return StateFileDocument(
        file=report.name,
        soundness=report.soundness,
        policy=report.policy_name,
        seal=report.seal,
        checksum=report.checksum,
        expected_checksum=report.expected,
        findings=[
            BreachDocument(**_parts(each), rule=verify.rule(each)) for each in report.findings
        ],
    )


def compared(
    differences: Iterable[StateDifference], unreadable: Iterable[Finding]
) -> ComparedDocument:
    return ComparedDocument(
        schema="numalet.state-diff/1",
        differences=[
            DifferenceDocument(
                each.file, each.subject, each.what, each.before, each.after, each.change_bytes
            )
            for each in differences
        ],
        unreadable=[finding(each) for each in unreadable],
    )


def checked(check: RestoreCheck, root_dir: str) -> CheckedDocument:
    refused = check.refused
    return CheckedDocument(
        schema="numalet.state-restore-check/1",
        mode=check.behaviour.mode,
        release=check.behaviour.release.name,
        answer=check.answer,
        start_error=None if refused is None else start_error(refused, root_dir),
        start_error_stage=None if refused is None else refused.stage,
        drift=[finding(each) for each in check.drift],
        rebase=None if check.rebased is None else KeptDocument(**_kept(check.rebased)),
        pods=None if check.pods is None else [finding(each) for each in check.pods],
    )


def start_error(refused: StartRefused, root_dir: str) -> str | None:
    """Return the kubelet's own text, unless it would crash or hang."""
    if refused.stage is StartStage.NUMALET:
        return None
    return kubelet_start.text(refused, root_dir)


def rebased(result: Rebased, backups: Mapping[str, str]) -> RebasedDocument:
    """Return the allocations that a rebase keeps and loses; ``backups`` are by replaced path."""
    return RebasedDocument(**_kept(result), schema="numalet.state-rebase/1", written=dict(backups))


def _kept(result: Rebased) -> dict[str, Any]:
    return {
        "changes": sorted(result.files),
        "kept": {name: _containers(keys) for name, keys in result.kept.items()},
        "lost": [_lost(each) for each in result.lost],
        "unusable": [
            StateFindingDocument(**_parts(each) | {"file": name})
            for name, each in result.unusable.items()
        ],
    }


def _lost(lost: Lost) -> LostDocument:
    parts = _parts(lost.why) | {"file": lost.file}
    return LostDocument(**parts, pod_uid=lost.key.pod_uid, container=lost.key.container)


def finding(of: Finding) -> StateFindingDocument:
    return StateFindingDocument(**_parts(of))


def _parts(of: Finding) -> dict[str, Any]:
    return {
        "code": of.code,
        "severity": of.severity,
        "file": of.where.document,
        "path": of.where.path,
        "fields": {name: of.fields[name] for name in sorted(of.fields)},
        "text": str(of),
    }
