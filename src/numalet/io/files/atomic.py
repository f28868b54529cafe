"""Atomic writes: temporary file, fsync, rename.

After a crash at any moment a reader sees the old content or the new one; several files written
together are all old or all new for the next reader of their folder (``intent``). Temporary files
have a leading dot. A new file has mode 0600 by default, like the kubelet's checkpoints; an existing
file keeps its mode. A symbolic link stays, and its target is replaced.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from numalet.core.model.value import Mutable
from numalet.io.files import intent, temporary
from numalet.io.files.intent import FileIdentity, ReplacedFile, refusing

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

TextsByPath: TypeAlias = Mapping[Path, str | bytes] | Mapping[str, str | bytes]

_SIDE_BY_SIDE: Final = 8
_QUICK_SECONDS: Final = 100e-6
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_MOST_OPEN: Final = 64
"""Temporary files open at a time."""


def write_text(path: Path, text: str) -> None:
    """Replace the file's content. Raises ``BadInput`` if that fails."""
    write_texts({path: text})


def write_texts(texts: TextsByPath, *, new_mode: int | None = None) -> None:
    """Replace the content of several files, in UTF-8.

    Nothing changes before the new contents of all files are on disk. If the process is killed
    between two renames, an ``intent`` remains in the folder above all files; the next writer there,
    or ``intent.settle``, completes the write.

    Raises:
        BadInput: a file is not writable; all are unchanged.
    """
    if len(texts) > 1:
        with _Writing(texts, new_mode):
            # The renames are done on entry.
            return
    for path, text in texts.items():
        _write_alone(_absolute(path), text, new_mode)


@contextmanager
def replaced(texts: TextsByPath, *, new_mode: int | None = None) -> Iterator[None]:
    """``write_texts`` before the block; the intent is removed after it.

    In the block the caller may sync the folders; one may reach the disk before another.
    """
    if len(texts) > 1:
        with _Writing(texts, new_mode):
            yield
    else:
        write_texts(texts, new_mode=new_mode)
        yield


def _absolute(path: Path | str) -> str:
    """The absolute path with its links unresolved."""
    text = str(path)
    return text if text.startswith("/") else os.path.join(os.getcwd(), text)


def _write_alone(path: str, text: str | bytes, new_mode: int | None) -> None:
    """Replace one file. A single rename is atomic, so it needs no intent."""
    # An agent writes at most decisions, so this path does only the necessary system calls.
    intent.settle(path.rpartition("/")[0])
    new: list[str] = []
    at = path
    try:
        target, there = temporary.target(path)
        folder, _, name = target.rpartition("/")
        mode = new_mode if there is None else stat.S_IMODE(there.st_mode)
        start = f"{folder}/{temporary.prefix(name)}"
        descriptor = temporary.create(start, temporary.likely_end(), new)
        try:
            temporary.fill(descriptor, text, mode)
            _sync_one(descriptor)
        finally:
            os.close(descriptor)
        at = target
        intent.replace(new[0], target)
    except BaseException as error:
        temporary.remove(new)
        if isinstance(error, OSError | ValueError):
            raise intent.refusal(at, error) from error
        raise


class _Writing:
    """Inside the block the files are replaced. An empty intent means that nothing was replaced."""

    def __init__(self, texts: TextsByPath, new_mode: int | None) -> None:
        self._texts = {_absolute(path): text for path, text in texts.items()}
        self._new_mode = new_mode
        folders = {path.rpartition("/")[0] for path in self._texts}
        self._folder = _folder_above(folders)
        self._is_one_folder = len(folders) == 1
        self._end_of_new = temporary.likely_end()
        # Cannot collide: the random ends do not contain "k".
        self._end_of_kept = f"k{self._end_of_new[1:]}"
        self._last = next(reversed(self._texts))
        """The last file to be renamed."""
        self._steps: list[ReplacedFile] = []
        self._targets: list[str] = []
        """The files that the steps replace, with links resolved."""
        self._new: list[str] = []
        """Temporary names of the new contents."""
        self._kept: list[str] = []
        """Extra hard links to the files that are replaced."""
        self._lock: int | None = None
        """The descriptor of the intent."""
        self._at = next(iter(self._texts))
        """The current file, for the error message."""

    def __enter__(self) -> None:
        try:
            # The lock first: another writer's unfinished intent is completed before the files are
            # read.
            self._lock = intent.begin(self._folder)
            self._prepare()
            self._rename()
        except intent.Unfinished:
            # Recovery needs the intent and all temporary files.
            self._unlock()
            raise
        except BaseException as error:
            self._end([*self._new, *self._kept])
            if isinstance(error, OSError | ValueError):
                raise intent.refusal(self._at, error) from error
            raise

    def __exit__(self, *_: object) -> None:
        self._end(self._kept)

    def _end(self, unneeded: Sequence[str]) -> None:
        if self._lock is None:
            # The intent, if there is one, belongs to another writer.
            return
        try:
            intent.forget(self._folder)
            temporary.remove(unneeded)
        finally:
            self._unlock()

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _prepare(self) -> None:
        waiting = [*self._texts.items()]
        while waiting:
            batch, waiting = waiting[:_MOST_OPEN], waiting[_MOST_OPEN:]
            opened: list[tuple[str, int]] = []
            try:
                for self._at, text in batch:
                    self._write(self._at, text, opened)
                # The intent is filled with the last batch, when the identities of all new files are
                # known.
                _sync(opened if waiting else [*opened, self._write_intent()])
            finally:
                temporary.close(opened)

    def _write(self, path: str, text: str | bytes, opened: list[tuple[str, int]]) -> None:
        """Keep the present file and write a temporary one, which is added to ``opened``."""
        target, there = temporary.target(path)
        folder, _, name = target.rpartition("/")
        start = f"{folder}/{temporary.prefix(name)}"
        first = len(folder) + 1
        mode, kept = self._new_mode, ""
        before: tuple[FileIdentity, ...] = ()
        if there is not None:
            mode = stat.S_IMODE(there.st_mode)
            before = (intent.identity_of(there),)
            # After the last rename the write is complete and never rolled back, so the last file
            # needs no link.
            if path != self._last:
                before = intent.keep(target, before, start, self._end_of_kept, self._kept)
                kept = self._kept[-1][first:]
        descriptor = temporary.create(start, self._end_of_new, self._new)
        opened.append((path, descriptor))
        temporary.fill(descriptor, text, mode)
        step = ReplacedFile(
            name=path[len(self._folder) :].lstrip("/"),
            new=self._new[-1][first:],
            after=intent.identity_of(os.fstat(descriptor)),
            kept=kept,
            before=before,
        )
        self._steps.append(step)
        self._targets.append(target)

    def _write_intent(self) -> tuple[str, int]:
        assert self._lock is not None, "it was begun"
        self._at = f"{self._folder}/{intent.NAME}"
        temporary.fill(self._lock, intent.encode(self._steps))
        return self._at, self._lock

    def _rename(self) -> None:
        if not self._is_one_folder:
            # Within one folder, renames reach the disk in order. With several, the intent's name
            # must be on disk first.
            self._at = self._folder or "/"
            _sync_folder(self._folder)
        intent.carry_out(self._folder, self._steps, zip(self._new, self._targets, strict=True))


def _folder_above(folders: Iterable[str]) -> str:
    """The deepest folder that contains all of these."""
    shortest = min(folders, key=len)
    start = f"{shortest}/"
    for each in folders:
        if each != shortest and not each.startswith(start):
            return os.path.commonpath(folders)
    return shortest


def left_behind(path: Path) -> list[Path]:
    """Leftovers of killed writes of this file; only valid while no process writes it."""
    names = re.compile(re.escape(temporary.prefix(path.name)) + temporary.RANDOM)
    return [each for each in path.parent.glob(".*") if names.fullmatch(each.name)]


def sweep(folder: Path, names: Iterable[str]) -> None:
    """Complete interrupted writes in a folder without other writers, and remove leftovers.

    ``names`` are the files that are written there. Raises ``BadInput`` like ``intent.settle``.
    """
    intent.settle(folder)
    for name in (*names, intent.NAME):
        for path in left_behind(folder / name):
            with suppress(OSError):
                path.unlink()


def sync_folders(folders: Iterable[Path], written: Sequence[tuple[Path, int]] = ()) -> None:
    """Sync the names in these folders, so that they survive a power failure.

    ``written`` are open files with descriptors to sync as well. Raises ``BadInput`` on failure.
    """
    opened = [*written]
    try:
        for folder in folders:
            with refusing(folder):
                opened.append((folder, os.open(folder, _FOLDER)))
        _sync(opened)
    finally:
        for _, descriptor in opened[len(written) :]:
            os.close(descriptor)


def _sync_folder(folder: str) -> None:
    descriptor = os.open(folder or "/", _FOLDER)
    try:
        _sync_one(descriptor)
    finally:
        os.close(descriptor)


def _sync(opened: Sequence[tuple[Path | str, int]]) -> None:
    """Sync the files in parallel, which lets the disk combine the flushes.

    One thread suffices for writing, because of the interpreter lock, and for disks that sync about
    as fast as a thread wakes up.
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
        # Wait for all threads before the caller closes the files.
        errors = [error for each in others if (error := each.exception()) is not None]
    if errors:
        raise errors[0]
    _latest.is_quick = time.monotonic() - began < _QUICK_SECONDS * len(shares[0])


def _sync_share(share: Sequence[tuple[Path | str, int]]) -> None:
    for path, descriptor in share:
        try:
            _sync_one(descriptor)
        except OSError as error:
            raise intent.refusal(path, error) from error


def _sync_one(descriptor: int) -> None:
    os.fsync(descriptor)


class _Latest(Mutable):
    """How long the last sync took; it affects speed only.

    ``may_share_out`` allows threads. Foreground commands that wait for signals must not have any,
    because the kernel may deliver a signal to any thread.
    """

    is_quick: bool = False
    may_share_out: bool = False


_latest: Final = _Latest()


def share_out() -> None:
    """Allow syncs in several threads from now on."""
    _latest.may_share_out = True


@cache
def _threads() -> ThreadPoolExecutor:
    # Imported late: only the agent writes with threads.
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(_SIDE_BY_SIDE - 1, "sync")


# Threads do not survive a fork.
os.register_at_fork(after_in_child=_threads.cache_clear)
