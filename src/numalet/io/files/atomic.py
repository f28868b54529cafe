"""Files written whole or not at all: temporary files beside them, fsync, rename.

A reader, or a crash at any moment, sees the old content or the new one; of several files that are
written together the next reader of their folder sees all old or all new (``intent``). A temporary
file has a leading dot. A new file has mode 0600, as the kubelet's checkpoints have, unless another
is asked for; an existing one keeps its mode. A link is followed, so that what it points to is
replaced and the link stays.
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
    if len(texts) > 1:
        with _Writing(texts, new_mode):
            # They are replaced now, and there is nothing to wait for.
            return
    for path, text in texts.items():
        _write_alone(_absolute(path), text, new_mode)


@contextmanager
def replaced(texts: TextsByPath, *, new_mode: int | None = None) -> Iterator[None]:
    """Do the same before the block, and count it as finished after it.

    In the block the folders may be had on the disk, where one may arrive before the other.
    """
    if len(texts) > 1:
        with _Writing(texts, new_mode):
            yield
    else:
        write_texts(texts, new_mode=new_mode)
        yield


def _absolute(path: Path | str) -> str:
    """The whole path as it was written, links and all."""
    text = str(path)
    return text if text.startswith("/") else os.path.join(os.getcwd(), text)


def _write_alone(path: str, text: str | bytes, new_mode: int | None) -> None:
    """Replace one file, which needs no intent: it has been renamed, or has not.

    An agent does this at most decisions, so nothing is here but what one file needs.
    """
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
    """Several files that are replaced together: in the block they are, and the intent is there.

    The intent is there, and locked, from before the first file is touched. As long as nothing is in
    it, nothing has been replaced.
    """

    def __init__(self, texts: TextsByPath, new_mode: int | None) -> None:
        self._texts = {_absolute(path): text for path, text in texts.items()}
        self._new_mode = new_mode
        folders = {path.rpartition("/")[0] for path in self._texts}
        self._folder = _folder_above(folders)
        self._is_one_folder = len(folders) == 1
        self._end_of_new = temporary.likely_end()
        self._end_of_kept = f"k{self._end_of_new[1:]}"
        """Another one, as these ends have no such letter."""
        self._last = next(reversed(self._texts))
        """The one that is replaced last."""
        self._steps: list[ReplacedFile] = []
        self._targets: list[str] = []
        """What the steps replace, behind all links."""
        self._new: list[str] = []
        """Temporary names that the new contents have until they are renamed."""
        self._kept: list[str] = []
        """Further names of what is replaced."""
        self._lock: int | None = None
        """The descriptor of the intent."""
        self._at = next(iter(self._texts))
        """What is being worked on, and is complained of if that fails."""

    def __enter__(self) -> None:
        try:
            self._lock = intent.begin(self._folder)
            self._prepare()
            self._rename()
        except intent.Unfinished:
            # The next one needs everything that is there.
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
        """Remove the intent, then the names that nothing needs any more."""
        if self._lock is None:
            # Whatever intent there is, it is another one's.
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
        """Have all new contents on the disk, and in the intent what is about to be done."""
        waiting = [*self._texts.items()]
        while waiting:
            batch, waiting = waiting[:_MOST_OPEN], waiting[_MOST_OPEN:]
            opened: list[tuple[str, int]] = []
            try:
                for self._at, text in batch:
                    self._write(self._at, text, opened)
                _sync(opened if waiting else [*opened, self._write_intent()])
            finally:
                temporary.close(opened)

    def _write(self, path: str, text: str | bytes, opened: list[tuple[str, int]]) -> None:
        """Keep what is there, and write a temporary file, which is ``opened`` then."""
        target, there = temporary.target(path)
        folder, _, name = target.rpartition("/")
        start = f"{folder}/{temporary.prefix(name)}"
        first = len(folder) + 1
        mode, kept = self._new_mode, ""
        before: tuple[FileIdentity, ...] = ()
        if there is not None:
            mode = stat.S_IMODE(there.st_mode)
            before = (intent.identity_of(there),)
            # Once the last one is replaced all are, and nothing is brought back.
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
        """The intent, written, but not yet on the disk."""
        assert self._lock is not None, "it was begun"
        self._at = f"{self._folder}/{intent.NAME}"
        temporary.fill(self._lock, intent.encode(self._steps))
        return self._at, self._lock

    def _rename(self) -> None:
        """Put all new contents in their places, or none."""
        if not self._is_one_folder:
            # The names in one folder get to the disk in the order in which they changed.
            self._at = self._folder or "/"
            _sync_folder(self._folder)
        intent.carry_out(self._folder, self._steps, zip(self._new, self._targets, strict=True))


def _folder_above(folders: Iterable[str]) -> str:
    """The folder that all of these are in or below, which mostly is one of them."""
    shortest = min(folders, key=len)
    start = f"{shortest}/"
    for each in folders:
        if each != shortest and not each.startswith(start):
            return os.path.commonpath(folders)
    return shortest


def left_behind(path: Path) -> list[Path]:
    """What is left of writes of this file that were killed, as long as no process writes it."""
    names = re.compile(re.escape(temporary.prefix(path.name)) + temporary.RANDOM)
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
        try:
            _sync_one(descriptor)
        except OSError as error:
            raise intent.refusal(path, error) from error


def _sync_one(descriptor: int) -> None:
    os.fsync(descriptor)


class _Latest(Mutable):
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
    # Only an agent has threads that write.
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(_SIDE_BY_SIDE - 1, "sync")


# A child that was forked has none of these threads.
os.register_at_fork(after_in_child=_threads.cache_clear)
