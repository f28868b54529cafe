"""Temporary files, in which new contents are written before they are renamed into their places.

Their names are registered by what makes them, so that none is forgotten if that fails.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable
from typing import Final

from numalet.core.model.findings import BadInput, Location
from numalet.io.findings.files import FilesNotAFile

NEW_FILE: Final = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
"""The flags with which a file is opened that must not be there yet."""
PRIVATE: Final = 0o600
"""The mode with which it is made; a umask that takes something from it takes the owner's access."""

RANDOM: Final = "[a-z0-9_]{8}"
"""How their names end; earlier versions took them from ``tempfile``."""


def prefix(name: str) -> str:
    """How the names of temporary files of a file begin; names have an end."""
    return f".{name[:100]}."


def likely_end() -> str:
    """An end of a name that no other temporary file has, unless it was chosen on purpose."""
    return f"{time.monotonic_ns() & 0xFFFFFFFF:08x}"


def random_end() -> str:
    """An end of a name that no other temporary file is likely to have."""
    return os.urandom(4).hex()


def target(path: str) -> tuple[str, os.stat_result | None]:
    """What is to be replaced, behind all links, and its status; None without a file there.

    Raises ``OSError``, and ``BadInput`` if it is no file.
    """
    place = path
    try:
        there = os.lstat(place)
        if stat.S_ISLNK(there.st_mode):
            place = os.path.realpath(place)
            there = os.stat(place)
    except FileNotFoundError:
        return place, None
    if not stat.S_ISREG(there.st_mode):
        raise BadInput([FilesNotAFile(path=path, where=Location(path))])
    return place, there


def create(start: str, end: str, made: list[str]) -> int:
    """The descriptor of a new file, whose name is the last of those that were ``made`` then.

    The name has this ``start``, and this ``end`` if that is free. Raises ``OSError``.
    """
    while True:
        name = start + end
        try:
            descriptor = os.open(name, NEW_FILE, PRIVATE)
        except FileExistsError:
            end = random_end()
            continue
        made.append(name)
        return descriptor


def fill(descriptor: int, text: str | bytes, mode: int | None = None) -> None:
    """Write a file that ``create`` made, and give it the mode of the one that it replaces.

    Raises ``OSError``, and ``ValueError`` for a text that has no bytes.
    """
    if mode is not None and mode != PRIVATE:
        os.fchmod(descriptor, mode)
    left = text.encode() if isinstance(text, str) else text
    while left:
        left = left[os.write(descriptor, left) :]


def close(opened: Iterable[tuple[str, int]]) -> None:
    """Close all these files, which are given with what they are for."""
    for _, descriptor in opened:
        try:
            os.close(descriptor)
        except OSError:
            # What was written is on the disk, or is given up; the descriptor is gone either way.
            continue


def remove(made: Iterable[str]) -> None:
    """Remove these names, as far as they are there and the disk lets them be removed."""
    for path in made:
        try:
            os.unlink(path)
        except OSError:
            # One that stays is swept away when the folder is opened next.
            continue
