"""Files written whole or not at all: temporary files beside them, fsync, rename.

A reader, or a crash at any moment, sees the old content or the new one; of several files that are
written together the next reader of their folder sees all old or all new (``intent``). A temporary
file has a leading dot. A new file has mode 0600, as the kubelet's checkpoints have, unless another
is asked for; an existing one keeps its mode. A link is followed, so that what it points to is
replaced and the link stays.
"""

from __future__ import annotations

import fcntl
import os
import re
import stat
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, TypeAlias

from numalet.core.model.findings import BadInput, Location
from numalet.io.files import intent
from numalet.io.files.intent import ReplacedFile, refusing
from numalet.io.findings.files import FilesNotAFile

TextsByPath: TypeAlias = Mapping[Path, str | bytes] | Mapping[str, str | bytes]

_SIDE_BY_SIDE: Final = 8
_QUICK_SECONDS: Final = 100e-6
_NEW_FILE: Final = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_MOST_OPEN: Final = 64
"""So many temporary files are open at a time."""


def write_text(path: Path, text: str) -> None:
    """Replace the file's content. Raises ``BadInput`` if that can not be done."""
    write_texts({path: text})


def write_texts(texts: TextsByPath, *, new_mode: int | None = None) -> None:
    """Replace the content of several files; a text is written as UTF-8.

    No file is touched before the new contents of all are on the disk. A process that is killed
    between two files leaves an ``intent`` in the folder that all of them are in or below; the next
    one that writes there, or calls ``intent.settle``, finishes what was begun.

    Raises:
        BadInput: one of them can not be written; none was changed.
    """
    with replaced(texts, new_mode=new_mode):
        pass


@contextmanager
def replaced(texts: TextsByPath, *, new_mode: int | None = None) -> Iterator[None]:
    """Do the same before the block, and count it as finished after it.

    In the block the folders may be had on the disk, where one may arrive before the other.
    """
    if not texts:
        yield
        return
    whole = {_absolute(path): text for path, text in texts.items()}
    folders = {os.path.dirname(path) for path in whole}
    folder = os.path.commonpath(folders) if len(folders) > 1 else next(iter(folders))
    intent.settle(folder)
    with ExitStack() as lock:
        writing = _Writing(folder, len(whole) > 1, lock, new_mode)
        try:
            writing.prepare(whole)
            if len(folders) > 1:
                # The names in one folder get to the disk in the order in which they changed.
                sync_folders([Path(folder)])
            intent.carry_out(folder, writing.steps, writing.targets)
            writing.are_in_place = True
            yield
        except intent.Unfinished:
            # The next one needs everything that is there.
            raise
        except BaseException:
            writing.clear()
            raise
        else:
            writing.clear()


def _absolute(path: Path | str) -> str:
    """The whole path as it was written, links and all."""
    text = str(path)
    return text if text.startswith("/") else os.path.join(os.getcwd(), text)


class _Writing:
    """New contents under temporary names, and the intent to put them in their places.

    ``are_several`` says that an intent is needed, because it is more than one file. The lock on it
    is held as long as ``lock`` is not closed.
    """

    def __init__(
        self, folder: str, are_several: bool, lock: ExitStack, new_mode: int | None
    ) -> None:
        self.steps: list[ReplacedFile] = []
        self.targets: list[str] = []
        """What the steps replace, behind all links."""
        self.are_in_place = False
        """Whether all new contents have got their names."""
        self._folder = folder
        self._are_several = are_several
        self._lock = lock
        self._new_mode = new_mode
        self._temporary: list[str] = []
        self._new: set[str] = set()
        """Temporary names that the new contents, and the intent, have until they are renamed."""

    def clear(self) -> None:
        """Remove the intent, then the names that nothing needs any more."""
        if self._are_several:
            intent.forget(self._folder)
        gone = self._new if self.are_in_place else ()
        for path in self._temporary:
            if path not in gone:
                with suppress(FileNotFoundError):
                    os.unlink(path)

    def prepare(self, texts: Mapping[str, str | bytes]) -> None:
        """Have all new contents on the disk, and the intent. Raises ``BadInput``."""
        waiting = [*texts.items()]
        for first in range(0, len(waiting), _MOST_OPEN):
            with ExitStack() as opened:
                batch = waiting[first : first + _MOST_OPEN]
                written = [(path, self._write(path, text, opened)) for path, text in batch]
                if self._are_several and first + _MOST_OPEN >= len(waiting):
                    written.append(self._write_intent())
                _sync(written)
        if self._are_several:
            with refusing(self._folder):
                self._publish_intent()

    def _publish_intent(self) -> None:
        os.replace(self._temporary[-1], f"{self._folder}/{intent.NAME}")

    def _write(self, path: str, text: str | bytes, opened: ExitStack) -> int:
        """A descriptor of a temporary file with the text in it, not yet on the disk."""
        with refusing(path):
            target, mode = _target_and_mode(path)
            place, _, base = target.rpartition("/")
            descriptor, new = self._create(place, intent.prefix(base))
            opened.callback(os.close, descriptor)
            mode = self._new_mode if mode is None else mode
            _fill(descriptor, text.encode() if isinstance(text, str) else text, mode)
            kept, before = intent.keep(target, self._temporary) if self._are_several else ("", ())
            name = path[len(self._folder) :].lstrip("/")
            after = intent.identity_of(os.fstat(descriptor))
            new_name = new[len(place) + 1 :]
            step = ReplacedFile(name=name, new=new_name, after=after, kept=kept, before=before)
            self.steps.append(step)
            self.targets.append(target)
            return descriptor

    def _write_intent(self) -> tuple[str, int]:
        """The intent under a temporary name, locked, not yet on the disk."""
        path = f"{self._folder}/{intent.NAME}"
        with refusing(path):
            descriptor, _ = self._create(self._folder, intent.prefix(intent.NAME))
            self._lock.callback(os.close, descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            _fill(descriptor, intent.encode(self.steps))
        return path, descriptor

    def _create(self, folder: str, prefix: str) -> tuple[int, str]:
        while True:
            name = f"{folder}/{prefix}{intent.random_end()}"
            try:
                descriptor = os.open(name, _NEW_FILE, 0o600)
            except FileExistsError:
                continue
            self._temporary.append(name)
            self._new.add(name)
            return descriptor, name


def left_behind(path: Path) -> list[Path]:
    """What is left of writes of this file that were killed, as long as no process writes it."""
    names = re.compile(re.escape(intent.prefix(path.name)) + intent.RANDOM)
    return [each for each in path.parent.glob(".*") if names.fullmatch(each.name)]


def sweep(folder: Path, names: Iterable[str]) -> None:
    """Finish what was being written in a folder that no other process writes, and remove leftovers.

    ``names`` are the files that are written there. Raises ``BadInput`` as ``intent.settle`` does.
    """
    intent.settle(folder)
    for name in (*names, intent.NAME):
        for path in left_behind(folder / name):
            with suppress(OSError):
                path.unlink()


def sync_folders(folders: Iterable[Path], written: Sequence[tuple[Path, int]] = ()) -> None:
    """Have the names in these folders on the disk, so that they outlive a loss of power.

    So too what was ``written`` to open files, which are given with their descriptors. Raises
    ``BadInput`` if that can not be done.
    """
    opened = [*written]
    try:
        for folder in folders:
            with refusing(folder):
                flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
                opened.append((folder, os.open(folder, flags)))
        _sync(opened)
    finally:
        for _, descriptor in opened[len(written) :]:
            os.close(descriptor)


def _sync(opened: Sequence[tuple[Path | str, int]]) -> None:
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
        # No thread may close a file that another still waits for.
        errors = [error for each in others if (error := each.exception()) is not None]
    if errors:
        raise errors[0]
    _latest.is_quick = time.monotonic() - began < _QUICK_SECONDS * len(shares[0])


def _sync_share(share: Sequence[tuple[Path | str, int]]) -> None:
    for path, descriptor in share:
        with refusing(path):
            _sync_one(descriptor)


def _sync_one(descriptor: int) -> None:
    os.fsync(descriptor)


@dataclass(slots=True)
class _Latest:
    """What waiting for the disk was like the last time; only how it is done hangs on it.

    ``may_share_out`` says whether there may be threads at all. A process that waits for signals, as
    a command in the foreground does, has none: a signal may be given to any thread.
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


def _fill(descriptor: int, content: bytes, mode: int | None = None) -> None:
    """Write a new file, which may have the mode of the one that it replaces."""
    if mode is not None:
        os.fchmod(descriptor, mode)
    left = memoryview(content)
    while left:
        left = left[os.write(descriptor, left) :]


def _target_and_mode(path: str) -> tuple[str, int | None]:
    """What is to be replaced, behind all links, and its mode; None without a file there."""
    target = path
    try:
        mode = os.lstat(target).st_mode
        if stat.S_ISLNK(mode):
            target = os.path.realpath(target)
            mode = os.stat(target).st_mode
    except FileNotFoundError:
        return target, None
    if not stat.S_ISREG(mode):
        raise BadInput([FilesNotAFile(path=path, where=Location(path))])
    return target, stat.S_IMODE(mode)
