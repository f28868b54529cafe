"""The page about releases has the generated parts of the current releases."""

from __future__ import annotations

from architecture import tree
from numalet.core.config.releases.release import ReleaseRules
from numalet.core.config.releases.table import RELEASES
from numalet.insight.output import releases_page

PAGE = (tree.DOCS / "reference" / "releases.md").read_text(encoding="utf-8")


def test_the_page_matches_the_releases() -> None:
    assert releases_page.filled(PAGE) == PAGE, "make schemas writes them anew"


def test_the_page_has_every_part_every_rule_and_every_release() -> None:
    assert [name for name in releases_page.tables() if f"<!-- table: {name} -->" not in PAGE] == []
    assert [name for name in ReleaseRules.stated if f"### `{name}`" not in PAGE] == []
    assert all(f"| {release.name} |" in PAGE for release in RELEASES)
