"""The page on CPUs and devices shows real commands with real output."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "how-to" / "cpus-and-devices.md"
EXAMPLE = ROOT / "examples" / "aligned"
_BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)


def _shown() -> list[tuple[str, str]]:
    """Commands of the page in order, and what stands below each."""
    pairs = []
    for block in _BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            pairs.append((command, output))
    return pairs


@pytest.mark.slow
@pytest.mark.parametrize(("command", "expected"), _shown())
def test_a_command_prints_what_the_page_says(command: str, expected: str) -> None:
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=EXAMPLE,
        env={**os.environ, "PATH": programs, "COLUMNS": "80", "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert expected == done.stdout


def test_the_page_has_commands() -> None:
    assert len(_shown()) > 6
