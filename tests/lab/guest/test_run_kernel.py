"""``numalet run`` on a kernel that enforces, as a user runs it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from lab.guest import toucher
from lab.guest.groups import wait_until
from lab.guest.node_agent import PATIENCE_SECONDS, NodeAgent
from running.agent_processes import Begun, Forks

ROOT = Path("/sys/fs/cgroup/numalet")
STATUS = "grep allowed_list /proc/self/status"
TOO_MUCH = (
    f"import sys; sys.path.append({str(Path(toucher.__file__).parent)!r});"
    "import toucher; toucher.touch(toucher.mapped(64 << 20, 12), 12)"
)


def words(root: Path, *rest: str, memory: str = "64Mi") -> list[str]:
    return ["run", "--root", str(root), "--cpus", "1", "--memory", memory, *rest]


def run(
    forks: Forks, root: Path, *rest: str, memory: str = "64Mi"
) -> subprocess.CompletedProcess[str]:
    return forks.run(words(root, *rest, memory=memory), patience_seconds=PATIENCE_SECONDS)


def begun(forks: Forks, root: Path, *rest: str) -> Begun:
    return forks.begin(words(root, "-q", *rest), os.environ)


def pods() -> list[str]:
    return [each.name for each in ROOT.iterdir() if each.name.startswith("pod")]


def test_the_kernel_holds_a_command_to_its_place(tmp_path: Path) -> None:
    script = f"{STATUS}; cat /proc/self/oom_score_adj; exit 3"
    line = [sys.executable, "-m", "numalet", *words(tmp_path, "--", "sh", "-c", script)]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 3, done.stderr
    assert "enforced by the kernel" in done.stderr
    cpus, nodes, score = (line.split()[-1] for line in done.stdout.splitlines())
    assert cpus.isdigit()
    assert int(cpus) // 2 == int(nodes)
    assert score == "-997"
    assert pods() == []


def test_two_commands_have_nothing_in_common(tmp_path: Path, forks: Forks) -> None:
    first = begun(forks, tmp_path, "--", "sh", "-c", f"{STATUS}; exec sleep 100000")
    mine = first.stdout.readline().split()[-1]
    done = run(forks, tmp_path, "--", "sh", "-c", STATUS)
    assert mine != done.stdout.splitlines()[0].split()[-1]
    first.terminate()
    assert first.wait(PATIENCE_SECONDS) == 128 + signal.SIGTERM
    first.stdout.close()
    assert pods() == []


def test_a_command_that_uses_too_much_is_told_why_it_died(tmp_path: Path, forks: Forks) -> None:
    done = run(forks, tmp_path, "--", sys.executable, "-I", "-S", "-c", TOO_MUCH, memory="32Mi")
    assert done.returncode == 137
    assert "the command exceeded its memory limit" in done.stderr
    assert pods() == []


def test_a_killed_run_leaves_nothing_after_the_next_one(tmp_path: Path, forks: Forks) -> None:
    first = begun(forks, tmp_path, "--", "sh", "-c", "setsid sleep 100000 & echo up; wait")
    assert first.stdout.readline() == "up\n"
    first.kill()
    first.wait()
    first.stdout.close()
    assert run(forks, tmp_path, "--", "true").returncode == 0
    assert pods() == []


def test_beside_an_agent_the_kernel_holds_a_command_as_well(tmp_path: Path, forks: Forks) -> None:
    with NodeAgent(forks, tmp_path / "root") as agent:
        script = f"{STATUS}; cat /proc/self/oom_score_adj; exit 3"
        done = run(forks, agent.root, "--", "sh", "-c", script)
        assert done.returncode == 3, done.stderr
        assert "enforced by the kernel" in done.stderr
        cpus, nodes, score = (line.split()[-1] for line in done.stdout.splitlines())
        assert int(cpus) // 2 == int(nodes)
        assert score == "-997"
        assert pods() == []
        assert agent.node_state()[1] == {}
        done = run(
            forks, agent.root, "--", sys.executable, "-I", "-S", "-c", TOO_MUCH, memory="32Mi"
        )
        assert done.returncode == 137
        assert "the command exceeded its memory limit" in done.stderr
        assert pods() == []


def test_a_command_goes_on_without_its_agent_and_the_next_one_gives_its_place_back(
    tmp_path: Path, forks: Forks
) -> None:
    with NodeAgent(forks, tmp_path / "root") as agent:
        first = begun(forks, agent.root, "--", "sh", "-c", "echo up; exec sleep 100000")
        assert first.stdout.readline() == "up\n"
    with NodeAgent(forks, tmp_path / "root") as agent:
        (name,) = agent.pods()
        agent.await_running(name)
        assert agent.await_audit(name)
        inside = agent.container(name)
        (held,) = agent.node_state()[1].values()
        assert held == (inside.effective("cpuset.cpus"), inside.effective("cpuset.mems"))
        assert first.poll() is None
        first.kill()
        first.wait()
        first.stdout.close()
        wait_until(lambda: not agent.pods() and not pods(), "it is gone", PATIENCE_SECONDS)
        assert agent.node_state()[1] == {}
