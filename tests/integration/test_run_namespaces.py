"""``numalet run`` in several PID namespaces over one root folder, as containers that share it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

CPUS = len(os.sched_getaffinity(0))
MOST = str(CPUS - 1)
PATIENCE_SECONDS = 200.0
UP = ("sh", "-c", "echo up; exec sleep 1000")
INSIDE = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
"""A process that is gone takes its namespace along."""


def _may_unshare() -> bool:
    if os.geteuid() != 0:
        return False
    return subprocess.run([*INSIDE, "true"], check=False, capture_output=True).returncode == 0


pytestmark = pytest.mark.skipif(
    CPUS < 2 or not _may_unshare(), reason="needs two CPUs and leave to make PID namespaces"
)


def words(root: Path, *rest: str, cpus: str = MOST) -> list[str]:
    base = [sys.executable, "-m", "numalet", "run", "--root", str(root), "--cpus", cpus]
    return [*base, "--memory", "64Mi", "-q", *rest]


def run(root: Path, *rest: str, where: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*where, *words(root, *rest)],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
    )


@contextmanager
def begun(
    root: Path, *rest: str, where: tuple[str, ...] = (), cpus: str = MOST
) -> Iterator[subprocess.Popen[str]]:
    """A command that has printed its first line, until the end of the block."""
    line = [*where, *words(root, *rest, cpus=cpus)]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline().strip() == "up"
        try:
            yield child
        finally:
            child.kill()


@pytest.mark.parametrize(("first", "second"), [(INSIDE, ()), ((), INSIDE), (INSIDE, INSIDE)])
def test_a_holder_in_another_namespace_lives(
    tmp_path: Path, first: tuple[str, ...], second: tuple[str, ...]
) -> None:
    with begun(tmp_path, *UP, where=first) as child:
        refused = run(tmp_path, "true", where=second)
        assert refused.returncode == 125, refused.stderr
        assert child.poll() is None
    # It was killed, and its lock goes with it.
    assert run(tmp_path, "--wait=60s", "true", where=second).returncode == 0


def test_a_shared_command_that_is_out_of_sight_keeps_its_cpus(tmp_path: Path) -> None:
    with begun(tmp_path, *UP, cpus="100m"):
        refused = run(tmp_path, "true", where=INSIDE)
        assert refused.returncode == 2
        assert "uses shared CPUs in another PID namespace" in refused.stderr
        # Seen from here it is moved.
        assert run(tmp_path, "true").returncode == 0


def test_a_shared_command_of_a_container_is_moved_from_the_host(tmp_path: Path) -> None:
    script = "import os, sys; print('up', flush=True); sys.stdin.readline();"
    script += "print(len(os.sched_getaffinity(0)))"
    line = [*INSIDE, *words(tmp_path, sys.executable, "-c", script, cpus="100m")]
    with subprocess.Popen(line, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline().strip() == "up"
        with begun(tmp_path, *UP):
            rest, _ = child.communicate("\n", timeout=PATIENCE_SECONDS)
        assert rest.strip() == "1"


def test_a_command_in_another_namespace_is_none_for_an_agent(tmp_path: Path) -> None:
    root = tmp_path / "root"
    agent = [sys.executable, "-m", "numalet", "agent", "--root", str(root)]
    with subprocess.Popen(agent, stderr=subprocess.PIPE, text=True) as controller:
        assert controller.stderr is not None
        assert any("Agent is ready" in line for line in controller.stderr)
        refused = run(root, "true", where=INSIDE)
        assert refused.returncode == 2
        assert "another PID namespace than the agent" in refused.stderr
        assert run(root, "true").returncode == 0
        controller.terminate()
