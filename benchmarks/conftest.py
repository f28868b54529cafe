"""Prints what the table of times has no column for."""

from __future__ import annotations

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The most memory of whole processes, and how many combinations a merge stands for."""
    session = getattr(terminalreporter.config, "_benchmarksession", None)
    told = [each for each in getattr(session, "benchmarks", ()) if each.extra_info]
    if told:
        terminalreporter.write_sep("-", "beside the times")
    for each in sorted(told, key=lambda each: str(each.name)):
        facts = ", ".join(f"{name} {value:,}" for name, value in each.extra_info.items())
        terminalreporter.write_line(f"{each.name}: {facts}")
