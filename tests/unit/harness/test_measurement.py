"""Which tests count for the coverage, in a run of a small project of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import coverage
import pytest

from harness import measurement

_LIBRARY = """\
def by_a_quick_test():
    return 1

def by_a_slow_test():
    return 2

def by_a_recorded_decision():
    return 3

def in_a_program_of_a_slow_test():
    return 4
"""
_TESTS = """\
import subprocess, sys
import library, pytest

@pytest.mark.slow
def test_slow():
    assert library.by_a_slow_test() == 2
    program = "import library; library.in_a_program_of_a_slow_test()"
    subprocess.run([sys.executable, "-c", program], check=True)

def test_quick():
    assert library.by_a_quick_test() == 1
"""
_RECORDED = """\
import library

def test_recorded():
    assert library.by_a_recorded_decision() == 3
"""
_SETTINGS = """\
[coverage:run]
branch = true
source = library
parallel = true
patch = subprocess
"""


@pytest.mark.slow
def test_what_slow_and_recorded_tests_alone_run_is_not_covered(tmp_path: Path) -> None:
    for name, text in {
        "library.py": _LIBRARY,
        "setup.cfg": _SETTINGS,
        "pytest.ini": "[pytest]\nmarkers =\n    slow: slow\n",
        "tests/test_some.py": _TESTS,
        "tests/conformance/test_recorded.py": _RECORDED,
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    run = ["run", "-m", "pytest", "-q", "-p", "harness.measurement", "-p", "no:cacheprovider"]
    folders = f"{tmp_path}:{Path(measurement.__file__).parents[1]}"
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("COVERAGE_", "PYTEST_"))
    } | {"PYTHONPATH": folders, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    for words in (run, ["combine", "--quiet"]):
        done = subprocess.run(
            [sys.executable, "-m", "coverage", *words],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    data = coverage.CoverageData(str(tmp_path / ".coverage"))
    data.read()
    assert _returns(data.lines(str(tmp_path / "library.py")) or []) == ["1"]


def _returns(lines: list[int]) -> list[str]:
    """What the functions give back whose bodies ran."""
    text = _LIBRARY.splitlines()
    ran = [text[number - 1] for number in sorted(lines)]
    return [line.split()[1] for line in ran if line.lstrip().startswith("return")]
