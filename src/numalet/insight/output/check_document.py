"""The documents of ``check -o json`` and ``doctor cluster -o json``.

``schema`` is a name with a number, which grows when a field is removed or changes its meaning; a
new field does not change it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from numalet.core.config.behaviour import EXACT, Behaviour, Mode
from numalet.core.config.rules import StartRefused
from numalet.core.model.findings import Severity
from numalet.core.model.value import Value
from numalet.insight.lint import on_host
from numalet.insight.lint.rows import FindingRow
from numalet.insight.lint.rules import Checked
from numalet.insight.output import findings_document
from numalet.insight.output.findings_document import FindingDocument
from numalet.wording import kubelet_start

CheckStatus: TypeAlias = Literal["starts", "does-not-start", "undecided", "unusable"]


class CheckFindingDocument(FindingDocument, kw_only=True):
    """One finding. ``kubelet`` is the exact text of the kubelet, or null."""

    kubelet: str | None
    rule: str
    fix: str


class StartErrorDocument(Value, kw_only=True):
    """The error text of the kubelet that does not start, and the stage of its start."""

    stage: str
    text: str


class CheckDocument(Value, kw_only=True, tag_field="schema", tag="numalet.check/2"):
    """The result of a check. ``start_error`` is null if the resource managers start.

    ``release`` is the checked release of the kubelet. ``status`` is ``undecided`` if the start
    depends on fields that the file leaves to a vendor, and ``unusable`` if the input has errors.
    ``starts`` is null in both cases, ``release`` only in the second. ``skipped_checks`` lists
    other conditions of a start, which were not checked. ``stopped_by`` are codes of findings with
    which the kubelet does not start for another reason than its resource managers.
    """

    mode: Mode
    release: str | None
    status: CheckStatus
    starts: bool | None
    start_error: StartErrorDocument | None
    stopped_by: list[str]
    skipped_checks: list[str]
    counts: dict[str, int]
    findings: list[CheckFindingDocument]


class CheckCombinationDocument(Value, kw_only=True):
    """One configuration on one machine, with their names from the command line.

    ``config`` is null without a file, ``machine`` null for the machine that the command runs on.
    """

    config: str | None
    machine: str | None
    check: CheckDocument


class ChecksDocument(Value, kw_only=True, tag_field="schema", tag="numalet.checks/2"):
    """The results of several configurations or machines: every combination, configurations first.

    Each ``check`` is the document of a check of this combination alone.
    """

    results: list[CheckCombinationDocument]


def of(
    checked: Checked | None, rows: tuple[FindingRow, ...], behaviour: Behaviour = EXACT
) -> CheckDocument:
    """Return the document of a result; without a result, the input could not be checked."""
    refused = None if checked is None else checked.refused
    is_undecided = refused is not None and refused.is_undecided
    stopping = stopped_by(rows, behaviour)
    status = _status(checked)
    if status == "starts" and stopping:
        status = "does-not-start"
    return CheckDocument(
        mode=behaviour.mode,
        release=None if checked is None else behaviour.release.name,
        status=status,
        starts=None if checked is None or is_undecided else status == "starts",
        start_error=None if refused is None or is_undecided else of_refusal(refused),
        stopped_by=stopping,
        skipped_checks=[] if checked is None else list(checked.skipped_checks),
        counts=counts(rows),
        findings=[of_row(row) for row in rows],
    )


def counts(rows: Sequence[FindingRow]) -> dict[str, int]:
    """Return the number of findings by severity."""
    return {each.value: sum(row.severity is each for row in rows) for each in Severity}


def stopped_by(rows: Sequence[FindingRow], behaviour: Behaviour) -> list[str]:
    """Return the codes of findings with which the kubelet does not start, apart from managers."""
    if behaviour.mode is not Mode.EXACT:
        return []
    return list(dict.fromkeys(row.code for row in rows if row.code in on_host.STOPPING))


def _status(checked: Checked | None) -> CheckStatus:
    if checked is None:
        return "unusable"
    if checked.refused is None:
        return "starts"
    return "undecided" if checked.refused.is_undecided else "does-not-start"


def of_refusal(refused: StartRefused) -> StartErrorDocument:
    return StartErrorDocument(stage=refused.stage.value, text=kubelet_start.text(refused))


def of_row(row: FindingRow) -> CheckFindingDocument:
    return CheckFindingDocument(
        code=row.code,
        severity=row.severity,
        place=findings_document.place(row.where),
        message=row.sentence,
        kubelet=row.kubelet_text or None,
        rule=row.rule,
        fix=row.fix,
    )


class DoctorDocument(Value, kw_only=True, tag_field="schema", tag="numalet.doctor/2"):
    """The findings on a cluster. A number is null if the API server did not report it."""

    server: str
    version: str
    nodes: int | None
    numa_nodes: int | None
    classes: int | None
    counts: dict[str, int]
    findings: list[CheckFindingDocument]
