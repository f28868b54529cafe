"""The generated parts of the reference pages are those of the sources."""

from __future__ import annotations

from architecture import tree
from numalet.core.config.releases.release import ReleaseRules
from numalet.core.config.releases.table import RELEASES
from numalet.insight.output import reference_pages

RELEASES_PAGE, FORMATS_PAGE = (
    (tree.DOCS / "reference" / name).read_text(encoding="utf-8")
    for name in ("releases.md", "kubelet-files.md")
)


def test_the_pages_match_the_sources() -> None:
    for page in (RELEASES_PAGE, FORMATS_PAGE):
        assert reference_pages.filled(page) == page, "run: make schemas"


def test_the_pages_have_every_part_every_rule_and_every_release() -> None:
    pages = RELEASES_PAGE + FORMATS_PAGE
    names = reference_pages.tables()
    assert [name for name in names if f"<!-- table: {name} -->" not in pages] == []
    assert [name for name in ReleaseRules.stated if f"### `{name}`" not in RELEASES_PAGE] == []
    assert all(f"| {release.name} |" in RELEASES_PAGE for release in RELEASES)
