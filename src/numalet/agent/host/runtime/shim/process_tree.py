"""Processes as the proc file system shows them: whose children, when started, marked how."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

PROC: Final = Path("/proc")
MARK: Final = "NUMALET_CONTAINER"
"""The variable in the environment of every program, by which strays are recognised."""


_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
_NAMESPACE: Final = Path("/proc/self/ns/pid")


class Process(NamedTuple):
    """One process. ``started`` is in clock ticks since the boot: with the id it names it."""

    pid: int
    parent: int
    session: int
    started: int
    is_dead: bool


def process(pid: int, proc: Path = PROC) -> Process | None:
    """The process of this id; None if there is none."""
    try:
        text = (proc / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The name of the program stands in brackets and may have any character in it.
    words = text[text.rindex(")") + 2 :].split()
    dead = words[0] in ("Z", "X")
    return Process(pid, int(words[1]), int(words[3]), int(words[19]), dead)


def boot_id() -> str:
    """The id of this boot; empty where it is unknown."""
    try:
        return _BOOT.read_text(encoding="ascii").strip()
    except OSError:
        return ""


def pid_namespace() -> int:
    """The number of the PID namespace of this process; 0 where it is unknown."""
    try:
        return _NAMESPACE.stat().st_ino
    except OSError:
        return 0


def is_alive(pid: int, started: int) -> bool:
    """Whether this very process is still there and has not ended."""
    running = process(pid)
    return running is not None and running.started == started and not running.is_dead


def is_this(pid: int, started: int, boot: str) -> bool:
    """The same for a process of a boot that may be over."""
    return boot == boot_id() and is_alive(pid, started)


def all_processes(proc: Path = PROC) -> Iterator[Process]:
    """Every process that can be seen."""
    for folder in proc.iterdir():
        if folder.name.isdigit() and (each := process(int(folder.name), proc)) is not None:
            yield each


def descendants(pid: int) -> tuple[int, ...]:
    """The ids of all processes below this one that have not ended."""
    below: dict[int, list[Process]] = {}
    for each in all_processes():
        below.setdefault(each.parent, []).append(each)
    alive: list[int] = []
    waiting = [pid]
    while waiting:
        for child in below.get(waiting.pop(), ()):
            waiting.append(child.pid)
            if not child.is_dead:
                alive.append(child.pid)
    return tuple(sorted(alive))


def offspring(pid: int) -> tuple[int, ...]:
    """The same, from what the kernel says of each process alone: for repeated polling.

    One may be missed while another one ends. Where the kernel does not say it, all are read.
    """
    if not (PROC / "thread-self" / "children").exists():
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
        for thread in os.listdir(f"{PROC}/{pid}/task"):  # noqa: PTH208 - names suffice, and are quick
            with contextlib.suppress(OSError):
                text = (PROC / str(pid) / "task" / thread / "children").read_text(encoding="ascii")
                yield from map(int, text.split())


def strays(session: int, mark: str) -> tuple[int, ...]:
    """What is left of a program whose shim is gone: its session, and all with its mark."""
    word = f"{MARK}={mark}".encode()
    pids = []
    for each in all_processes():
        if each.is_dead or each.pid == os.getpid():
            continue
        if each.session == session or word in _environment(each.pid):
            pids.append(each.pid)
    return tuple(sorted(pids))


def _environment(pid: int) -> list[bytes]:
    with contextlib.suppress(OSError):
        return (PROC / str(pid) / "environ").read_bytes().split(b"\0")
    return []


def kill(pids: Iterable[int]) -> None:
    """SIGKILL to all of them that are there."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
