"""Every statement of the documentation is shown, contradicted with proof, or waits openly."""

from __future__ import annotations

import pytest

from architecture import tree
from architecture.references import Row, is_there, references, rows

PAGE = tree.DOCS / "documentation-statements.md"
WAITS = "waits: "
CONTRADICTED = "contradicted: "
NO_BEHAVIOUR = "no behaviour: "


def complaint(row: Row) -> str | None:
    """What is wrong with a row, or None."""
    if len(row.cells) != 5:
        return f"line {row.line}: {len(row.cells)} cells, not 5"
    identity, statement, where, shown, remark = row.cells
    missing = [reference for reference in references(shown) if not is_there(reference)]
    if not (identity and statement and where):
        return f"line {row.line}: id, statement or place is empty"
    if missing:
        return f"{identity}: not there: {', '.join(missing)}"
    if references(shown):
        return None
    if remark.startswith(CONTRADICTED):
        return f"{identity}: contradicted without a test or scenario that shows it"
    if remark.startswith((WAITS, NO_BEHAVIOUR)):
        return None
    return f"{identity}: neither shown, nor contradicted, nor marked as waiting"


def _rows() -> list[Row]:
    return rows(PAGE.read_text(encoding="utf-8"))


def test_every_statement_is_shown_contradicted_or_waits() -> None:
    assert [found for row in _rows() if (found := complaint(row)) is not None] == []


def test_every_statement_has_an_id_of_its_own() -> None:
    identities = [row.cells[0] for row in _rows()]
    assert sorted(set(identities)) == sorted(identities)


def test_all_four_documents_are_cited() -> None:
    cited = {name for row in _rows() for name in row.cells[2].split()}
    assert {"mm", "mm-new", "ga", "tm"} <= {name.rstrip(",;") for name in cited}


def test_every_scenario_shows_a_statement() -> None:
    named = {reference for row in _rows() for reference in references(row.cells[3])}
    scenarios = {tree.relative(path) for path in (tree.TESTS / "scenarios").glob("*.yaml")}
    assert scenarios - named == set()


def test_the_known_contradictions_are_reported() -> None:
    told = " ".join(row.cells[4] for row in _rows() if row.cells[4].startswith(CONTRADICTED))
    for known in ("max-allowable-numa-nodes", "huge page", "4142013182", "--eviction-threshold"):
        assert known in told
    for known in ("Failed", "UnexpectedAdmissionError", "flags-only"):
        assert known in told


def test_nothing_waits_for_what_is_there() -> None:
    waiting = [row.cells for row in _rows() if WAITS in row.cells[4] or "waits for" in row.cells[4]]
    for what in ("metrics", "log", "cpuset.mems", "node agent", "OOM", "device"):
        assert [cells[0] for cells in waiting if what in cells[4]] == [], what


@pytest.mark.parametrize(
    "cells",
    [
        ("X1", "a", "mm", "", ""),
        ("X1", "a", "mm", "", "contradicted: it is not so"),
        ("X1", "a", "mm", "`tests/scenarios/no-such-file.yaml`", ""),
        ("X1", "a", "mm", "`tests/architecture/test_statements.py::test_no_such_test`", ""),
        ("X1", "", "mm", "", "waits: devices"),
        ("X1", "a", "mm", "waits: devices"),
    ],
)
def test_a_bad_row_is_found(cells: tuple[str, ...]) -> None:
    assert complaint(Row(1, cells)) is not None


def test_good_rows_pass() -> None:
    shown = "`tests/architecture/test_statements.py::test_good_rows_pass`"
    assert complaint(Row(1, ("X1", "a", "mm", shown, ""))) is None
    assert complaint(Row(1, ("X1", "a", "mm", "", "waits: devices"))) is None
