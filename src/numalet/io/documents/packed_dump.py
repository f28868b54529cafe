"""The files of a dump: a plain file, a compressed one, or those of a tarball, each as a stream.

A ``must-gather.tar.gz`` and a ``dump.json.gz`` are recognised by their bytes and not by their
names. They are unpacked piece by piece, and no further than a limit.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from io import BufferedReader
from typing import IO, Any, Final, cast

from numalet.core.model.findings import BadInput, Location
from numalet.io.findings.clusters import ClusterDumpDamaged, ClusterDumpUnpacksTooLarge
from numalet.io.packed import BROKEN, LimitPassedError, Meter, StrictTarInfo, first_line, unpacked

SUFFIXES: Final = (".json", ".yaml", ".yml")
"""Files of a folder or tarball that are read; others are passed over."""
MOST_UNPACKED_BYTES: Final = 4 << 30
"""150,000 pods, which is what Kubernetes supports, are about 1.5 GB."""
MOST_TIMES: Final = 200
ALWAYS_UNPACKED_BYTES: Final = 64 << 20
"""No dump that is larger than this is so many times as large as its compressed form."""
MOST_MEMBERS: Final = 500_000
_TAR_AT: Final = 257
_TAR: Final = b"ustar"
_BLOCK: Final = 512


class _Rest:
    """A stream whose beginning was read already, since a pipe has no way back."""

    def __init__(self, head: bytes, inner: IO[bytes]) -> None:
        self._head = head
        self._inner = inner

    def read(self, size: int = -1, /) -> bytes:
        if not self._head:
            return self._inner.read(size)
        part, self._head = self._head[:size], self._head[size:]
        return part


class _Packed:
    """A compressed stream that counts what was read of it."""

    def __init__(self, inner: IO[bytes]) -> None:
        self._inner = inner
        self.count = 0

    def read(self, size: int = -1, /) -> bytes:
        part = self._inner.read(size)
        self.count += len(part)
        return part


class _Unpacked:
    """What a compressed stream unpacks to, within limits."""

    def __init__(self, packed: _Packed, head: bytes, document: str) -> None:
        self._packed = packed
        self._plain = unpacked(_as_file(packed), head)
        self._where = Location(document)
        self._count = 0

    def read(self, size: int = -1, /) -> bytes:
        try:
            part = self._plain.read(size)
        except BROKEN as error:
            damaged = ClusterDumpDamaged(problem=first_line(error), where=self._where)
            raise BadInput([damaged]) from None
        self._count += len(part)
        if self._count > MOST_UNPACKED_BYTES:
            raise _too_large("bytes", MOST_UNPACKED_BYTES, self._where)
        if self._count > ALWAYS_UNPACKED_BYTES + MOST_TIMES * self._packed.count:
            raise _too_large("times its size", MOST_TIMES, self._where)
        return part


def streams(source: BufferedReader, document: str) -> Iterator[tuple[str, IO[bytes]]]:
    """Name and content of every file in it; each is read before the next one is asked for.

    Raises:
        BadInput: it is damaged, or unpacks to too much; also while a content is read.
    """
    head, content = source.peek(6), cast("IO[bytes]", source)
    if head.startswith((b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00")):
        content = _as_file(_Unpacked(_Packed(source), head, document))
    head = b""
    while len(head) < _BLOCK and (part := content.read(_BLOCK - len(head))):
        head += part
    content = _as_file(_Rest(head, content))
    if head.startswith(_TAR, _TAR_AT):
        yield from _members(content, document)
    else:
        yield document, content


def _members(content: IO[bytes], document: str) -> Iterator[tuple[str, IO[bytes]]]:
    """The files of a tarball that may hold objects; links are not followed."""
    meter, where = Meter(content, MOST_UNPACKED_BYTES), Location(document)
    meter.expect_header_at(0)
    count = 0
    try:
        with tarfile.open(
            fileobj=_as_file(meter), mode="r|", tarinfo=StrictTarInfo, errorlevel=2
        ) as archive:
            while (member := archive.next()) is not None:
                meter.expect_header_at(archive.offset)
                count += 1
                if count > MOST_MEMBERS:
                    raise LimitPassedError("members", MOST_MEMBERS)
                file = None
                if member.isreg() and member.name.endswith(SUFFIXES):
                    file = archive.extractfile(member)
                # The library remembers every header; one pass needs none of them.
                cast("Any", archive).members = []
                if file is not None:
                    yield f"{document}:{member.name}", file
            # The rest is read too, so that a damaged end does not pass for a whole archive.
            meter.expect_header_at(MOST_UNPACKED_BYTES)
            while meter.read(1 << 16):
                pass
    except LimitPassedError as passed:
        raise _too_large(passed.what, passed.limit, where) from None
    except BROKEN as error:
        raise BadInput([ClusterDumpDamaged(problem=first_line(error), where=where)]) from None


def _too_large(what: str, limit: int, where: Location) -> BadInput:
    return BadInput([ClusterDumpUnpacksTooLarge(what=what, limit=limit, where=where)])


def _as_file(reader: object) -> IO[bytes]:
    """What reads, for a library that only reads."""
    return cast("IO[bytes]", reader)
