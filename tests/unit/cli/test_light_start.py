"""What a command loads: the start of every command is paid for by all of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import numalet

_SOURCE = str(Path(numalet.__file__).parents[1])
HEAVY = {
    "asyncio",
    "aiohttp",
    "rich",
    "yaml",
    "numalet.core.config.releases",
    "numalet.insight",
    "numalet.wording.explanations",
}
_PROGRAM = """
import runpy, sys
sys.argv = ["numalet", *sys.argv[1:]]
try:
    runpy.run_module("numalet", run_name="__main__")
except SystemExit:
    pass
print(*sys.modules, file=sys.stderr)
"""


def _loaded(*arguments: str) -> set[str]:
    """The modules that a process has loaded at the end of this command."""
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, *arguments],
        capture_output=True,
        text=True,
        check=True,
        timeout=250,
    )
    return {*done.stderr.split()}


@pytest.mark.parametrize(
    "arguments", [("--version",), ("--help",), ("fleet", "fit", "--help"), ("hollow", "--help")]
)
def test_help_loads_nothing_that_answers(arguments: tuple[str, ...]) -> None:
    assert _loaded(*arguments) & HEAVY == set()


def test_a_picture_of_a_machine_loads_no_decisions_and_no_network() -> None:
    loaded = _loaded("machine", "2n2c")

    assert "numalet.cli.machine_picture" in loaded
    assert loaded & {"asyncio", "aiohttp", "numalet.wording.explanations"} == set()
    assert [each for each in loaded if each.startswith("numalet.core.admission")] == []


def test_the_package_alone_imports_no_more_than_itself() -> None:
    """Names are imported when they are first used; ``typing`` would take as long as Python."""
    # Without site-packages, whose startup files import what they like.
    program = f"""
import sys
sys.path.insert(0, {_SOURCE!r})
before = {{*sys.modules}}
import numalet
print(*sorted({{*sys.modules}} - before))
"""
    command = [sys.executable, "-S", "-c", program]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout.split() == ["__future__", "numalet"]
