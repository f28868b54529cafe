"""Splits a large dump into the texts of its objects with little memory.

``kubectl get -o json`` prints each object between a line ``{`` and a line ``}`` at the indentation
of the list. JSON escapes line breaks in texts, so such lines are always structure. That allows
splitting without parsing. YAML lists are split at lines that begin with ``- ``. Any other JSON (one
line, as from the API server; several objects) is parsed as a whole by msgspec, which returns slices
of the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import IO, Final, NamedTuple

import msgspec

from numalet.core.model import input_error
from numalet.core.model.findings import BadInput, Location
from numalet.io import nesting
from numalet.io.documents.text import yaml_builder, yaml_source
from numalet.io.findings.documents import (
    DocumentSyntax,
    DocumentTooLarge,
    DocumentUnreadable,
)

PIECE_BYTES: Final = 4 * 1024 * 1024
LARGEST_UNCUT_BYTES: Final = 1024 * 1024 * 1024
"""The limit for JSON that cannot be split by lines and so is held in memory."""

_BLANKS: Final = b" \t\r\n"
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_LIST: Final = re.compile(rb'\A\{\n([ \t]+)"(?:[^\n]*\n)*?\1"items": \[\n')
_EMPTY_LIST: Final = re.compile(rb'\A\{\n([ \t]+)"(?:[^\n]*\n)*?\1"items": \[\],?\n')
_LIST_KIND: Final = re.compile(rb'\n[ \t]{1,8}"kind": "([A-Za-z0-9]+)List"')
_YAML_KIND: Final = re.compile(rb"^kind: ([A-Za-z0-9]+)", re.MULTILINE)
_BLANK: Final = re.compile(r"[ \t\r\n]*")
_HEADER_BYTES: Final = 64 * 1024


class ObjectText(NamedTuple):
    """One object and its place; ``kind`` is the item kind of the list, or empty."""

    text: bytes
    path: str
    line: int
    kind: str = ""
    is_json: bool = True


def objects(source: IO[bytes], document: str) -> Iterator[ObjectText]:
    """Raises ``BadInput`` for a broken or truncated text, after the objects before that."""
    pieces = _Pieces(source, document)
    pieces.skip_blanks()
    if pieces.starts_with(b"{") or pieces.starts_with(b"["):
        yield from _json(pieces)
    else:
        yield from _yaml(pieces)


class _Pieces:
    """The unread part of the source; ``line`` is the number of its first line."""

    def __init__(self, source: IO[bytes], document: str) -> None:
        self._source = source
        self.document = document
        self.held = b""
        self.at = 0
        self.line = 1
        self._is_at_end = False
        self.more()
        if self.held.startswith(_BYTE_ORDER_MARK):
            self.at = len(_BYTE_ORDER_MARK)

    def more(self) -> bool:
        if self._is_at_end:
            return False
        try:
            piece = self._source.read(PIECE_BYTES)
        except OSError as error:
            reason = error.strerror or str(error)
            raise BadInput([DocumentUnreadable(reason=reason, where=self.where)]) from None
        self._is_at_end = not piece
        self.held = self.held[self.at :] + piece
        self.at = 0
        return bool(piece)

    def starts_with(self, text: bytes) -> bool:
        while len(self.held) - self.at < len(text) and self.more():
            pass
        return self.held.startswith(text, self.at)

    def skip_blanks(self) -> None:
        while True:
            end = self.at
            while end < len(self.held) and self.held[end] in _BLANKS:
                end += 1
            self.move(end)
            if end < len(self.held) or not self.more():
                return

    def find(self, text: bytes) -> int:
        begin = self.at
        while True:
            place = self.held.find(text, begin)
            if place >= 0:
                return place
            # The text may span two pieces.
            done = max(len(self.held) - len(text) + 1, self.at) - self.at
            if not self.more():
                return -1
            begin = self.at + done

    def end_of(self, text: re.Pattern[bytes]) -> int:
        """The end of the next match, or -1; a match spans at most a line and its beginning."""
        begin = self.at
        while True:
            match = text.search(self.held, begin)
            if match is not None:
                return match.end()
            done = max(self.held.rfind(b"\n"), self.at) - self.at
            if not self.more():
                return -1
            begin = self.at + done

    def move(self, to: int) -> bytes:
        """Consume up to this index, and return the consumed text."""
        passed = self.held[self.at : to]
        self.line += passed.count(b"\n")
        self.at = to
        return passed

    def next_line(self) -> bytes:
        """The next line with its line break; empty at the end."""
        end = self.find(b"\n")
        return self.move(len(self.held) if end < 0 else end + 1)

    def rest(self) -> bytes:
        """All remaining text. Raises ``BadInput`` above the size limit."""
        parts = [self.held[self.at :]]
        size_bytes = len(parts[0])
        self.at = len(self.held)
        while self.more():
            parts.append(self.held)
            size_bytes += len(self.held)
            self.at = len(self.held)
            if size_bytes > LARGEST_UNCUT_BYTES:
                where = Location(self.document)
                raise BadInput([DocumentTooLarge(limit_bytes=LARGEST_UNCUT_BYTES, where=where)])
        return b"".join(parts)

    @property
    def where(self) -> Location:
        return Location(self.document, "", self.line)


def _json(pieces: _Pieces) -> Iterator[ObjectText]:
    """Split lists in kubectl's layout, one or several; parse the rest as a whole."""
    number = 0
    while True:
        pieces.skip_blanks()
        while len(pieces.held) - pieces.at < _HEADER_BYTES and pieces.more():
            pass
        header = pieces.held[pieces.at : pieces.at + _HEADER_BYTES]
        if not header:
            return
        match = _LIST.match(header)
        empty = None if match else _EMPTY_LIST.match(header)
        if match is None and empty is None:
            if number and not header.startswith((b"{", b"[")):
                # ``kubectl cluster-info dump`` prints logs between its lists.
                if not _skip_to_object(pieces):
                    return
                continue
            yield from _uncut(pieces, number)
            return
        if match is not None:
            yield from _cut(pieces, match)
        _to_end_of_document(pieces)
        number += 1


def _skip_to_object(pieces: _Pieces) -> bool:
    while line := pieces.next_line():
        if pieces.starts_with(b"{\n") and line.endswith(b"\n"):
            return True
    return False


def _cut(pieces: _Pieces, header: re.Match[bytes]) -> Iterator[ObjectText]:
    indent = header.group(1)
    list_kind = _LIST_KIND.search(header.group(0))
    kind = list_kind.group(1).decode() if list_kind else ""
    pieces.move(pieces.at + header.end())
    inner = indent * 2
    # Twice as fast as ``bytes.find``, which is slow for a pattern with such a common first byte.
    close = re.compile(b"\n" + inner + rb"[}\]]")
    count = 0
    while not pieces.starts_with(indent + b"]"):
        line, path = pieces.line, f"$.items[{count}]"
        has_lines = pieces.starts_with(inner + b"{\n") or pieces.starts_with(inner + b"[\n")
        end = pieces.end_of(close) if has_lines else pieces.find(b"\n")
        if end < 0:
            raise _ends_early(pieces, count)
        text = pieces.move(end)
        yield ObjectText(text.rstrip(b","), path, line, kind)
        count += 1
        if pieces.starts_with(b","):
            pieces.move(pieces.at + 1)
        if pieces.starts_with(b"\n"):
            pieces.move(pieces.at + 1)
        if not pieces.starts_with(b" ") and not pieces.starts_with(b"\t"):
            raise _ends_early(pieces, count)


def _to_end_of_document(pieces: _Pieces) -> None:
    while line := pieces.next_line():
        if line.rstrip() == b"}":
            return
    raise _ends_early(pieces, 0)


def _ends_early(pieces: _Pieces, count: int) -> BadInput:
    return input_error.Invalid(
        f"the dump ends inside a list, after {count} objects; write it again and check that "
        "kubectl exits with status 0",
        where=pieces.where,
    ).bad_input()


class _List(msgspec.Struct):
    kind: str = ""
    items: list[msgspec.Raw] | None = None


def _uncut(pieces: _Pieces, before: int) -> Iterator[ObjectText]:
    """JSON in any layout: a list, an object, or several values in a row."""
    first_line = pieces.line
    content = pieces.rest()
    try:
        values = iter([(_one(content), first_line)])
    except msgspec.DecodeError:
        values = _values(content, pieces.document, first_line)
    for number, (value, line) in enumerate(values, before):
        try:
            decoded = msgspec.json.decode(value, type=_List)
        except msgspec.ValidationError:
            decoded = _List()
        if decoded.items is None:
            yield ObjectText(value, "$" if number == before else f"$[{number}]", line)
            continue
        kind = decoded.kind.removesuffix("List") if decoded.kind != "List" else ""
        for index, item in enumerate(decoded.items):
            yield ObjectText(bytes(item), f"$.items[{index}]", line, kind)


def _one(content: bytes) -> bytes:
    """One JSON value as text, without objects nested too deep. Raises ``msgspec.DecodeError``."""
    try:
        msgspec.json.decode(content, type=msgspec.Raw)
    except RecursionError:
        # The reader of the deep object reports it; the other objects remain readable.
        content = nesting.shallow(content)
        msgspec.json.decode(content, type=msgspec.Raw)
    return content


def _values(content: bytes, document: str, line: int) -> Iterator[tuple[bytes, int]]:
    text = yaml_source.decode(content, document)
    decoder = json.JSONDecoder(parse_int=yaml_builder.whole)
    counted = 0
    position = _after_blanks(text, 0)
    while position < len(text):
        line += text.count("\n", counted, position)
        counted = position
        try:
            _, end = decoder.raw_decode(text, position)
        except json.JSONDecodeError as error:
            at = Location(document, "", line + error.doc.count("\n", position, error.pos))
            raise BadInput([DocumentSyntax(problem=error.msg, where=at)]) from None
        except RecursionError:
            text = nesting.shallow(text[position:].encode()).decode()
            position = counted = 0
            continue
        yield text[position:end].encode(), line
        position = _after_blanks(text, end)


def _after_blanks(text: str, position: int) -> int:
    match = _BLANK.match(text, position)
    return match.end() if match else position


def _yaml(pieces: _Pieces) -> Iterator[ObjectText]:
    """Split the items of lists at lines with a dash; documents without a list stay whole."""
    lines: list[bytes] = []
    begin, kind, count, is_in_items = pieces.line, "", 0, False
    while line := pieces.next_line():
        starts_member = is_in_items and line.startswith((b"- ", b"-\n", b"-\r"))
        is_inner = line[:1] in (b" ", b"\n", b"\r", b"#")
        if line.startswith((b"---", b"...")):
            yield from _yaml_object(lines, begin, kind, count if is_in_items else None)
            lines, begin, kind, count, is_in_items = [], pieces.line, "", 0, False
        elif not is_in_items and line.rstrip() == b"items:":
            header = _YAML_KIND.search(b"".join(lines))
            kind = header.group(1).decode() if header else ""
            lines, count, is_in_items = [], 0, True
        elif starts_member:
            if lines:
                yield from _yaml_object(lines, begin, kind, count)
                count += 1
            lines, begin = [line], pieces.line - 1
        elif is_in_items and not is_inner:
            # A key of the list after its items, such as ``kind``.
            yield from _yaml_object(lines, begin, kind, count)
            lines, count = [], count + 1
        elif not is_in_items or lines:
            lines.append(line)
    yield from _yaml_object(lines, begin, kind, count if is_in_items else None)


def _yaml_object(
    lines: list[bytes], begin: int, kind: str, index: int | None
) -> Iterator[ObjectText]:
    text = b"".join(lines)
    if text.strip(_BLANKS):
        path = "$" if index is None else f"$.items[{index}]"
        member_kind = kind.removesuffix("List") if kind != "List" else ""
        yield ObjectText(text, path, begin, member_kind, is_json=False)
