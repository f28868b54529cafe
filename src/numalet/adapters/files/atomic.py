"""Files written whole or not at all: temporary files beside them, fsync, rename.

A reader, or a crash at any moment, sees the old content or the new one. A temporary file has a
leading dot. A new file has mode 0600, as the kubelet's checkpoints have; an existing one keeps
its mode. A link is followed, so that what it points to is replaced and the link stays.
"""

from __future__ import annotations

import os
import re
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from numalet.adapters import faults
from numalet.model.findings import BadInput, Finding, Location

_SIDE_BY_SIDE: Final = 8
_QUICK_SECONDS: Final = 100e-6
_RANDOM: Final = "[a-z0-9_]{8}"
"""What ``tempfile`` puts behind the prefix."""
_MOST_OPEN: Final = 64
"""So many temporary files are open at a time."""


def write_text(path: Path, text: str) -> None:
    """Replace the file's content. Raises ``BadInput`` if that can not be done."""
    write_texts({path: text})


def write_texts(texts: Mapping[Path, str | bytes]) -> None:
    """Replace the content of several files; a text is written as UTF-8.

    No file is touched before the new contents of all are on the disk.

    Raises:
        BadInput: one of them can not be written; none was changed.
    """
    prepared: list[tuple[str, str]] = []
    try:
        _prepare(texts, prepared)
        prepared.reverse()
        while prepared:
            temporary, target = prepared[-1]
            with _refusing(target), faults.point("file.replace"):
                Path(temporary).replace(target)
            prepared.pop()
    finally:
        for temporary, _ in prepared:
            Path(temporary).unlink(missing_ok=True)


def left_behind(path: Path) -> list[Path]:
    """What is left of writes of this file that were killed, as long as nobody writes it."""
    names = re.compile(re.escape(_prefix(path.name)) + _RANDOM)
    return [each for each in path.parent.glob(".*") if names.fullmatch(each.name)]


def _prefix(name: str) -> str:
    """How the names of temporary files of a file begin; names have an end."""
    return f".{name[:100]}."


def sync_folders(folders: Iterable[Path], written: Sequence[tuple[Path, int]] = ()) -> None:
    """Have the names in these folders on the disk, so that they outlive a loss of power.

    So too what was ``written`` to open files, which are given with their descriptors. Raises
    ``BadInput`` if that can not be done.
    """
    opened = [*written]
    try:
        for folder in folders:
            with _refusing(folder):
                flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
                opened.append((folder, os.open(folder, flags)))
        _sync(opened)
    finally:
        for _, descriptor in opened[len(written) :]:
            os.close(descriptor)


def _prepare(texts: Mapping[Path, str | bytes], prepared: list[tuple[str, str]]) -> None:
    """Have all new contents on the disk; ``prepared`` gets every temporary file there is."""
    waiting = [*texts.items()]
    for first in range(0, len(waiting), _MOST_OPEN):
        written: list[tuple[Path, int]] = []
        try:
            for path, text in waiting[first : first + _MOST_OPEN]:
                with _refusing(path):
                    _write(path, text, written, prepared)
            _sync(written)
        finally:
            for _, descriptor in written:
                os.close(descriptor)


def _sync(opened: Sequence[tuple[Path, int]]) -> None:
    """Have what was written on the disk, side by side, because the disk takes it in one go then.

    Writing itself is not shared out: it takes the interpreter, which only one thread has. Nor is
    this, where the disk is known to be as quick as waking a thread.
    """
    if not opened:
        return
    alone = _latest.is_quick or not _latest.may_share_out
    width = 1 if alone else min(_SIDE_BY_SIDE, len(opened))
    shares = [opened[first::width] for first in range(width)]
    began = time.monotonic()
    others = [_threads().submit(_sync_share, share) for share in shares[1:]]
    try:
        _sync_share(shares[0])
    finally:
        # Nobody may close a file that another still waits for.
        errors = [error for each in others if (error := each.exception()) is not None]
    if errors:
        raise errors[0]
    _latest.is_quick = time.monotonic() - began < _QUICK_SECONDS * len(shares[0])


def _sync_share(share: Sequence[tuple[Path, int]]) -> None:
    for path, descriptor in share:
        with _refusing(path), faults.point("file.sync"):
            os.fsync(descriptor)


@dataclass(slots=True)
class _Latest:
    """What waiting for the disk was like the last time; only how it is done hangs on it.

    ``may_share_out`` says whether there may be threads at all. Whoever waits for signals, as a
    command in the foreground does, has none: a signal may be given to any thread.
    """

    is_quick: bool = False
    may_share_out: bool = False


_latest: Final = _Latest()


def share_out() -> None:
    """Wait for the disk with several threads from now on, where that is worth it."""
    _latest.may_share_out = True


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_SIDE_BY_SIDE - 1, "sync")


# A child that was forked has none of these threads.
os.register_at_fork(after_in_child=_threads.cache_clear)


@contextmanager
def _refusing(path: Path | str) -> Iterator[None]:
    """Turns an error of the operating system into a finding about this file."""
    try:
        yield
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        fields = {"path": str(path), "error": reason}
        raise BadInput([Finding("files/unwritable", fields, Location(str(path)))]) from None


def _write(
    path: Path, text: str | bytes, written: list[tuple[Path, int]], prepared: list[tuple[str, str]]
) -> None:
    """Make a temporary file beside the target, and have the text in it, not yet on the disk."""
    target, mode = _target_and_mode(path)
    folder, name = os.path.split(target)
    # mkstemp makes the file with mode 0600 whatever the umask says.
    with faults.point("file.create"):
        descriptor, temporary = tempfile.mkstemp(prefix=_prefix(name), dir=folder)
        written.append((path, descriptor))
        prepared.append((temporary, target))
    with faults.point("file.write"):
        if mode is not None:
            os.fchmod(descriptor, mode)
        left = memoryview(text.encode() if isinstance(text, str) else text)
        while left:
            left = left[os.write(descriptor, left) :]


def _target_and_mode(path: Path) -> tuple[str, int | None]:
    """What is to be replaced, behind all links, and its mode; None without a file there."""
    target = os.fspath(path)
    try:
        mode = os.lstat(target).st_mode
        if stat.S_ISLNK(mode):
            target = os.path.realpath(target)
            mode = Path(target).stat().st_mode
    except FileNotFoundError:
        return target, None
    if not stat.S_ISREG(mode):
        raise BadInput([Finding("files/not-a-file", {"path": str(path)}, Location(str(path)))])
    return target, stat.S_IMODE(mode)
