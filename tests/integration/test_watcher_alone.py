"""The watcher by itself, without an agent: an order in, papers out."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from numalet.adapters.runtime.watcher import papers
from process_builders import own_score

PATIENCE_SECONDS = 60.0
CODE = """
import os, sys
from pathlib import Path
folder = Path(sys.argv[1])
os.dup2(os.open(folder / "lock", os.O_CREAT | os.O_RDWR), 3)
os.dup2(os.open(os.devnull, os.O_WRONLY), 4)
from numalet.adapters.runtime.watcher.watch import main
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
    (folder / papers.LAUNCH).write_text(json.dumps(content), encoding="utf-8")


def watcher(folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", CODE, str(folder)])


def until(condition: Callable[[], object]) -> None:
    last = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < last
        time.sleep(0.01)


def end(folder: Path) -> dict[str, Any]:
    found = papers.read(folder, papers.END)
    assert found is not None
    return found


def test_an_order_becomes_an_end(tmp_path: Path) -> None:
    order(tmp_path, "sh", "-c", "echo out; echo err >&2; exit 4")
    assert 0 == watcher(tmp_path).wait(PATIENCE_SECONDS)
    assert (4, None, 0) == tuple(end(tmp_path)[name] for name in ("code", "signal", "oom_kills"))
    lines = (tmp_path / papers.LOG).read_text(encoding="utf-8").splitlines()
    assert {"stdout F out", "stderr F err"} == {line.split(" ", 1)[1] for line in lines}
    assert papers.read(tmp_path, papers.REFUSED) is None


def test_without_an_order_nothing_is_done(tmp_path: Path) -> None:
    assert 2 == watcher(tmp_path).wait(PATIENCE_SECONDS)


def test_a_refusal_names_the_step(tmp_path: Path) -> None:
    order(tmp_path, "nothing-like-this-here")
    assert 1 == watcher(tmp_path).wait(PATIENCE_SECONDS)
    assert {"stage": "program", "errno": 2} == papers.read(tmp_path, papers.REFUSED)


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 9), (signal.SIGUSR1, 128 + signal.SIGKILL)]
)
def test_signals_are_passed_on_and_one_kills_all(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    order(tmp_path, "sh", "-c", "trap 'exit 9' TERM; echo up; while :; do sleep 0.01; done")
    process = watcher(tmp_path)
    until((tmp_path / papers.LOG).exists)
    process.send_signal(number)
    assert 0 == process.wait(PATIENCE_SECONDS)
    assert code == end(tmp_path)["code"]


def test_kills_for_memory_are_counted_from_the_start(tmp_path: Path) -> None:
    pod, group = tmp_path / "pod", tmp_path / "pod" / "c"
    group.mkdir(parents=True)
    for folder, text in ((pod, "oom 3\n"), (group, "oom_kill 1\n")):
        (folder / "memory.events").write_text(text, encoding="ascii")
    (group / "cgroup.procs").write_text("", encoding="ascii")
    (group / "cgroup.kill").write_text("", encoding="ascii")
    order(tmp_path, "sh", "-c", "echo up; read x < fifo", cgroup=str(group), working_dir=str(pod))
    content = json.loads((tmp_path / papers.LAUNCH).read_text(encoding="utf-8"))
    content["cgroup"] = str(group)
    (tmp_path / papers.LAUNCH).write_text(json.dumps(content), encoding="utf-8")
    os.mkfifo(pod / "fifo")
    process = watcher(tmp_path)
    until((tmp_path / papers.LOG).exists)
    (pod / "memory.events").write_text("oom 4\n", encoding="ascii")
    (group / "memory.events").write_text("oom_kill 2\n", encoding="ascii")
    process.send_signal(signal.SIGUSR1)
    process.wait(PATIENCE_SECONDS)
    assert (1, 1) == (end(tmp_path)["limit_hits"], end(tmp_path)["oom_kills"])
    assert "1" == (group / "cgroup.kill").read_text(encoding="ascii")
