"""Every named rule has its section in the page about differences, with a test that shows it."""

from __future__ import annotations

import re
from dataclasses import fields

from architecture import tree
from architecture.references import is_there, references
from numalet.core.config.behaviour import EXACT, NATIVE, Behaviour

PAGE = tree.DOCS / "differences.md"
RULES = [rule for rule in fields(Behaviour) if rule.name != "release"]
"""All but the release, whose own rules have a page of their own."""


def _rules() -> dict[str, tuple[str, str, str]]:
    """The section of each rule: its values in exact and in native mode, and all its text."""
    sections = re.split(r"^#{2,3} ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    rules = [section for section in sections if section.startswith("`")]
    return {rule.split("`")[1]: (*_values(rule), rule) for rule in rules}


def _values(section: str) -> tuple[str, str]:
    found = re.search(r"^- Exact: `(.+)`\. Native: `(.+)`\.$", section, flags=re.MULTILINE)
    return (found[1], found[2]) if found else ("", "")


def test_every_rule_has_a_section_and_every_section_a_rule() -> None:
    assert {rule.name for rule in RULES} == set(_rules())


def test_every_section_names_a_test_that_exists() -> None:
    missing = {
        name
        for name, (_, _, text) in _rules().items()
        if not references(text) or not all(map(is_there, references(text)))
    }
    assert set() == missing


def _shown(value: object) -> str:
    """A value as the sources write it."""
    if isinstance(value, tuple):
        return f"({', '.join(map(str, value))},)"
    return repr(value)


def test_every_section_has_the_value_of_exact_mode() -> None:
    told = {name: exact for name, (exact, _, _) in _rules().items()}
    assert {rule.name: _shown(getattr(EXACT, rule.name)) for rule in RULES} == told


def test_every_section_has_the_value_of_native_mode() -> None:
    told = {name: native for name, (_, native, _) in _rules().items()}
    assert {rule.name: _shown(getattr(NATIVE, rule.name)) for rule in RULES} == told


def test_every_rule_differs() -> None:
    same = [r.name for r in RULES if getattr(EXACT, r.name) == getattr(NATIVE, r.name)]
    # Both ask them; what may switch them off is a scenario, or the administrator.
    assert same == ["predicates_are_asked"]
