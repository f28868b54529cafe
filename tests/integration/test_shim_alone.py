"""The shim by itself, without an agent: an order in, papers out."""

from __future__ import annotations

import json
import os
import pwd
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from numalet.agent.host.runtime.shim import attempt_files
from running.process_builders import own_score

PATIENCE_SECONDS = 200.0
CODE = """
import os, sys
from pathlib import Path
folder = Path(sys.argv[1])
os.dup2(os.open(folder / "lock", os.O_CREAT | os.O_RDWR), 3)
os.dup2(os.open(os.devnull, os.O_WRONLY), 4)
from numalet.agent.host.runtime.shim.watch import main
sys.exit(main(folder))
"""


def order(folder: Path, *argv: str, **setup: Any) -> None:
    content = {
        "setup": {"argv": argv, "env": {"PATH": os.environ["PATH"]}, **setup},
        "cgroup": None,
        "oom_score_adj": own_score(),
        "log_bytes": 1 << 20,
        "log_files": 2,
    }
    (folder / attempt_files.LAUNCH).write_text(json.dumps(content), encoding="utf-8")


def shim(folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", CODE, str(folder)])


def until(condition: Callable[[], object]) -> None:
    last = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < last
        time.sleep(0.01)


def end(folder: Path) -> dict[str, Any]:
    found = attempt_files.read(folder, attempt_files.END)
    assert found is not None
    return found


def test_an_order_becomes_an_end(tmp_path: Path) -> None:
    order(tmp_path, "sh", "-c", "echo out; echo err >&2; exit 4")
    assert shim(tmp_path).wait(PATIENCE_SECONDS) == 0
    assert tuple(end(tmp_path)[name] for name in ("code", "signal", "oom_kills")) == (4, None, 0)
    lines = (tmp_path / attempt_files.LOG).read_text(encoding="utf-8").splitlines()
    assert {"stdout F out", "stderr F err"} == {line.split(" ", 1)[1] for line in lines}
    assert attempt_files.read(tmp_path, attempt_files.REFUSED) is None


def test_without_an_order_nothing_is_done(tmp_path: Path) -> None:
    assert shim(tmp_path).wait(PATIENCE_SECONDS) == 2


def test_a_refusal_names_the_step(tmp_path: Path) -> None:
    order(tmp_path, "nothing-like-this-here")
    assert shim(tmp_path).wait(PATIENCE_SECONDS) == 1
    assert attempt_files.read(tmp_path, attempt_files.REFUSED) == {"stage": "program", "errno": 2}


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 9), (signal.SIGUSR1, 128 + signal.SIGKILL)]
)
def test_signals_are_passed_on_and_one_kills_all(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    order(tmp_path, "sh", "-c", "trap 'exit 9' TERM; echo up; while :; do sleep 0.01; done")
    process = shim(tmp_path)
    until((tmp_path / attempt_files.LOG).exists)
    process.send_signal(number)
    assert process.wait(PATIENCE_SECONDS) == 0
    assert code == end(tmp_path)["code"]


def test_kills_for_memory_are_counted_from_the_start(tmp_path: Path) -> None:
    pod, group = tmp_path / "pod", tmp_path / "pod" / "c"
    group.mkdir(parents=True)
    for folder, text in ((pod, "oom 3\n"), (group, "oom_kill 1\n")):
        (folder / "memory.events").write_text(text, encoding="ascii")
    (group / "cgroup.procs").write_text("", encoding="ascii")
    (group / "cgroup.kill").write_text("", encoding="ascii")
    order(tmp_path, "sh", "-c", "echo up; read x < fifo", cgroup=str(group), working_dir=str(pod))
    content = json.loads((tmp_path / attempt_files.LAUNCH).read_text(encoding="utf-8"))
    content["cgroup"] = str(group)
    (tmp_path / attempt_files.LAUNCH).write_text(json.dumps(content), encoding="utf-8")
    os.mkfifo(pod / "fifo")
    process = shim(tmp_path)
    until((tmp_path / attempt_files.LOG).exists)
    (pod / "memory.events").write_text("oom 4\n", encoding="ascii")
    (group / "memory.events").write_text("oom_kill 2\n", encoding="ascii")
    process.send_signal(signal.SIGUSR1)
    process.wait(PATIENCE_SECONDS)
    assert (end(tmp_path)["limit_hits"], end(tmp_path)["oom_kills"]) == (1, 1)
    assert (group / "cgroup.kill").read_text(encoding="ascii") == "1"


@pytest.mark.parametrize("place", ["there", "gone"])
def test_it_goes_where_signals_to_the_agents_unit_do_not_reach(tmp_path: Path, place: str) -> None:
    leaf = tmp_path / "there"
    leaf.mkdir()
    (leaf / "cgroup.procs").write_text("", encoding="ascii")
    order(tmp_path, "true")
    content = json.loads((tmp_path / attempt_files.LAUNCH).read_text(encoding="utf-8"))
    content["shim_cgroup"] = str(tmp_path / place)
    (tmp_path / attempt_files.LAUNCH).write_text(json.dumps(content), encoding="utf-8")
    assert shim(tmp_path).wait(PATIENCE_SECONDS) == 0
    assert end(tmp_path)["code"] == 0
    joined = (leaf / "cgroup.procs").read_text(encoding="ascii")
    # "0" is whoever writes it.
    assert joined == ("0" if place == "there" else "")


def listed(folder: Path) -> list[str]:
    """What a program wrote to its output, by line."""
    lines = (folder / attempt_files.LOG).read_text(encoding="utf-8").splitlines()
    return [line.split(" ", 3)[3] for line in lines]


def test_a_program_has_its_input_and_outputs_and_no_other_file(tmp_path: Path) -> None:
    """Whatever the agent was started with, be it a file of root's."""
    reading, writing = os.pipe()
    secret = os.open(tmp_path / "secret", os.O_CREAT | os.O_RDWR)
    given = (reading, writing, secret)
    order(tmp_path, "sh", "-c", "exec ls /proc/self/fd")
    process = subprocess.Popen([sys.executable, "-c", CODE, str(tmp_path)], pass_fds=given)
    for each in given:
        os.close(each)
    assert process.wait(PATIENCE_SECONDS) == 0
    # The last one is the folder that is listed.
    assert listed(tmp_path) == ["0", "1", "2", "3"]


def test_a_pipe_ends_though_a_shim_lives(tmp_path: Path) -> None:
    """Who reads what an agent's starter prints is not kept waiting by programs that go on."""
    reading, writing = os.pipe()
    order(tmp_path, "sleep", "1000")
    process = subprocess.Popen([sys.executable, "-c", CODE, str(tmp_path)], pass_fds=[writing])
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        assert file.read() == b""
    until((tmp_path / attempt_files.STARTED).exists)
    process.send_signal(signal.SIGUSR1)
    assert process.wait(PATIENCE_SECONDS) == 0


WHO = "id -u; id -g; id -G; echo $HOME; echo $USER"
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")


@AS_ROOT
def test_a_user_has_the_groups_and_the_home_of_its_entry(tmp_path: Path) -> None:
    entry = next(each for each in pwd.getpwall() if each.pw_uid and each.pw_gid)
    order(tmp_path, "sh", "-c", WHO)
    change(tmp_path, user=entry.pw_uid)
    assert shim(tmp_path).wait(PATIENCE_SECONDS) == 0
    groups = set(os.getgrouplist(entry.pw_name, entry.pw_gid)) - {0}
    user, group, all_groups, home, name = listed(tmp_path)
    assert [str(entry.pw_uid), str(entry.pw_gid)] == [user, group]
    assert groups == {int(each) for each in all_groups.split()}
    assert (entry.pw_dir, entry.pw_name) == (home, name)


@AS_ROOT
def test_a_user_of_whom_nothing_is_known_is_in_no_group_of_others(tmp_path: Path) -> None:
    order(tmp_path, "sh", "-c", WHO)
    change(tmp_path, user=_unknown())
    assert shim(tmp_path).wait(PATIENCE_SECONDS) == 0
    assert [str(_unknown()), "65534", "65534", "/", ""] == listed(tmp_path)


@AS_ROOT
@pytest.mark.parametrize("group", [0, 12345])
def test_a_group_that_is_asked_for_is_the_only_one(tmp_path: Path, group: int) -> None:
    order(tmp_path, "sh", "-c", WHO)
    change(tmp_path, user=65534, group=group)
    assert shim(tmp_path).wait(PATIENCE_SECONDS) == 0
    assert ["65534", str(group), str(group)] == listed(tmp_path)[:3]


@AS_ROOT
def test_what_a_manifest_says_of_the_home_counts(tmp_path: Path) -> None:
    order(tmp_path, "sh", "-c", WHO)
    change(tmp_path, user=65534, env={"PATH": os.environ["PATH"], "HOME": "/srv"})
    assert shim(tmp_path).wait(PATIENCE_SECONDS) == 0
    assert listed(tmp_path)[3] == "/srv"


def _unknown() -> int:
    return next(uid for uid in range(54321, 65000) if uid not in {e.pw_uid for e in pwd.getpwall()})


def change(folder: Path, **setup: Any) -> None:
    """Give the program of an order something else."""
    content = json.loads((folder / attempt_files.LAUNCH).read_text(encoding="utf-8"))
    content["setup"] |= setup
    (folder / attempt_files.LAUNCH).write_text(json.dumps(content), encoding="utf-8")
