"""Two releases compared: what ``check --and`` and ``state upgrade-check`` print."""

from __future__ import annotations

from collections.abc import Sequence

from numalet.core.config.rules import StartRefused
from numalet.core.model.value import Value
from numalet.insight.lint.rows import FindingRow
from numalet.insight.output import check_document
from numalet.insight.output.check_document import CheckFindingDocument, StartErrorDocument
from numalet.insight.upgrade.compare import ReleasesCompared


class UpgradeSideDocument(Value, kw_only=True):
    """One of the two releases, and whether its kubelet starts; null if it does."""

    release: str
    starts: bool
    start_error: StartErrorDocument | None


class UpgradeDocument(Value, kw_only=True, tag_field="schema", tag="numalet.upgrade/2"):
    """What changes from one release to another, the worst first.

    ``changes`` are findings as those of a check: of the code area ``upgrade``, and those that a
    check finds with the later release alone.
    """

    before: UpgradeSideDocument
    after: UpgradeSideDocument
    counts: dict[str, int]
    changes: list[CheckFindingDocument]


def of(compared: ReleasesCompared, rows: Sequence[FindingRow]) -> UpgradeDocument:
    """Return the document of a comparison; ``rows`` are its changes in words."""
    return UpgradeDocument(
        before=_side(compared.before.name, compared.refused_before),
        after=_side(compared.after.name, compared.refused_after),
        counts=check_document.counts(rows),
        changes=[check_document.of_row(row) for row in rows],
    )


def _side(release: str, refused: StartRefused | None) -> UpgradeSideDocument:
    error = None if refused is None else check_document.of_refusal(refused)
    return UpgradeSideDocument(release=release, starts=refused is None, start_error=error)
