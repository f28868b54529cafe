"""The commands that `make demo` shows do what the documentation says, on any machine."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture(scope="module")
def printed() -> str:
    """What the demonstration prints."""
    command = shutil.which("numalet", path=str(Path(sys.executable).parent))
    assert command is not None
    done = subprocess.run(
        ["sh", str(EXAMPLES / "demo.sh")],
        env={**os.environ, "NUMALET": command, "NO_COLOR": "1", "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_demonstration_shows_the_documented_state_file(printed: str) -> None:
    assert '"numaAffinity":[0,1],"type":"memory","size":161061273600' in printed
    assert '"checksum":17296941' in printed


@pytest.mark.slow
def test_the_demonstration_shows_a_rejection(printed: str) -> None:
    assert "TopologyAffinityError" in printed


@pytest.mark.slow
def test_the_demonstration_ends_on_this_machine(printed: str) -> None:
    _, _, here = printed.partition("4. This machine")
    assert re.search(r"^\$ numalet machine$", here, re.MULTILINE)
    assert "placed" in here
    assert "anywhere" in here
