"""Two releases compared, from what the user named to the changes in words."""

from __future__ import annotations

from collections.abc import Mapping

from numalet.core.config.releases.release import Release
from numalet.core.model.value import Value, replace
from numalet.insight.lint import rows
from numalet.insight.lint.rows import FindingRow
from numalet.insight.upgrade import compare
from numalet.insight.upgrade.compare import ReleasesCompared
from numalet.insight.usecases import checking
from numalet.insight.usecases.checking import CheckInputs


class Upgrade(Value):
    """What changes, as far as it counts, in words; and the number of pods that were compared.

    ``ignored_count`` is the number of changes that do not count, by option or by comment.
    """

    compared: ReleasesCompared
    rows: tuple[FindingRow, ...]
    pod_count: int
    ignored_count: int = 0

    def fails(self, *, strict: bool = False) -> bool:
        """Whether an error (``strict``: or a warning) counts."""
        bad = rows.failing(strict=strict)
        return any(row.severity in bad for row in self.rows)


def upgrade(
    pieces: CheckInputs,
    after: Release,
    before: Release | None = None,
    files: Mapping[str, str] | None = None,
) -> Upgrade:
    """What changes for these pieces from one release to another.

    Without ``before`` it is the release that a check of the pieces goes by. ``files`` are state
    files that were read already.

    Raises:
        BadInput: a piece can not be read.
    """
    pieces = replace(pieces, pods_run=files is not None or pieces.state_dir is not None)
    parts = checking.parts_of(pieces)
    if before is not None:
        parts = checking.with_release(parts, before)
    first = checking.subject_of(pieces, parts)
    second = checking.subject_of(pieces, checking.with_release(parts, after))
    subjects = [each.subject for each in (first, second)]
    if files is not None:
        subjects = [replace(each, state_files=files) for each in subjects]
    compared = compare.compare(*subjects)
    counted, ignored_count = checking.counted_rows(pieces, compared.changes)
    return Upgrade(compared, counted, len(first.subject.pods), ignored_count)
