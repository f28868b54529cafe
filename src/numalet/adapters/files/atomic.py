"""Files written whole or not at all: temporary files beside them, fsync, rename.

A reader, or a crash at any moment, sees the old content or the new one. A temporary file has a
leading dot. A new file has mode 0600, as the kubelet's checkpoints have; an existing one keeps
its mode. A link is followed, so that what it points to is replaced and the link stays.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from numalet.adapters import faults
from numalet.model.findings import BadInput, Finding, Location

_MANY: Final = 4
_SIDE_BY_SIDE: Final = 16


def write_text(path: Path, text: str) -> None:
    """Replace the file's content. Raises ``BadInput`` if that can not be done."""
    write_texts({path: text})


def write_texts(texts: Mapping[Path, str]) -> None:
    """Replace the content of several files.

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


def _prepare(texts: Mapping[Path, str], prepared: list[tuple[str, str]]) -> None:
    """Have all new contents on the disk; ``prepared`` gets those that are, come what may.

    Many files are written side by side, because the disk takes them in one go then.
    """
    if len(texts) < _MANY:
        # Not a list's extend: what was done before one fails must be known.
        for item in texts.items():
            prepared.append(_one(item))  # noqa: PERF401
        return
    with ThreadPoolExecutor(_SIDE_BY_SIDE) as pool:
        writing = [pool.submit(_one, item) for item in texts.items()]
    errors = []
    for each in writing:
        error = each.exception()
        if error is None:
            prepared.append(each.result())
        else:
            errors.append(error)
    if errors:
        raise errors[0]


def _one(item: tuple[Path, str]) -> tuple[str, str]:
    path, text = item
    with _refusing(path):
        target = os.path.realpath(path)
        return _prepared(target, path, text), target


@contextmanager
def _refusing(path: Path | str) -> Iterator[None]:
    """Turns an error of the operating system into a finding about this file."""
    try:
        yield
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        fields = {"path": str(path), "error": reason}
        raise BadInput([Finding("files/unwritable", fields, Location(str(path)))]) from None


def _prepared(target: str, path: Path, text: str) -> str:
    """A temporary file beside the target that holds the text, and is on the disk."""
    mode = _mode(path)
    folder, name = os.path.split(target)
    # mkstemp makes the file with mode 0600 whatever the umask says.
    with faults.point("file.create"):
        descriptor, temporary = tempfile.mkstemp(prefix=f".{name[:100]}.", dir=folder)
    try:
        with os.fdopen(descriptor, "wb") as file, faults.point("file.write"):
            if mode is not None:
                os.fchmod(descriptor, mode)
            file.write(text.encode())
            file.flush()
            os.fsync(descriptor)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return temporary


def _mode(path: Path) -> int | None:
    """The mode of the file that is there; None without one."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(mode):
        raise BadInput([Finding("files/not-a-file", {"path": str(path)}, Location(str(path)))])
    return stat.S_IMODE(mode)
