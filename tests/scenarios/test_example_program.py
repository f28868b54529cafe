"""The example program that places many pods on many machines in several processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).resolve().parents[2] / "examples" / "place_many.py"


def placed(*arguments: str) -> list[str]:
    ended = subprocess.run(
        [sys.executable, str(PROGRAM), *arguments],
        capture_output=True,
        text=True,
        check=True,
        timeout=240,
    )
    assert ended.stderr == ""
    return ended.stdout.splitlines()


def test_it_is_short() -> None:
    assert len(PROGRAM.read_text(encoding="utf-8").splitlines()) <= 65


@pytest.mark.slow
def test_every_pod_comes_to_an_end_however_many_processes_work() -> None:
    alone, together = placed("12", "90", "1"), placed("12", "90", "2")
    for lines in (alone, together):
        assert sum(int(line.split()[0]) for line in lines) == 90
    assert any(line.endswith("admitted") for line in together)


@pytest.mark.slow
def test_three_thousand_pods_are_placed_on_three_hundred_machines() -> None:
    lines = placed()
    assert sum(int(line.split()[0]) for line in lines) == 3000
    assert lines[0].endswith("admitted")
