"""The page on simulations shows real commands with real output."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cli.commands import EXAMPLES

PAGE = EXAMPLES.parents[1] / "docs" / "how-to" / "simulate.md"
_BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)


def shown() -> list[tuple[str, str]]:
    """Commands of the page in order, and what stands below each."""
    pairs = []
    for block in _BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            pairs.append((command, output))
    return pairs


@pytest.mark.slow
def test_every_command_prints_what_the_page_says(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES, tmp_path, dirs_exist_ok=True)
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    printed = []
    for command, _ in shown():
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=tmp_path,
            env={**os.environ, "PATH": programs, "COLUMNS": "80", "PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        printed.append((command, done.stdout))

    assert len(printed) > 5
    assert printed == shown()
