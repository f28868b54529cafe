"""The units that are shipped, under a real systemd: an agent comes and goes, its pods stay."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from lab.guest.groups import wait_until
from lab.guest.node_agent import PATIENCE_SECONDS, Container, Seen, pod

UNITS = Path(__file__).parents[3] / "packaging" / "systemd"
INSTALLED = Path("/etc/systemd/system")
CGROUPS = Path("/sys/fs/cgroup")
SLICE = CGROUPS / "system.slice"
TREE = SLICE / "numalet-pods.service" / "pods"
AGENT = "numalet-agent.service"
ROOT = Path("/var/lib/numalet")
PINNED = (frozenset({2, 3}), frozenset({1}))


def systemctl(*words: str) -> str:
    done = subprocess.run(["systemctl", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        ask = ["journalctl", "--no-pager", "--unit", AGENT]
        journal = subprocess.run(ask, capture_output=True, text=True, check=False)
        pytest.fail(done.stderr + journal.stdout)
    return done.stdout.strip()


@pytest.fixture
def command() -> Iterator[subprocess.Popen[str]]:
    """A command that runs, begun in no unit, and without an agent."""
    words = [sys.executable, "-m", "numalet", "run", "-q", "--root", str(ROOT), "--cpus", "1"]
    words += ["--memory", "64Mi", "--", "sh", "-c", "echo up; exec sleep 100000"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as begun:
        assert begun.stdout is not None
        assert begun.stdout.readline() == "up\n"
        yield begun
        begun.kill()


@pytest.fixture
def agent(command: subprocess.Popen[str]) -> Iterator[Seen]:
    """An agent that systemd started while a command ran, by the units as they are shipped."""
    for unit in UNITS.glob("*.service"):
        shutil.copy(unit, INSTALLED)
    program = Path("/usr/local/bin/numalet")
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m numalet "$@"\n')
    program.chmod(0o755)
    # An emulated machine takes its time to start a program.
    patient = INSTALLED / f"{AGENT}.d" / "patient.conf"
    patient.parent.mkdir(exist_ok=True)
    patient.write_text("[Service]\nTimeoutStartSec=10min\n")
    systemctl("daemon-reload")
    systemctl("start", AGENT)
    with closing(Seen(ROOT, TREE)) as seen:
        yield seen
    systemctl("stop", AGENT, "numalet-pods.service")


def main_process() -> int:
    return int(systemctl("show", "--property=MainPID", "--value", AGENT))


def test_pods_stay_where_they_are_whatever_systemd_does(
    agent: Seen, command: subprocess.Popen[str]
) -> None:
    # The agent adopted the command, whose cgroup stays in the tree in which it began.
    ((name, adopted),) = agent.pods().items()
    assert agent.await_audit(name)
    uid = adopted["metadata"]["uid"]
    (group,) = CGROUPS.rglob(f"pod{uid}/main")
    assert TREE not in group.parents
    assert agent.node_state()[1][f"{uid}/main"] == (
        Container(group).effective("cpuset.cpus"),
        Container(group).effective("cpuset.mems"),
    )
    agent.command("delete", f"run/{name}")
    assert command.wait(PATIENCE_SECONDS) == 128 + signal.SIGTERM
    wait_until(lambda: not agent.pods(), "it is gone", PATIENCE_SECONDS)
    assert list(CGROUPS.rglob(f"pod{uid}")) == []

    assert agent.apply(pod("pinned", {"cpu": "2", "memory": "96Mi"})).exit_code == 0
    agent.await_running("pinned")
    ours = agent.container("pinned")
    pids = ours.pids()
    assert {1} == ours.memory_nodes()

    def is_untouched() -> bool:
        return pids == ours.pids() and ours.allowed() == PINNED

    assert is_untouched()
    assert agent.await_audit("pinned")

    systemctl("daemon-reload")
    assert is_untouched()

    before = main_process()
    systemctl("restart", AGENT)
    wait_until(agent.is_ready, "the next agent is ready", PATIENCE_SECONDS)
    assert main_process() not in (0, before)
    assert is_untouched()
    assert agent.await_audit("pinned")

    # Killed with its whole unit, in which there is nobody else, it is started again by systemd.
    before = main_process()
    members = (SLICE / AGENT / "cgroup.procs").read_text(encoding="ascii").split()
    assert members == [str(before)]
    systemctl("kill", "--signal=KILL", AGENT)
    wait_until(
        lambda: main_process() not in (0, before) and agent.is_ready(), "again", PATIENCE_SECONDS
    )
    assert is_untouched()
    assert sum(agent.drift().values()) == 0

    # Who stops the unit of the pods means the pods.
    systemctl("stop", "numalet-pods.service")
    wait_until(lambda: not Path(f"/proc/{pids[0]}").exists(), "the pod ended", PATIENCE_SECONDS)
    assert systemctl("show", "--property=ActiveState", "--value", AGENT) == "inactive"
    assert not TREE.exists()
