"""One state directory and many processes: one after the other, and killed at any moment."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from cli.commands import DOCUMENTED, pod, process

NAME = "memory_manager_state"
PODS = [pod(f"p{number}", f"{10 + 7 * number}Gi") for number in range(4)]
POLICY = ("--topology-manager-policy", "best-effort")

pytestmark = pytest.mark.slow


def simulate(state: Path, *manifests: Path) -> list[str]:
    """The arguments of a simulation on this state directory."""
    return ["simulate", *DOCUMENTED, *POLICY, "--state-dir", str(state), *map(str, manifests)]


@pytest.fixture
def manifests(tmp_path: Path) -> list[Path]:
    """A file per pod."""
    paths = [tmp_path / f"{number}.yaml" for number in range(len(PODS))]
    for path, text in zip(paths, PODS, strict=True):
        path.write_text(text, encoding="utf-8")
    return paths


def test_processes_in_turn_end_where_one_process_ends(
    manifests: list[Path], tmp_path: Path
) -> None:
    together, in_turn = tmp_path / "together", tmp_path / "in-turn"
    together.mkdir()
    in_turn.mkdir()

    assert process(*simulate(together, *manifests)).status == 0
    for number, manifest in enumerate(manifests):
        ended = process(*simulate(in_turn, manifest))
        assert ended.status == 0, ended.err
        assert ended.out.startswith(f"assumed running: {number} ") == (number > 0)

    assert (in_turn / NAME).read_bytes() == (together / NAME).read_bytes()


def test_a_process_that_is_killed_leaves_the_old_file_or_the_new_one(
    manifests: list[Path], tmp_path: Path
) -> None:
    state = tmp_path / "state"
    state.mkdir()
    process(*simulate(state, manifests[0]))
    old = (state / NAME).read_bytes()
    process(*simulate(state, manifests[1]))
    possible = {old, (state / NAME).read_bytes()}
    seen = set()
    for step in range(8):
        (state / NAME).write_bytes(old)
        killed = subprocess.Popen(
            [sys.executable, "-m", "numalet", *simulate(state, manifests[1])],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(0.05 + 0.1 * step)
        killed.kill()
        killed.wait()
        seen.add((state / NAME).read_bytes())

    assert old in seen
    assert seen <= possible
