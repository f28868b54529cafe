"""The archive that a kernel unpacks before it searches for a root: cpio, format ``newc``.

The kernel accepts several consecutive archives as one. Format: the kernel's
``Documentation/driver-api/early-userspace/buffer-format.rst``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from numalet.core.model.value import Value

_FOLDER: Final = 0o040755
_FILE: Final = 0o100644
_PROGRAM: Final = 0o100755
_TRAILER: Final = "TRAILER!!!"


class CpioEntry(Value):
    """One folder, file or program; ``name`` without a leading slash."""

    name: str
    data: bytes
    mode: int


def folder(name: str) -> CpioEntry:
    return CpioEntry(name, b"", _FOLDER)


def file(name: str, data: bytes) -> CpioEntry:
    return CpioEntry(name, data, _FILE)


def program(name: str, data: bytes) -> CpioEntry:
    return CpioEntry(name, data, _PROGRAM)


def archive(entries: Iterable[CpioEntry]) -> bytes:
    """Return the archive; everything belongs to root and has no date."""
    packed = bytearray()
    for number, entry in enumerate([*entries, CpioEntry(_TRAILER, b"", 0)], start=1):
        name = entry.name.encode() + b"\0"
        links = 1
        # inode, mode, uid, gid, links, date, size, four device numbers, length of name, check
        fields = (number, entry.mode, 0, 0, links, 0, len(entry.data), 0, 0, 0, 0, len(name), 0)
        packed += b"070701" + b"".join(b"%08X" % field for field in fields)
        packed += _padded(name, len(packed))
        packed += _padded(entry.data, len(packed))
    return bytes(packed)


def _padded(data: bytes, place: int) -> bytes:
    return data + b"\0" * (-(place + len(data)) % 4)
