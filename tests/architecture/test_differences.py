"""Every named rule has its row in the page about differences, with a test that shows it."""

from __future__ import annotations

from dataclasses import fields

from architecture import tree
from architecture.references import is_there, references, rows
from numalet.core.config.behaviour import EXACT, NATIVE, Behaviour

PAGE = tree.DOCS / "differences.md"
RULES = [rule for rule in fields(Behaviour) if rule.name != "release"]
"""All but the release, whose own rules have a page of their own."""


def _rules() -> dict[str, tuple[str, ...]]:
    table = rows(PAGE.read_text(encoding="utf-8"))
    return {row.cells[0].strip("`"): row.cells for row in table if len(row.cells) == 5}


def test_every_rule_has_a_row_and_every_row_a_rule() -> None:
    assert {rule.name for rule in RULES} == set(_rules())


def test_every_row_names_a_test_that_exists() -> None:
    missing = {
        name
        for name, cells in _rules().items()
        if not references(cells[4]) or not all(map(is_there, references(cells[4])))
    }
    assert set() == missing


def _shown(value: object) -> str:
    """A value as the sources write it."""
    if isinstance(value, tuple):
        return f"({', '.join(map(str, value))},)"
    return repr(value)


def test_every_row_tells_the_value_of_exact_mode() -> None:
    told = {name: cells[2].strip("`") for name, cells in _rules().items()}
    assert {rule.name: _shown(getattr(EXACT, rule.name)) for rule in RULES} == told


def test_every_row_tells_the_value_of_native_mode() -> None:
    told = {name: cells[3].strip("`") for name, cells in _rules().items()}
    assert {rule.name: _shown(getattr(NATIVE, rule.name)) for rule in RULES} == told


def test_every_rule_differs() -> None:
    same = [r.name for r in RULES if getattr(EXACT, r.name) == getattr(NATIVE, r.name)]
    # Both ask them; what may switch them off is a scenario, or the administrator.
    assert same == ["predicates_are_asked"]
