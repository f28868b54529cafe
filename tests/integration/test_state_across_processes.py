"""One state directory and many processes: one after the other, and killed at every point."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from cli.commands import DOCUMENTED, pod, process
from running import faults

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
        assert (f"\nassumed running: {number} " in ended.out) == (number > 0)

    assert (in_turn / NAME).read_bytes() == (together / NAME).read_bytes()


def test_a_process_that_is_killed_leaves_the_old_file_or_the_new_one(
    manifests: list[Path], tmp_path: Path
) -> None:
    """At every point at which it touches the disk: the old one until the new one is in place."""
    state = tmp_path / "state"
    state.mkdir()
    process(*simulate(state, manifests[0]))
    old = (state / NAME).read_bytes()
    process(*simulate(state, manifests[1]))
    new = (state / NAME).read_bytes()
    words = [*faults.NUMALET, *simulate(state, manifests[1])]
    seen: list[bytes] = []
    status = -int(signal.SIGKILL)
    while status == -signal.SIGKILL:
        (state / NAME).write_bytes(old)
        plan = {faults.VARIABLE: f"*:*:{len(seen) + 1}"}
        status = subprocess.run(
            words, env=os.environ | plan, stdout=subprocess.DEVNULL, check=False
        ).returncode
        seen.append((state / NAME).read_bytes())
    assert status == 0
    # It is renamed between the two moments of the last point; the last process was not killed.
    assert [*[old] * (len(seen) - 2), new, new] == seen
