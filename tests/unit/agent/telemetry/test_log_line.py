"""How findings stand in the log."""

from __future__ import annotations

import pytest

from numalet.core.model import input_error
from numalet.core.model.findings import Location, Severity
from numalet.wording import log_line


@pytest.mark.parametrize(
    ("severity", "is_error"),
    [(Severity.ERROR, True), (Severity.WARNING, True), (Severity.NOTE, False)],
)
def test_the_line_of_a_finding_has_its_place_and_code(severity: Severity, is_error: bool) -> None:
    finding = input_error.Required("no name", where=Location("a.yaml")).of_severity(severity)
    line = log_line.of_finding(finding)
    assert (line.message, line.keys) == (finding.located, {"code": finding.code})
    assert "a.yaml" in line.message
    # An error is written at every verbosity.
    assert (line.is_error, line.level) == (is_error, 0)
