"""Pages that show commands in ``console`` blocks, and what these print."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT = Path(__file__).resolve().parents[2]
_PATIENCE_SECONDS: Final = 120.0
_BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
_SHELL: Final = re.compile(r"^```(?:sh|ini)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_NAMED: Final = re.compile(r"(?:^|/)(numalet (?!agent-).*)$", re.MULTILINE)


def shown(page: str) -> list[tuple[str, str]]:
    """Commands of this page of the how-tos in order, each with its output."""
    return shown_in(ROOT / "docs" / "how-to" / page)


def shown_in(page: Path) -> list[tuple[str, str]]:
    """Commands of this page in order, each with its output."""
    pairs = []
    for block in _BLOCK.findall(page.read_text(encoding="utf-8")):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            pairs.append((command, output))
    return pairs


def printed(command: str, folder: Path) -> str:
    """What this command prints in this folder, on a terminal of 80 columns.

    Raises ``subprocess.TimeoutExpired`` if it has no end.
    """
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=folder,
        env={**os.environ, "PATH": programs, "COLUMNS": "80", "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=_PATIENCE_SECONDS,
    )
    return done.stdout


def commands(page: str) -> list[str]:
    """The lines of ``sh`` and ``ini`` blocks of a page that run numalet."""
    blocks = _SHELL.findall((ROOT / "docs" / page).read_text(encoding="utf-8"))
    return [command for block in blocks for command in _NAMED.findall(block)]
