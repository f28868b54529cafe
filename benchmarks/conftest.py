"""Where state files are written, and a print of what the table of times has no column for."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

_MEMORY_FILE_SYSTEM = Path("/dev/shm")


@pytest.fixture(params=["memory", "disk"])
def directory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """An empty state directory of this kind."""
    if request.param == "disk":
        yield tmp_path
        return
    if not _MEMORY_FILE_SYSTEM.is_dir():
        pytest.skip("there is no file system in memory here")
    with tempfile.TemporaryDirectory(dir=_MEMORY_FILE_SYSTEM) as folder:
        yield Path(folder)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The most memory of whole processes, and how many combinations a merge stands for."""
    session = getattr(terminalreporter.config, "_benchmarksession", None)
    told = [each for each in getattr(session, "benchmarks", ()) if each.extra_info]
    if told:
        terminalreporter.write_sep("-", "beside the times")
    for each in sorted(told, key=lambda each: str(each.name)):
        facts = ", ".join(f"{name} {value:,}" for name, value in each.extra_info.items())
        terminalreporter.write_line(f"{each.name}: {facts}")
