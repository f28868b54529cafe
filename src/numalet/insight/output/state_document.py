"""The documents of ``numalet state ... -o json``; that of ``show`` is a ``StateMap``.

Every document names its schema; a breaking change gives it the next number. Sizes are bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from numalet.core.config.behaviour import Mode
from numalet.core.config.releases.release import Release
from numalet.core.config.rules import StartRefused, StartStage
from numalet.core.model.value import Value
from numalet.insight.state import holder_map, verify
from numalet.insight.state.holder_map import StateContainer, StateFinding
from numalet.insight.state.reading import Seal
from numalet.insight.state.rebase import Rebased
from numalet.insight.state.restart_check import RestartAnswer, RestoreCheck
from numalet.insight.state.state_diff import StateDifference
from numalet.insight.state.verify import FileReport, Soundness
from numalet.wording import kubelet_start


class BreachDocument(StateFinding):
    """A finding with the violated rule."""

    rule: str


class StateFileDocument(Value):
    """A state file. Values that a damaged file does not contain are null.

    ``expected_checksum`` is the one that the kubelet would write for this content.
    """

    file: str
    soundness: Soundness
    policy: str | None
    seal: Seal | None
    checksum: int | None
    expected_checksum: int | None
    findings: tuple[BreachDocument, ...]


class VerifiedDocument(Value, tag_field="schema", tag="numalet.state-verify/1"):
    """Whether a kubelet of the release would accept the state files.

    ``release`` is null if it is unknown; then every format is accepted.
    """

    release: str | None
    files: tuple[StateFileDocument, ...]


class ComparedDocument(Value, tag_field="schema", tag="numalet.state-diff/1"):
    """The differences between two sets of state files."""

    differences: tuple[StateDifference, ...]
    unreadable: tuple[StateFinding, ...]


class LostDocument(StateFinding):
    """A container's record that does not fit the machine any more, with the reason."""

    pod_uid: str
    container: str


class KeptDocument(Value):
    """The effect of a rebase: changed files, and the records that each keeps or loses.

    ``unusable`` are files without a single record to keep.
    """

    changes: list[str]
    kept: dict[str, list[StateContainer]]
    lost: list[LostDocument]
    unusable: list[StateFinding]


class CheckedDocument(Value, tag_field="schema", tag="numalet.state-restore-check/1"):
    """Whether a kubelet would start with the files, and the changes of the machine since.

    ``start_error`` is the kubelet's own text; it is null if the kubelet starts, or if it would
    crash or hang. ``rebase`` is null if the kubelet does not start with any files. ``pods`` has
    the given pods that are lost or moved; it is null without pods or without a start.
    """

    mode: Mode
    release: str
    answer: RestartAnswer
    start_error: str | None
    start_error_stage: StartStage | None
    drift: list[StateFinding]
    rebase: KeptDocument | None
    pods: list[StateFinding] | None = None


class RebasedDocument(KeptDocument, tag_field="schema", tag="numalet.state-rebase/1"):
    """The effect of a rebase; ``written`` has the backup of each replaced path."""

    written: dict[str, str]


def verified(reports: Iterable[FileReport], release: Release | None = None) -> VerifiedDocument:
    """Return whether a kubelet of this release would accept the files."""
    name = None if release is None else release.name
    return VerifiedDocument(name, tuple(map(_file, reports)))


def _file(report: FileReport) -> StateFileDocument:
    return StateFileDocument(
        file=report.name,
        soundness=report.soundness,
        policy=report.policy_name,
        seal=report.seal,
        checksum=report.checksum,
        expected_checksum=report.expected,
        findings=tuple(
            BreachDocument(**holder_map.parts(each), rule=verify.rule(each))
            for each in report.findings
        ),
    )


def checked(check: RestoreCheck, root_dir: str) -> CheckedDocument:
    refused = check.refused
    return CheckedDocument(
        mode=check.behaviour.mode,
        release=check.behaviour.release.name,
        answer=check.answer,
        start_error=None if refused is None else start_error(refused, root_dir),
        start_error_stage=None if refused is None else refused.stage,
        drift=[holder_map.of(each) for each in check.drift],
        rebase=None if check.rebased is None else KeptDocument(**_kept(check.rebased)),
        pods=None if check.pods is None else [holder_map.of(each) for each in check.pods],
    )


def start_error(refused: StartRefused, root_dir: str) -> str | None:
    """Return the kubelet's own text, unless it would crash or hang."""
    if refused.stage is StartStage.NUMALET:
        return None
    return kubelet_start.text(refused, root_dir)


def rebased(result: Rebased, backups: Mapping[str, str]) -> RebasedDocument:
    """Return the allocations that a rebase keeps and loses; ``backups`` are by replaced path."""
    return RebasedDocument(**_kept(result), written=dict(backups))


def _kept(result: Rebased) -> dict[str, Any]:
    return {
        "changes": sorted(result.files),
        "kept": {
            name: [StateContainer(*key) for key in keys] for name, keys in result.kept.items()
        },
        "lost": [
            LostDocument(**holder_map.parts(each.why, each.file), **each.key._asdict())
            for each in result.lost
        ],
        "unusable": [holder_map.of(each, name) for name, each in result.unusable.items()],
    }
