"""Temporary files for new contents, which are then renamed into place.

``create`` registers each name, so that it is removed if a later step fails.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable
from typing import Final

from numalet.core.model import input_error
from numalet.core.model.findings import Location

NEW_FILE: Final = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
"""Flags to create a file that must not exist."""
PRIVATE: Final = 0o600
"""The mode of new files. Every umask keeps it, except one that would lock the owner out."""

RANDOM: Final = "[a-z0-9_]{8}"
"""The last part of the names; earlier versions took it from ``tempfile``."""


def prefix(name: str) -> str:
    """The first part of the names, cut because file systems limit names to 255 bytes."""
    return f".{name[:100]}."


def likely_end() -> str:
    """An ending that is unused unless another process chose it on purpose."""
    return f"{time.monotonic_ns() & 0xFFFFFFFF:08x}"


def random_end() -> str:
    return os.urandom(4).hex()


def target(path: str) -> tuple[str, os.stat_result | None]:
    """The file behind all links. Raises ``OSError``, or ``BadInput`` if it is not a file."""
    place = path
    try:
        there = os.lstat(place)
        if stat.S_ISLNK(there.st_mode):
            # A rename onto a link would replace the link and leave its target unchanged.
            place = os.path.realpath(place)
            there = os.stat(place)
    except FileNotFoundError:
        return place, None
    if not stat.S_ISREG(there.st_mode):
        raise input_error.Invalid(
            f"cannot replace {path!r}, which is not a regular file; name a file",
            where=Location(path),
        ).bad_input()
    return place, there


def create(start: str, end: str, made: list[str]) -> int:
    """Create a file and return its descriptor; the name is appended to ``made``.

    The name is ``start`` and ``end``, with a random end if that exists. Raises ``OSError``.
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
    """Raises ``OSError``, and ``ValueError`` for a text that cannot be encoded."""
    # After creation, because the umask would cut the mode that ``open`` gets.
    if mode is not None and mode != PRIVATE:
        os.fchmod(descriptor, mode)
    left = text.encode() if isinstance(text, str) else text
    while left:
        left = left[os.write(descriptor, left) :]


def close(opened: Iterable[tuple[str, int]]) -> None:
    for _, descriptor in opened:
        try:
            os.close(descriptor)
        except OSError:
            # The data are synced or abandoned, and the descriptor is closed even after an error
            # (Linux).
            continue


def remove(made: Iterable[str]) -> None:
    for path in made:
        try:
            os.unlink(path)
        except OSError:
            # A leftover is removed when the folder is next opened.
            continue
