"""``numalet upgrade``: compare two releases and report the changes in words."""

from __future__ import annotations

from collections.abc import Mapping

from numalet.core.config.releases.release import Release
from numalet.core.model.findings import Finding
from numalet.core.model.value import Value, replace
from numalet.insight.lint import rows
from numalet.insight.lint.rows import FindingRow
from numalet.insight.upgrade import compare
from numalet.insight.upgrade.compare import ReleasesCompared
from numalet.insight.usecases import checking
from numalet.insight.usecases.checking import CheckInputs


class Upgrade(Value):
    """The changes that are not ignored, in words, and the number of compared pods.

    ``other_rows`` are changes of rules and gates that do not affect these inputs.
    ``ignored_count`` is the number of changes that an option or a comment ignores; ``notes`` are
    about the kubelet of this machine.
    """

    compared: ReleasesCompared
    rows: tuple[FindingRow, ...]
    other_rows: tuple[FindingRow, ...]
    pod_count: int
    ignored_count: int = 0
    notes: tuple[Finding, ...] = ()

    def fails(self, *, strict: bool = False) -> bool:
        """Return whether there is an error (``strict``: or a warning)."""
        bad = rows.failing(strict=strict)
        return any(row.severity in bad for row in self.rows)


def upgrade(
    pieces: CheckInputs,
    after: Release,
    before: Release | None = None,
    files: Mapping[str, str] | None = None,
) -> Upgrade:
    """Return the changes for these inputs from one release to another.

    The default of ``before`` is the release that a check would use. ``files`` are state files that
    were read already.

    Raises:
        BadInput: An input cannot be read.
    """
    # With state files, the kubelet is replaced while the pods run.
    pieces = replace(pieces, pods_run=files is not None or pieces.state_dir is not None)
    parts = checking.parts_of(pieces)
    pieces = replace(pieces, config=parts.kubelet.sources)
    if before is not None:
        parts = checking.with_release(parts, before)
    first = checking.subject_of(pieces, parts)
    second = checking.subject_of(pieces, checking.with_release(parts, after))
    subjects = [each.subject for each in (first, second)]
    if files is not None:
        subjects = [replace(each, state_files=files) for each in subjects]
    compared = compare.compare(*subjects)
    counted, ignored_count = checking.counted_rows(pieces, compared.changes)
    others, ignored_others = checking.counted_rows(pieces, compared.others)
    ignored_count += ignored_others
    pod_count = len(first.subject.pods)
    return Upgrade(compared, counted, others, pod_count, ignored_count, parts.kubelet.notes)
