"""What a release is stays in its room."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from architecture import tree
from architecture.references import is_there
from numalet.core.config.releases.release import ReleaseRules
from numalet.core.config.releases.table import RELEASES

ROOM = tree.SOURCE / "core" / "config" / "releases"
SOURCES = [path for path in tree.modules() if ROOM not in path.parents]


def _asks_which_release(node: ast.AST) -> bool:
    """Whether a comparison has a release, or the name of one, on either side."""
    if not isinstance(node, ast.Compare):
        return False
    if all(isinstance(operator, ast.Is | ast.IsNot) for operator in node.ops):
        return False
    sides = [ast.unparse(side) for side in (node.left, *node.comparators)]
    return any(side.endswith(("release", "release.name")) for side in sides)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_no_code_outside_the_room_asks_which_release_it_is(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    compared = [ast.unparse(n) for n in ast.walk(ast.parse(text)) if _asks_which_release(n)]

    assert compared == []
    assert "releases.v1_" not in text


@pytest.mark.parametrize(
    "question",
    [
        "rules.release >= V1_33",
        "release == other",
        "self.release.name in known",
        '"1.33" < release.name',
    ],
)
def test_such_a_question_is_noticed(question: str) -> None:
    assert any(map(_asks_which_release, ast.walk(ast.parse(question))))


def test_every_rule_names_a_test_that_exists() -> None:
    missing = {name for name, rule in ReleaseRules.stated.items() if not is_there(rule.test)}
    assert set() == missing


def test_every_rule_holds_in_some_release() -> None:
    named = {name for release in RELEASES for name in release.rules}
    assert set(ReleaseRules.stated) == named


def test_the_releases_are_in_order() -> None:
    names = [tuple(map(int, release.name.split("."))) for release in RELEASES]
    assert sorted(set(names)) == names
