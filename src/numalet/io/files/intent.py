"""Several files that change together: what a write is about to do, for the recovery after a crash.

Files are renamed into their places one after the other, so a crash between two renames, or one
that fails, would leave files of different moments. Therefore the names of all are in one file of
the folder, the *intent*, from before the first rename until after the last. The next process that
opens the folder finishes what an intent says; where that is impossible it is undone; where another
program has written one of the files since, all are left as they are.

A writer makes an empty intent, locks it, writes the new contents, fills the intent, renames the
files and removes it. So writers of one folder wait for each other, and an intent that was not
written to its end stands for nothing. No content is in it, only names, and what identifies a file
among others of the same name. Paths are texts here: an agent writes at every decision, and objects
for them would take more time than all the rest.
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

from numalet.core.model.findings import BadInput, Location
from numalet.io import os_problem
from numalet.io.files import temporary
from numalet.io.findings.files import FilesForeignIntent, FilesUnfinished, FilesUnwritable

NAME: Final = ".numalet-unfinished-write"
_LARGEST_BYTES: Final = 1 << 20
_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH


class FileIdentity(msgspec.Struct, frozen=True, array_like=True):
    """What a file keeps when it gets another name, and a later one of its name does not have."""

    inode: int
    size_bytes: int
    modified_ns: int


class ReplacedFile(msgspec.Struct, frozen=True, kw_only=True):
    """One file that is replaced: ``name`` below the folder, the others beside what it stands for.

    ``new`` is the name of the new content until it is renamed, ``after`` its identity. ``before``
    are identities of what was there, none if nothing was; ``kept`` is a further name of that, empty
    if there was nothing or if it is not needed.
    """

    name: str
    new: str
    after: FileIdentity
    kept: str = ""
    before: tuple[FileIdentity, ...] = ()

    def place(self, folder: str) -> str:
        """What is replaced, behind all links."""
        path = f"{folder}/{self.name}"
        return os.path.realpath(path) if os.path.islink(path) else path

    def is_done(self, folder: str) -> bool:
        """Whether the new content is in its place."""
        return identity(self.place(folder)) == self.after

    def is_due(self, folder: str) -> bool:
        """Whether what was there before is still there."""
        there = identity(self.place(folder))
        return there in self.before if self.before else there is None


class Unfinished(BadInput):
    """Some files are new and others old, and the disk lets neither be changed."""


_DECODER: Final = msgspec.json.Decoder(tuple[ReplacedFile, ...])
_START: Final = b'[{"name":"'
"""How every intent begins."""


def encode(steps: Sequence[ReplacedFile]) -> bytes:
    """The content of an intent."""
    return msgspec.json.encode(steps)


def identity(path: str) -> FileIdentity | None:
    """The identity of what is there; None if nothing is."""
    try:
        return identity_of(os.lstat(path))
    except FileNotFoundError:
        return None


def identity_of(status: os.stat_result) -> FileIdentity:
    """The identity of the file with this status."""
    return FileIdentity(status.st_ino, status.st_size, status.st_mtime_ns)


def begin(folder: str) -> int:
    """The descriptor of a new intent, locked and with nothing in it: nothing is replaced yet.

    What another writer left is finished before; one that lives is waited for. Raises ``OSError``,
    and ``BadInput`` as ``settle`` does.
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
    """Lock a new intent. False if another one, who was quicker, took it for left behind."""
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    return os.fstat(descriptor).st_nlink > 0


def keep(
    place: str, there: tuple[FileIdentity, ...], start: str, end: str, made: list[str]
) -> tuple[FileIdentity, ...]:
    """Give what is there a further name, from which it can be brought back without any room.

    Where names can not be added, a copy has one. The name has this ``start``, and this ``end`` if
    that is free; it is the last of those that were ``made`` then. Returns the identities that it
    stands for: ``there``, and that of the copy. Raises ``OSError``.
    """
    made.append(start + end)
    try:
        os.link(place, made[-1], follow_symlinks=False)
    except OSError:
        # A copy is written through what is at its name, which nothing must have foreseen.
        made[-1] = start + temporary.random_end()
        shutil.copy2(place, made[-1])
        return (*there, identity_of(os.lstat(made[-1])))
    return there


def _beside(place: str, name: str) -> str:
    return f"{place.rpartition('/')[0]}/{name}"


def carry_out(
    folder: str, steps: Sequence[ReplacedFile], renames: Iterable[tuple[str, str]]
) -> None:
    """Have every step done, or none: these are the new files to be renamed, and their places.

    Raises:
        BadInput: one can not be renamed; those before it were undone.
        Unfinished: neither could be done; the next call of ``settle`` tries again.
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
    """Give the file at ``new`` the name of the one at ``place``, which is gone then."""
    os.replace(new, place)


def undo(folder: str, steps: Sequence[ReplacedFile]) -> bool:
    """Bring back what was there. False if all is done, and the last is not kept.

    Raises ``Unfinished`` if the disk does not let it be done.
    """
    done = [step for step in steps if step.is_done(folder)]
    lost = [step for step in done if step.before and not step.kept]
    if lost and len(done) == len(steps):
        return False
    if lost:
        # The last one was replaced before another one: the disk lost a rename.
        raise _unfinished(lost[0].place(folder), os.strerror(errno.ENOENT))
    for step in done:
        place = step.place(folder)
        try:
            _restore(place, step)
        except OSError as error:
            raise _unfinished(place, os_problem.text(error)) from None
    return True


def _unfinished(place: str, reason: str) -> Unfinished:
    return Unfinished([FilesUnfinished(path=place, error=reason, where=Location(place))])


def _restore(place: str, step: ReplacedFile) -> None:
    if step.kept:
        os.replace(_beside(place, step.kept), place)
    else:
        os.unlink(place)


def forget(folder: str) -> None:
    """Remove the intent: all is done, or undone."""
    try:
        _remove_intent(folder)
    except OSError:
        # The next one finds that all of it is done, or that nothing is, and removes it.
        return


def _remove_intent(folder: str) -> None:
    os.unlink(f"{folder}/{NAME}")


def _clear(folder: str, steps: Sequence[ReplacedFile]) -> None:
    """Remove the temporary names of these steps."""
    for step in steps:
        place = step.place(folder)
        for name in (step.new, step.kept):
            if name:
                with suppress(OSError):
                    os.unlink(_beside(place, name))


def settle(folder: Path | str) -> None:
    """Finish, or undo, what a write of several files in this folder left when it was killed.

    Waits for a writer that lives.

    Raises:
        BadInput: there is an intent that numalet did not write.
        Unfinished: the disk lets it neither be finished nor undone.
    """
    try:
        # The only call where there is none, which is nearly always.
        is_there = os.access(f"{folder}/{NAME}", os.F_OK)
    except ValueError:
        return
    if is_there:
        _settle(str(folder), forget)


def _settle(folder: str, remove: Callable[[str], None]) -> None:
    """Do the same where there is one, which is removed like this in the end."""
    path = f"{folder}/{NAME}"
    with refusing(path):
        descriptor = _opened(path)
    if descriptor is None:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if not _is_at(path, descriptor):
            # Its writer, or another one who waited, has seen to it.
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
        # Another program has written since, and knows better.
        return
    due = [step for step in steps if not step.is_done(folder)]
    there = (identity(_beside(step.place(folder), step.new)) for step in due)
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
        # Then all is as it was before, which will do.
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
    """What an intent says, if it can be believed; nothing if it was not written to its end.

    Nothing is replaced before the whole of it is on the disk. Raises ``BadInput``.
    """
    status = os.fstat(descriptor)
    path = f"{folder}/{NAME}"
    is_own = status.st_uid == os.geteuid() and not status.st_mode & _OTHERS_WRITE
    if is_own and stat.S_ISREG(status.st_mode) and status.st_size <= _LARGEST_BYTES:
        # A file system may have the size on the disk already, and zeros for the content.
        written = os.pread(descriptor, _LARGEST_BYTES, 0).rstrip(b"\0")
        if _is_cut_off(written):
            return ()
        with suppress(msgspec.DecodeError, UnicodeDecodeError):
            steps = _DECODER.decode(written)
            if all(_is_below(folder, step) for step in steps):
                return steps
    raise BadInput([FilesForeignIntent(path=path, where=Location(path))])


def _is_cut_off(written: bytes) -> bool:
    if not written:
        return True
    try:
        msgspec.json.decode(written)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _START.startswith(written[: len(_START)])
    return False


def _is_below(folder: str, step: ReplacedFile) -> bool:
    """Whether a step is about a file of this folder and temporary names of that file."""
    parts = Path(step.name).parts
    if not parts or Path(step.name).is_absolute() or ".." in parts:
        return False
    pattern = re.compile(
        re.escape(temporary.prefix(os.path.basename(step.place(folder)))) + temporary.RANDOM
    )
    names = [step.new, step.kept] if step.kept else [step.new]
    return all(pattern.fullmatch(name) for name in names)


class refusing:  # noqa: N801 - it reads as what it does
    """Turns an error of the operating system in its block into a finding about this file.

    A class, since an agent passes several of them at every decision.
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
    """An error of the operating system as a finding about this file."""
    text = str(path)
    reason = getattr(error, "strerror", None) or str(error)
    return BadInput([FilesUnwritable(path=text, error=reason, where=Location(text))])
