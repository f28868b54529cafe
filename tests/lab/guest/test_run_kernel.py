"""``numalet run`` on a kernel that enforces, as a user runs it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from lab.guest import toucher
from lab.guest.groups import wait_until
from lab.guest.node_agent import PATIENCE_SECONDS, NodeAgent

ROOT = Path("/sys/fs/cgroup/numalet")
STATUS = "grep allowed_list /proc/self/status"
TOO_MUCH = (
    f"import sys; sys.path.append({str(Path(toucher.__file__).parent)!r});"
    "import toucher; toucher.touch(toucher.mapped(64 << 20, 12), 12)"
)


def words(root: Path, *rest: str, memory: str = "64Mi", cpus: str = "1") -> list[str]:
    base = [sys.executable, "-m", "numalet", "run", "--root", str(root), "--cpus", cpus]
    return [*base, "--memory", memory, *rest]


def run(root: Path, *rest: str, memory: str = "64Mi") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words(root, *rest, memory=memory), capture_output=True, text=True, check=False
    )


def pods() -> list[str]:
    return [each.name for each in ROOT.iterdir() if each.name.startswith("pod")]


def test_the_kernel_holds_a_command_to_its_place(tmp_path: Path) -> None:
    done = run(tmp_path, "--", "sh", "-c", f"{STATUS}; cat /proc/self/oom_score_adj; exit 3")
    assert done.returncode == 3, done.stderr
    assert "the kernel holds it there" in done.stderr
    cpus, nodes, score = (line.split()[-1] for line in done.stdout.splitlines())
    assert cpus.isdigit()
    assert int(cpus) // 2 == int(nodes)
    assert score == "-997"
    assert pods() == []


def test_two_commands_have_nothing_in_common(tmp_path: Path) -> None:
    command = ("--", "sh", "-c", f"{STATUS}; read x")
    first = subprocess.Popen(
        words(tmp_path, *command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert first.stdout is not None
    mine = first.stdout.readline().split()[-1]
    done = run(tmp_path, "--", "sh", "-c", STATUS)
    assert mine != done.stdout.splitlines()[0].split()[-1]
    first.communicate("x\n")
    assert first.returncode == 0
    assert pods() == []


def test_a_command_that_uses_too_much_is_told_why_it_died(tmp_path: Path) -> None:
    done = run(tmp_path, "--", sys.executable, "-I", "-S", "-c", TOO_MUCH, memory="32Mi")
    assert done.returncode == 137
    assert "it used more than its memory" in done.stderr
    assert pods() == []


def test_a_killed_run_leaves_nothing_after_the_next_one(tmp_path: Path) -> None:
    first = subprocess.Popen(
        words(tmp_path, "--", "sh", "-c", "setsid sleep 100000 & echo up; wait"),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert first.stdout is not None
    first.stdout.readline()
    first.kill()
    first.wait()
    first.stdout.close()
    assert run(tmp_path, "--", "true").returncode == 0
    assert pods() == []


def test_beside_an_agent_the_kernel_holds_a_command_as_well(tmp_path: Path) -> None:
    with NodeAgent(tmp_path / "root") as agent:
        script = f"{STATUS}; cat /proc/self/oom_score_adj; exit 3"
        done = run(agent.root, "--", "sh", "-c", script)
        assert done.returncode == 3, done.stderr
        assert "the kernel holds it there" in done.stderr
        cpus, nodes, score = (line.split()[-1] for line in done.stdout.splitlines())
        assert int(cpus) // 2 == int(nodes)
        assert score == "-997"
        assert pods() == []
        assert agent.books()[1] == {}
        done = run(agent.root, "--", sys.executable, "-I", "-S", "-c", TOO_MUCH, memory="32Mi")
        assert done.returncode == 137
        assert "it used more than its memory" in done.stderr
        assert pods() == []


def test_a_command_goes_on_without_its_agent_and_the_next_one_gives_its_place_back(
    tmp_path: Path,
) -> None:
    with NodeAgent(tmp_path / "root") as agent:
        command = ("-q", "--", "sh", "-c", "echo up; exec sleep 100000")
        first = subprocess.Popen(words(agent.root, *command), stdout=subprocess.PIPE, text=True)
        assert first.stdout is not None
        first.stdout.readline()
    with NodeAgent(tmp_path / "root") as agent:
        (name,) = agent.pods()
        agent.await_running(name)
        assert agent.await_audit(name)
        inside = agent.container(name)
        (held,) = agent.books()[1].values()
        assert held == (inside.effective("cpuset.cpus"), inside.effective("cpuset.mems"))
        assert first.poll() is None
        first.kill()
        first.wait()
        first.stdout.close()
        wait_until(lambda: not agent.pods() and not pods(), "it is gone", PATIENCE_SECONDS)
        assert agent.books()[1] == {}
