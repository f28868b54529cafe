"""Reads compressed files and tarballs in one pass and within limits, without writing to disk."""

from __future__ import annotations

import bz2
import gzip
import lzma
import sys
import tarfile
import zlib
from collections.abc import Callable, Iterator
from io import BufferedReader
from typing import IO, Any, Final, Self, cast

LARGEST_HEADER_BYTES: Final = 1 << 20
ALWAYS_UNPACKED_BYTES: Final = 64 << 20
"""A file that unpacks to less is harmless, whatever its ratio."""
_BROKEN: Final = (EOFError, OSError, zlib.error, lzma.LZMAError, ValueError)
_FORMS: Final[dict[bytes, Callable[[Any], Any]]] = {
    b"\x1f\x8b": lambda raw: gzip.GzipFile(fileobj=raw, mode="rb"),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\x00": lzma.LZMAFile,
}
_TAR_AT: Final = 257
_TAR: Final = b"ustar"
_BLOCK: Final = 512


class LimitPassedError(Exception):
    def __init__(self, what: str, limit: int) -> None:
        self.what = what
        self.limit = limit
        super().__init__(what)


class Meter:
    """A stream that counts its bytes and stops at a limit.

    A second limit moves along with the members of a tarball, because a header can be a bomb, too.
    """

    def __init__(self, inner: Any, most_bytes: int = sys.maxsize) -> None:
        self.most_bytes = most_bytes
        self.count = 0
        self._inner = inner
        self._header_limit = sys.maxsize
        self._head = b""

    def is_tarball(self) -> bool:
        """Whether a tarball begins here."""
        # A compressed stream cannot seek back, so ``read`` returns this block again.
        while len(self._head) < _BLOCK and (part := self._read(_BLOCK - len(self._head))):
            self._head += part
        return self._head.startswith(_TAR, _TAR_AT)

    def expect_header_at(self, offset: int) -> None:
        """Allow bytes up to the header at this offset."""
        self._header_limit = offset + LARGEST_HEADER_BYTES

    def read(self, size: int = -1, /) -> bytes:
        """The next bytes. Raises ``tarfile.ReadError`` if they are damaged."""
        if not self._head:
            return self._read(size)
        part, self._head = self._head[:size], self._head[size:]
        return part

    def _read(self, size: int) -> bytes:
        content: bytes = self._inner.read(size)
        self.count += len(content)
        if self.count > self.most_bytes:
            raise LimitPassedError("unpacked bytes", self.most_bytes)
        if self.count > self._header_limit:
            raise LimitPassedError("bytes in a header", LARGEST_HEADER_BYTES)
        return content


class _Unpacked:
    def __init__(self, packed: Meter, form: Callable[[Any], Any], most_times: int) -> None:
        self._packed = packed
        self._plain = form(packed)
        self._most_times = most_times
        self._count = 0

    def read(self, size: int = -1, /) -> bytes:
        try:
            content: bytes = self._plain.read(size)
        except _BROKEN as error:
            raise tarfile.ReadError(first_line(error)) from error
        self._count += len(content)
        if self._count > ALWAYS_UNPACKED_BYTES + self._most_times * self._packed.count:
            raise LimitPassedError("times its size", self._most_times)
        return content


class _StrictTarInfo(tarfile.TarInfo):
    @classmethod
    def fromtarfile(cls, archive: tarfile.TarFile, /) -> Self:
        try:
            return super().fromtarfile(archive)
        except tarfile.HeaderError as error:
            # Python's own reader mistakes a damaged header in the middle for the end.
            if type(error).__name__ == "EOFHeaderError":
                raise
            raise tarfile.ReadError(str(error)) from error


def unpacked(raw: BufferedReader, most_bytes: int, most_times: int = sys.maxsize) -> Meter:
    """The decompressed stream; an uncompressed stream has no limit."""
    head = raw.peek(6)
    form = next((form for magic, form in _FORMS.items() if head.startswith(magic)), None)
    return (
        Meter(raw) if form is None else Meter(_Unpacked(Meter(raw), form, most_times), most_bytes)
    )


def members(
    stream: Meter, most_bytes: int, most_members: int, wants: Callable[[tarfile.TarInfo], bool]
) -> Iterator[tuple[tarfile.TarInfo, IO[bytes] | None]]:
    """Every member of a tarball, with its content if ``wants`` accepts it; links are not followed.

    Raises:
        LimitPassedError: it unpacks to too much.
        tarfile.TarError: it is damaged; reading a content may raise this too.
    """
    stream.most_bytes = most_bytes
    stream.expect_header_at(0)
    archive = tarfile.open(  # noqa: SIM115 - nothing to close: the stream is the caller's
        fileobj=cast("IO[bytes]", stream), mode="r|", tarinfo=_StrictTarInfo, errorlevel=2
    )
    count = 0
    while (member := archive.next()) is not None:
        stream.expect_header_at(archive.offset)
        count += 1
        if count > most_members:
            raise LimitPassedError("members", most_members)
        content = archive.extractfile(member) if wants(member) else None
        # tarfile keeps all headers, which would grow without bound.
        cast("Any", archive).members = []
        yield member, content
    # Read to the end, to detect a truncated archive.
    stream.expect_header_at(most_bytes)
    while stream.read(1 << 16):
        pass


def first_line(error: Exception) -> str:
    text = str(error).strip().splitlines() or [type(error).__name__]
    return text[0][:200]
