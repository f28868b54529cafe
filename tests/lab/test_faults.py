"""Guests that end as they should not, and machines on which none can be started.

The command is run as a process of its own, with a real QEMU; afterwards nothing of it is left.
"""

from __future__ import annotations

import os
import pty
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lab.guests import PATIENCE_SECONDS

pytestmark = [pytest.mark.lab, pytest.mark.timeout(2 * PATIENCE_SECONDS)]

ROOT = Path(__file__).resolve().parents[2]
LAB = (sys.executable, "-m", "numalet", "lab")
HANG = ("run", "-t", "2n4c", "--", "sh", "-c", "echo begun; sleep 10000")


def descendants(pid: int) -> list[int]:
    """Processes below one, those that were orphaned excepted."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [each for child in map(int, children) for each in (child, *descendants(child))]


def is_running(pid: int) -> bool:
    """Whether there is such a process, zombies excepted."""
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_until(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < deadline, f"in vain: {what}"
        time.sleep(0.05)


def numalet(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*LAB, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **variables},
        timeout=PATIENCE_SECONDS,
    )


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder for temporary files, which is empty again at the end."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


@pytest.fixture
def booting(cache: Path, temporary: Path) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A lab whose command would hang, and the process id of its QEMU, which has just begun."""
    process = subprocess.Popen(
        [*LAB, *HANG], stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    try:
        wait_until(lambda: bool(qemus(process.pid)), "QEMU runs")
        (qemu,) = qemus(process.pid)
        yield process, qemu
    finally:
        process.kill()
        process.communicate()


def qemus(pid: int) -> list[int]:
    """Those of the processes below one that are QEMU by now."""
    return [each for each in descendants(pid) if "qemu-system" in command_of(each)]


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""


@pytest.fixture
def hanging(booting: tuple[subprocess.Popen[bytes], int]) -> tuple[subprocess.Popen[bytes], int]:
    """The same, once its command hangs."""
    process, qemu = booting
    assert process.stdout is not None
    assert process.stdout.readline() == b"begun\n"
    assert is_running(qemu)
    return process, qemu


def test_a_panic_is_status_125_with_the_end_of_the_console(cache: Path, temporary: Path) -> None:
    ended = numalet("run", "--", "sh", "-c", "echo c > /proc/sysrq-trigger; sleep 1000")
    assert ended.returncode == 125
    assert "guest stopped before its command ended" in ended.stderr
    assert "sysrq triggered crash" in ended.stderr


def test_a_hang_is_status_124_with_the_end_of_the_console(cache: Path, temporary: Path) -> None:
    # On a busy machine a guest takes a minute to its command. One that sleeps leaves it the CPUs.
    command = "echo last words > /dev/ttyS0; sleep 100000"
    ended = numalet("run", "--timeout", "180", "--", "sh", "-c", command)
    assert ended.returncode == 124
    assert "guest stopped after 180 s" in ended.stderr
    assert "last words" in ended.stderr


def test_a_guest_that_can_not_be_finished_says_why(cache: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    ended = numalet("run", "--root", str(tmp_path / "empty"), "--", "true")
    assert ended.returncode == 125
    assert "Attempted to kill init" in ended.stderr


def test_a_machine_that_is_too_small_for_a_kernel_is_status_125(cache: Path) -> None:
    ended = numalet("run", "--node-memory", "0=32Mi", "--node-memory", "1=0", "--", "true")
    assert ended.returncode == 125
    assert "guest stopped before its command ended" in ended.stderr


def test_interrupting_leaves_no_guest(hanging: tuple[subprocess.Popen[bytes], int]) -> None:
    process, qemu = hanging
    # As a terminal does: to all processes of the group.
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(PATIENCE_SECONDS) == 130
    assert not is_running(qemu)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_killing_the_lab_leaves_no_guest(
    booting: tuple[subprocess.Popen[bytes], int], number: signal.Signals
) -> None:
    process, qemu = booting
    process.send_signal(number)
    assert -number == process.wait(PATIENCE_SECONDS)
    wait_until(lambda: not is_running(qemu), "QEMU ends with its parent")


def copied(cache: Path, to: Path) -> Path:
    """A cache of its own, with the newest kernel in it."""
    to.mkdir()
    newest = max(cache.glob("linux-image-*.v1"), key=lambda path: path.stat().st_mtime)
    shutil.copytree(newest, to / newest.name)
    return to / newest.name


@pytest.mark.skipif(os.geteuid() != 0, reason="a read-only mount takes root")
def test_the_status_and_both_streams_are_the_commands_own_from_a_cache_that_can_only_be_read(
    cache: Path, temporary: Path, tmp_path: Path
) -> None:
    own = copied(cache, tmp_path / "cache").parent
    run = shlex.join([*LAB, "run", "--", "sh", "-c", "echo out; echo err >&2; exit 42"])
    mount = f"mount --bind {own} {own} && mount -o remount,bind,ro {own}"
    ended = subprocess.run(
        ["unshare", "--mount", "sh", "-c", f"{mount} && ! touch {own}/x 2> {tmp_path}/x && {run}"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "NUMALET_LAB_CACHE": str(own)},
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (42, "out\n", "err\n")


def test_a_cache_that_can_not_be_is_named(cache: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ended = numalet("run", "--", "true", NUMALET_LAB_CACHE=str(tmp_path / "file" / "cache"))
    assert ended.returncode == 2
    assert "cannot store the kernel in" in ended.stderr
    assert "NUMALET_LAB_CACHE" in ended.stderr


def test_two_labs_at_once_fetch_a_new_kernel_once_and_do_not_see_each_other(
    cache: Path, tmp_path: Path
) -> None:
    """The kernel that is there is of another version, and a crash left half of it behind."""
    kept = copied(cache, tmp_path / "cache")
    kept.rename(kept.with_name("linux-image-6.0.0-1-amd64_6.0.1-1.v1"))
    variables = {**os.environ, "NUMALET_LAB_CACHE": str(kept.parent)}
    inside = 'cat /sys/devices/system/node/online > "$NUMALET_LAB_OUT/nodes"; uname -r; echo > /own'
    started = []
    for topology in ("2n4c", "3n4c-1memless"):
        out = tmp_path / topology
        out.mkdir()
        words = ("run", "-t", topology, "--out", str(out), "--", "sh", "-c", inside)
        process = subprocess.Popen(
            [*LAB, *words],
            env=variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
    said = [process.communicate(timeout=PATIENCE_SECONDS) for process in started]
    assert [process.returncode for process in started] == [0, 0], said
    assert "".join(errors for _, errors in said).count("fetching linux-image-") == 1
    (left,) = kept.parent.iterdir()
    (release,) = {output.strip() for output, _ in said}
    assert left.name.startswith(f"linux-image-{release}_")
    assert (tmp_path / "2n4c" / "nodes").read_text() == "0-1\n"
    assert (tmp_path / "3n4c-1memless" / "nodes").read_text() == "0-2\n"
    assert not Path("/own").exists()


def test_the_kernel_that_is_there_is_used_where_no_other_can_be_had(
    cache: Path, tmp_path: Path
) -> None:
    """As with apt lists that are older than the mirror, or without a network."""
    kept = copied(cache, tmp_path / "cache")
    programs = tmp_path / "bin"
    programs.mkdir()
    failing = programs / "apt-cache"
    failing.write_text("#!/bin/sh\necho 'E: No packages found' >&2\nexit 100\n")
    failing.chmod(0o755)
    path = f"{programs}:{os.environ['PATH']}"
    own = {"NUMALET_LAB_CACHE": str(kept.parent), "PATH": path}
    ended = numalet("run", "--", "echo", "fine", **own)
    assert (ended.returncode, ended.stdout) == (0, "fine\n")
    assert "No packages found" in ended.stderr
    assert kept.name in ended.stderr
    shutil.rmtree(kept)
    refused = numalet("run", "--", "true", **own)
    assert refused.returncode == 2
    assert "apt-get update" in refused.stderr


def test_a_shell_has_the_terminal_and_gives_it_back(cache: Path) -> None:
    own, theirs = pty.openpty()
    process = subprocess.Popen(
        [*LAB, "shell", "-t", "2n4c"], stdin=theirs, stdout=theirs, stderr=theirs
    )
    try:
        shown = _read_until(own, rb"# $")
        assert b"booting 2n4c" in shown
        os.write(own, b"test -t 0 && echo nodes $(cat /sys/devices/system/node/online)\n")
        # QEMU's terminal and that of the guest both put a carriage return before a line end.
        answer = _read_until(own, rb"nodes 0-1\r+\n.*# $")
        assert b"booting" not in answer
        os.write(own, b"exit 7\n")
        wait_until(lambda: process.poll() is not None, "the shell ends")
        assert process.returncode == 7
    finally:
        process.kill()
        process.wait()
        os.close(own)
        os.close(theirs)


def _read_until(terminal: int, pattern: bytes) -> bytes:
    shown = b""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not re.search(pattern, shown, re.DOTALL):
        assert time.monotonic() < deadline, shown
        if select.select([terminal], [], [], 1)[0]:
            shown += os.read(terminal, 4096)
    return shown


def test_a_guest_is_made_of_a_description(cache: Path, tmp_path: Path) -> None:
    path = tmp_path / "machine.yaml"
    path.write_text(
        "nodes:\n- {memory: 64Gi, cpus: 0-1}\n- {memory: 128Gi}\n- {memory: 64Gi, cpus: 2-3}\n"
        "distances:\n- [10, 14, 20]\n- [14, 10, 24]\n- [20, 24, 10]\n"
    )
    words = ("boot", "-m", str(path), "--memory", "1Gi", "--")
    ended = numalet(*words, "sh", "-c", "cd /sys/devices/system/node; cat has_cpu node2/distance")
    assert (ended.returncode, ended.stdout) == (0, "0-1\n14 24 10\n")
    assert "the guest has 1152 MiB of memory, 1/228 of the machine's" in ended.stderr
    assert "numbers nodes from 0 without gaps: 2 -> 1, 1 -> 2" in ended.stderr
