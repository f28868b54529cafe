"""Processes in ``/proc``: parents, start times, marks."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterable, Iterator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Final

PROC: Final = "/proc"
MARK: Final = "NUMALET_CONTAINER"
"""Environment variable of every program; identifies strays."""


_BOOT: Final = "/proc/sys/kernel/random/boot_id"
_NAMESPACE: Final = "/proc/self/ns/pid"


class Process:
    """``started`` is in clock ticks since boot; with ``pid`` it is unique."""

    def __init__(self, pid: int, parent: int, session: int, started: int, state: str) -> None:
        self.pid = pid
        self.parent = parent
        self.session = session
        self.started = started
        self.is_dead = state in ("Z", "X")


def process(pid: int, proc: str | Path = PROC) -> Process | None:
    """Read ``/proc/PID/stat``, if the process exists."""
    try:
        text = _text(f"{proc}/{pid}/stat")
    except OSError:
        return None
    # The program's name stands in brackets and may contain any character.
    words = text[text.rindex(")") + 2 :].split()
    return Process(pid, int(words[1]), int(words[3]), int(words[19]), words[0])


def _text(path: str) -> str:
    """Raises ``OSError``."""
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def boot_id() -> str:
    """The boot id; empty if unknown."""
    try:
        return _text(_BOOT).strip()
    except OSError:
        return ""


def pid_namespace() -> int:
    """Inode of this PID namespace; 0 if unknown."""
    try:
        return os.stat(_NAMESPACE).st_ino
    except OSError:
        return 0


def is_alive(pid: int, started: int) -> bool:
    """Whether this process still runs; ``started`` excludes a reused pid."""
    running = process(pid)
    return running is not None and running.started == started and not running.is_dead


def is_this(pid: int, started: int, boot: str) -> bool:
    """As ``is_alive``, also across reboots."""
    return boot == boot_id() and is_alive(pid, started)


def all_processes(proc: str | Path = PROC) -> Iterator[Process]:
    """Every process that can be seen."""
    for name in os.listdir(proc):
        if name.isdigit() and (each := process(int(name), proc)) is not None:
            yield each


def descendants(pid: int) -> tuple[int, ...]:
    """Ids of all live processes below this one."""
    below: dict[int, list[Process]] = {}
    for each in all_processes():
        below.setdefault(each.parent, []).append(each)
    alive: list[int] = []
    waiting = [pid]
    while waiting:
        for child in below.get(waiting.pop(), ()):
            # A process whose main thread has exited is shown as a zombie, but may have children.
            waiting.append(child.pid)
            if not child.is_dead:
                alive.append(child.pid)
    return tuple(sorted(alive))


def offspring(pid: int) -> tuple[int, ...]:
    """As ``descendants``, but cheap enough for polling; may miss one while another ends."""
    # Needs CONFIG_PROC_CHILDREN.
    if not os.path.exists(f"{PROC}/thread-self/children"):
        return descendants(pid)
    alive: list[int] = []
    waiting = [pid]
    while waiting:
        for child in _children(waiting.pop()):
            waiting.append(child)
            known = process(child)
            if known is not None and not known.is_dead:
                alive.append(child)
    return tuple(sorted(alive))


def _children(pid: int) -> Iterator[int]:
    """The children of all threads of a process."""
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"{PROC}/{pid}/task"):
            with contextlib.suppress(OSError):
                yield from map(int, _text(f"{PROC}/{pid}/task/{thread}/children").split())


def strays(session: int, mark: str) -> tuple[int, ...]:
    """Remains of a program without a shim: its session, and processes with its mark."""
    word = f"{MARK}={mark}".encode()
    pids = []
    for each in all_processes():
        if each.is_dead or each.pid == os.getpid():
            continue
        # A daemon leaves the session, but keeps its environment.
        if each.session == session or word in _environment(each.pid):
            pids.append(each.pid)
    return tuple(sorted(pids))


def _environment(pid: int) -> list[bytes]:
    with contextlib.suppress(OSError), open(f"{PROC}/{pid}/environ", "rb") as file:
        return file.read().split(b"\0")
    return []


def kill(pids: Iterable[int]) -> None:
    """Send SIGKILL; skip those that have ended."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
