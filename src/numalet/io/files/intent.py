"""Changes several files together: the intent is a log of a write, for recovery after a crash.

Files are renamed one by one, so a crash or an error between two renames would leave a mixture.
Therefore a file in the folder, the *intent*, has the names of all files from before the first
rename until after the last. The next process that opens the folder completes the write, or else
undoes it; if another program has changed one of the files since, nothing is touched.

A writer creates an empty intent, locks it, writes the new contents, fills the intent, renames the
files and removes it. Writers of one folder therefore wait for each other, and an incomplete intent
has no effect. It has names and identities of files but no content. Paths are plain texts, because
path objects would dominate the time of a write.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import shutil
import stat
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from numalet.core.model import input_error
from numalet.core.model.findings import BadInput, Location
from numalet.io import os_problem
from numalet.io.files import temporary

NAME: Final = ".numalet-unfinished-write"
_LARGEST_BYTES: Final = 1 << 20
_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH


class FileIdentity(msgspec.Struct, frozen=True, array_like=True):
    """Properties that a file keeps when it is renamed and that its successor does not share."""

    inode: int
    size_bytes: int
    modified_ns: int


class ReplacedFile(msgspec.Struct, frozen=True, kw_only=True):
    """One replaced file: ``name`` is relative to the folder, other names to the file's folder.

    ``new`` is the temporary name of the new content, ``after`` its identity. ``before`` are
    identities of the old file, empty if there was not one; ``kept`` is a hard link to it, empty if
    not needed.
    """

    name: str
    new: str
    after: FileIdentity
    kept: str = ""
    before: tuple[FileIdentity, ...] = ()

    def place(self, folder: str) -> str:
        """The path of the replaced file, with links resolved."""
        path = f"{folder}/{self.name}"
        return os.path.realpath(path) if os.path.islink(path) else path

    def is_done(self, folder: str) -> bool:
        """Whether the new content is in place."""
        return identity(self.place(folder)) == self.after

    def is_due(self, folder: str) -> bool:
        """Whether the old content is still in place."""
        there = identity(self.place(folder))
        return there in self.before if self.before else there is None


class Unfinished(BadInput):
    """Some files are new and others old, and the disk refuses changes in either direction."""


_DECODER: Final = msgspec.json.Decoder(tuple[ReplacedFile, ...])
_START: Final = b'[{"name":"'
"""The first bytes of every intent."""


def encode(steps: Sequence[ReplacedFile]) -> bytes:
    return msgspec.json.encode(steps)


def identity(path: str) -> FileIdentity | None:
    try:
        return identity_of(os.lstat(path))
    except FileNotFoundError:
        return None


def identity_of(status: os.stat_result) -> FileIdentity:
    return FileIdentity(status.st_ino, status.st_size, status.st_mtime_ns)


def begin(folder: str) -> int:
    """Create and lock an empty intent, and return its descriptor.

    An intent of a dead writer is completed first; a live writer is awaited. Raises ``OSError``, and
    ``BadInput`` like ``settle``.
    """
    path = f"{folder}/{NAME}"
    while True:
        try:
            descriptor = os.open(path, temporary.NEW_FILE, temporary.PRIVATE)
        except FileExistsError:
            _settle(folder, _remove_intent)
            continue
        is_locked = False
        try:
            is_locked = _is_locked(descriptor)
        except BaseException:
            if _is_at(path, descriptor):
                forget(folder)
            raise
        finally:
            if not is_locked:
                os.close(descriptor)
        if is_locked:
            return descriptor


def _is_locked(descriptor: int) -> bool:
    """Lock a new intent; False if another process has removed it as a leftover."""
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    # Between open and flock another writer could lock and remove it.
    return os.fstat(descriptor).st_nlink > 0


def keep(
    place: str, there: tuple[FileIdentity, ...], start: str, end: str, made: list[str]
) -> tuple[FileIdentity, ...]:
    """Give the old file another name, to restore it without disk space.

    Without support for hard links, the name is a copy. The name is ``start`` and ``end``, with a
    random end for a copy, and is appended to ``made``. Returns the identities of the old content:
    ``there``, and the copy's. Raises ``OSError``.
    """
    made.append(start + end)
    try:
        os.link(place, made[-1], follow_symlinks=False)
    except OSError:
        # copy2 follows a link at its target, so the name must not be predictable.
        made[-1] = start + temporary.random_end()
        shutil.copy2(place, made[-1])
        return (*there, identity_of(os.lstat(made[-1])))
    return there


def _beside(place: str, name: str) -> str:
    return f"{place.rpartition('/')[0]}/{name}"


def carry_out(
    folder: str, steps: Sequence[ReplacedFile], renames: Iterable[tuple[str, str]]
) -> None:
    """Rename all new files, or undo everything; ``renames`` are pairs of new file and place.

    Raises:
        BadInput: a rename failed; earlier ones were undone.
        Unfinished: undoing failed too; the next ``settle`` tries again.
    """
    place = folder
    try:
        for new, place in renames:
            replace(new, place)
    except BaseException as error:
        is_undone = undo(folder, steps)
        if not isinstance(error, OSError):
            raise
        if is_undone:
            raise refusal(place, error) from error


def replace(new: str, place: str) -> None:
    os.replace(new, place)


def undo(folder: str, steps: Sequence[ReplacedFile]) -> bool:
    """Restore the old files, unless all renames are done (False). Raises ``Unfinished``."""
    done = [step for step in steps if step.is_done(folder)]
    lost = [step for step in done if step.before and not step.kept]
    if lost and len(done) == len(steps):
        return False
    if lost:
        # The last file has no link but is done while another is not: the disk lost a rename.
        raise _unfinished(lost[0].place(folder), os.strerror(errno.ENOENT))
    for step in done:
        place = step.place(folder)
        try:
            _restore(place, step)
        except OSError as error:
            raise _unfinished(place, os_problem.text(error)) from None
    return True


def _unfinished(place: str, reason: str) -> Unfinished:
    return Unfinished(
        [
            input_error.Unwritable(
                f"cannot restore the former content of {place!r}: {reason}; the state files do "
                "not match each other until the next start finishes the write",
                where=Location(place),
            )
        ]
    )


def _restore(place: str, step: ReplacedFile) -> None:
    if step.kept:
        os.replace(_beside(place, step.kept), place)
    else:
        os.unlink(place)


def forget(folder: str) -> None:
    try:
        _remove_intent(folder)
    except OSError:
        # The next writer finds the write complete or undone, and removes the intent.
        return


def _remove_intent(folder: str) -> None:
    os.unlink(f"{folder}/{NAME}")


def _clear(folder: str, steps: Sequence[ReplacedFile]) -> None:
    for step in steps:
        place = step.place(folder)
        for name in (step.new, step.kept):
            if name:
                with suppress(OSError):
                    os.unlink(_beside(place, name))


def settle(folder: Path | str) -> None:
    """Complete or undo an interrupted write of several files in this folder.

    Waits for a live writer.

    Raises:
        BadInput: numalet did not write the intent.
        Unfinished: the disk refuses both.
    """
    try:
        # One system call in the usual case, without an intent.
        is_there = os.access(f"{folder}/{NAME}", os.F_OK)
    except ValueError:
        return
    if is_there:
        _settle(str(folder), forget)


def _settle(folder: str, remove: Callable[[str], None]) -> None:
    """Settle an existing intent; ``remove`` deletes it at the end."""
    path = f"{folder}/{NAME}"
    with refusing(path):
        descriptor = _opened(path)
    if descriptor is None:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if not _is_at(path, descriptor):
            # Its writer, or another waiter, has settled it.
            return
        steps = _steps(folder, descriptor)
        _finish(folder, steps)
        with refusing(path):
            remove(folder)
        _clear(folder, steps)
    finally:
        os.close(descriptor)


def _finish(folder: str, steps: Sequence[ReplacedFile]) -> None:
    if not all(step.is_done(folder) or step.is_due(folder) for step in steps):
        # Another program has written since; its content must not be lost.
        return
    due = [step for step in steps if not step.is_done(folder)]
    there = (identity(_beside(step.place(folder), step.new)) for step in due)
    # A temporary file is missing or changed, so the write cannot be completed.
    if not all(actual == step.after for actual, step in zip(there, due, strict=True)):
        undo(folder, steps)
        return
    places = [step.place(folder) for step in due]
    renames = [(_beside(at, step.new), at) for at, step in zip(places, due, strict=True)]
    try:
        carry_out(folder, steps, renames)
    except Unfinished:
        raise
    except BadInput:
        # The rollback succeeded; the folder is consistent.
        return


def _opened(path: str) -> int | None:
    try:
        return os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return None


def _is_at(path: str, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.lstat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _steps(folder: str, descriptor: int) -> Sequence[ReplacedFile]:
    """The steps of a trustworthy intent; empty for an incomplete one. Raises ``BadInput``."""
    # Nothing is replaced before the complete intent is on disk.
    status = os.fstat(descriptor)
    path = f"{folder}/{NAME}"
    is_own = status.st_uid == os.geteuid() and not status.st_mode & _OTHERS_WRITE
    if is_own and stat.S_ISREG(status.st_mode) and status.st_size <= _LARGEST_BYTES:
        # After a crash some file systems have the new size but zeros for the content.
        written = os.pread(descriptor, _LARGEST_BYTES, 0).rstrip(b"\0")
        if _is_cut_off(written):
            return ()
        with suppress(msgspec.DecodeError, UnicodeDecodeError):
            steps = _DECODER.decode(written)
            if all(_is_below(folder, step) for step in steps):
                return steps
    raise input_error.Forbidden(
        f"{path!r} lists files to be written, but numalet did not write it as this user; check "
        "its owner and remove it",
        where=Location(path),
    ).bad_input()


def _is_cut_off(written: bytes) -> bool:
    if not written:
        return True
    try:
        msgspec.json.decode(written)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _START.startswith(written[: len(_START)])
    return False


def _is_below(folder: str, step: ReplacedFile) -> bool:
    """Whether a step has a file of this folder and temporary names of that file."""
    # A forged intent must not make root rename files elsewhere.
    parts = Path(step.name).parts
    if not parts or Path(step.name).is_absolute() or ".." in parts:
        return False
    pattern = re.compile(
        re.escape(temporary.prefix(os.path.basename(step.place(folder)))) + temporary.RANDOM
    )
    names = [step.new, step.kept] if step.kept else [step.new]
    return all(pattern.fullmatch(name) for name in names)


class refusing:  # noqa: N801 - it reads as what it does
    """Turns an ``OSError`` in the block into a finding about this file.

    A class rather than a generator, which is slower: an agent uses several at every decision.
    """

    __slots__ = ("_path",)

    def __init__(self, path: Path | str) -> None:
        self._path = path

    def __enter__(self) -> None:
        return

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: object
    ) -> None:
        if isinstance(error, OSError | ValueError):
            raise refusal(self._path, error) from error


def refusal(path: Path | str, error: OSError | ValueError) -> BadInput:
    text = str(path)
    reason = getattr(error, "strerror", None) or str(error)
    return input_error.Unwritable(
        f"cannot write {text!r}: {reason}; nothing was changed", where=Location(text)
    ).bad_input()
