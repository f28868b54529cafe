"""Compressed files and tarballs, read in one pass and within limits; nothing is written to disk."""

from __future__ import annotations

import bz2
import gzip
import lzma
import tarfile
import zlib
from typing import IO, Final, Self, cast

LARGEST_HEADER_BYTES: Final = 1 << 20
BROKEN: Final = (EOFError, OSError, tarfile.TarError, zlib.error, lzma.LZMAError, ValueError)
"""What reading a damaged one raises."""


class LimitPassedError(Exception):
    """A limit was passed; carries the fields of the finding."""

    def __init__(self, what: str, limit: int) -> None:
        self.what = what
        self.limit = limit
        super().__init__(what)


class Meter:
    """A stream that counts what went through it and stops at a limit.

    The limit moves on with the members, so that a header can not be a bomb either.
    """

    def __init__(self, inner: IO[bytes], most_bytes: int) -> None:
        self._inner = inner
        self._most_bytes = most_bytes
        self._read = 0
        self._header_limit = LARGEST_HEADER_BYTES

    def expect_header_at(self, offset: int) -> None:
        """Let what stands before the next header pass, and the header."""
        self._header_limit = offset + LARGEST_HEADER_BYTES

    def read(self, size: int = -1, /) -> bytes:
        """The next bytes."""
        content = self._inner.read(size)
        self._read += len(content)
        if self._read > self._most_bytes:
            raise LimitPassedError("unpacked bytes", self._most_bytes)
        if self._read > self._header_limit:
            raise LimitPassedError("bytes in a header", LARGEST_HEADER_BYTES)
        return content


class StrictTarInfo(tarfile.TarInfo):
    """A header that ends the archive only where the archive says so.

    Python's own reader mistakes a damaged header in the middle for the end of the archive.
    """

    @classmethod
    def fromtarfile(cls, archive: tarfile.TarFile, /) -> Self:
        """The next header."""
        try:
            return super().fromtarfile(archive)
        except tarfile.HeaderError as error:
            if type(error).__name__ == "EOFHeaderError":
                raise
            raise tarfile.ReadError(str(error)) from error


def first_line(error: Exception) -> str:
    """A library's error, short enough for one line."""
    text = str(error).strip().splitlines() or [type(error).__name__]
    return text[0][:200]


def unpacked(raw: IO[bytes], head: bytes) -> IO[bytes]:
    """The decompressed stream; its first bytes, ``head``, show the kind of compression."""
    if head.startswith(b"\x1f\x8b"):
        return cast("IO[bytes]", gzip.GzipFile(fileobj=raw, mode="rb"))
    if head.startswith(b"BZh"):
        return bz2.BZ2File(raw)
    if head.startswith(b"\xfd7zXZ\x00"):
        return lzma.LZMAFile(raw)
    return raw
