"""``numalet run`` over a tree of cgroups that enforces nothing: made, refused, and removed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    len(os.sched_getaffinity(0)) < 2, reason="one CPU is kept for the system"
)

TESTS = Path(__file__).resolve().parents[1]
CODE = """
import sys
from pathlib import Path
tests, fs, memory, *words = sys.argv[1:]
sys.path.append(tests)
from running.fake_cgroups import FakeCgroups
from numalet.agent.host.cgroup_v2.root import Usable
from numalet.agent.host.runtime import enforcement
tree = FakeCgroups(Path(fs))
tree.with_memory = frozenset(map(int, memory.split(",")))
ground = enforcement.ground(Usable(tree))
enforcement.ground = lambda: ground
from numalet.cli.main import run
sys.exit(run(["run", *words]))
"""


def run(folder: Path, *rest: str, memory: str = "0") -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-c", CODE, str(TESTS), str(folder / "fs"), memory]
    asked = ["--root", str(folder / "root"), "--cpus", "1", "--memory", "64Mi", "--"]
    return subprocess.run([*words, *asked, *rest], capture_output=True, text=True, check=False)


def test_a_command_has_a_cgroup_as_long_as_it_runs(tmp_path: Path) -> None:
    files = "/cgroup.procs /cpuset.mems /memory.max /memory.oom.group"
    shown = f"cd {tmp_path}/fs/pod*/main && for f in {files}; do echo $(cat .$f); done; exit 6"
    done = run(tmp_path, "sh", "-c", shown)
    assert done.returncode == 6, done.stderr
    assert ["0", "0", str(64 << 20), "1"] == done.stdout.split()
    assert "enforced by the kernel" in done.stderr
    assert [each.name for each in (tmp_path / "fs").iterdir() if each.is_dir()] == []


def test_nothing_starts_where_the_promise_is_not_in_force(tmp_path: Path) -> None:
    done = run(tmp_path, "touch", str(tmp_path / "x"), memory="1048577")
    assert done.returncode == 125
    assert "is in force" in done.stderr
    assert not (tmp_path / "x").exists()
    assert [each.name for each in (tmp_path / "fs").iterdir() if each.is_dir()] == []


@pytest.mark.parametrize(
    ("hits", "told"), [("1", "exceeded its memory limit"), ("0", "had no free memory")]
)
def test_a_kill_for_memory_is_reported(tmp_path: Path, hits: str, told: str) -> None:
    script = (
        f"cd {tmp_path}/fs/pod*; echo oom {hits} > memory.events;"
        "echo oom_kill 1 > main/memory.events; kill -9 $$"
    )
    done = run(tmp_path, "sh", "-c", script)
    assert done.returncode == 137
    assert told in done.stderr
