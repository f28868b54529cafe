"""Reads untrusted YAML and JSON documents.

A *document* is the plain value of one YAML document or one JSON value. Lines are computed only when
a finding needs them. Errors of syntax and limits raise ``BadInput``; other modules check the
content.
"""

from __future__ import annotations

import codecs
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, Final

from numalet.core.model import input_error, limits
from numalet.core.model.findings import BadInput, Finding, Location
from numalet.io.documents.text import yaml_builder
from numalet.io.documents.text.yaml_builder import Builder, Built, child_path, too_many
from numalet.io.findings.documents import (
    DocumentDuplicateKey,
    DocumentSyntax,
    DocumentTooDeep,
    DocumentTooLarge,
    DocumentUnreadable,
)

__all__ = [
    "LARGEST_BYTES",
    "STANDARD_INPUT",
    "YamlDocument",
    "child_path",
    "load_documents",
    "read_bytes",
    "read_text",
    "read_text_or_input",
    "refuse_second_reader",
]

_ENCODING: Final = "utf-8-sig"
# Python loads a codec from a file on first use, which may be when no descriptor is free.
codecs.lookup(_ENCODING)

LARGEST_BYTES: Final = limits.DOCUMENT_BYTES
"""Larger files and texts are refused unread."""

STANDARD_INPUT: Final = "-"
"""Stands for the standard input in place of a file name."""

_INPUT_DESCRIPTOR: Final = 0
_BLANKS: Final = " \t\r\n\ufeff"
_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")


class SecondReading:
    """A second, slower parse of a text that finds lines; shared by all its documents.

    It resumes at the last document, since findings come in order. From the beginning each time,
    1,000 documents would take half a million parses.
    """

    def __init__(self, text: str, document: str) -> None:
        self._text = text
        self._document = document
        self._reading: Iterator[Built] = iter(())
        self._next = sys.maxsize

    def of(self, index: int) -> tuple[dict[str, int], list[tuple[str, int]]]:
        if len(self._text) > limits.TEXT_WITH_LINES_BYTES:
            return {}, []
        if index < self._next:
            builder = Builder(self._text, self._document, with_lines=True)
            self._reading, self._next = builder.documents(), 0
        try:
            for built in self._reading:
                self._next += 1
                if self._next > index:
                    return built.lines, built.duplicates
        except BadInput:
            pass  # JSON that is not YAML (a tab in an odd place) has no line numbers.
        return {}, []


@dataclass
class YamlDocument:
    """``duplicates`` has a finding for every repeated key; the last one wins."""

    value: Any
    document: str
    _again: SecondReading = field(repr=False)
    _index: int = 0
    _has_duplicates: bool = False

    def line_of(self, path: str) -> int | None:
        """The line, counted from 1, of a path such as ``$.spec.containers[0].name``.

        For an absent path it is the line of the nearest part around it.
        """
        while path:
            if path in self._lines:
                return self._lines[path]
            path = path[: max(path.rfind("."), path.rfind("["), 0)]
        return None

    def location(self, path: str) -> Location:
        return Location(self.document, path, self.line_of(path))

    @property
    def duplicates(self) -> tuple[Finding, ...]:
        if not self._has_duplicates:
            return ()
        return tuple(
            DocumentDuplicateKey(path=path, where=Location(self.document, path, line))
            for path, line in self._read_again[1] or [("$", 1)]
        )

    @property
    def _lines(self) -> dict[str, int]:
        return self._read_again[0]

    @cached_property
    def _read_again(self) -> tuple[dict[str, int], list[tuple[str, int]]]:
        return self._again.of(self._index)


def read_bytes(path: Path | str | int, limit_bytes: int = LARGEST_BYTES) -> bytes:
    """The content of a file, or of a descriptor, which stays open. Raises ``BadInput``."""
    try:
        with _open(path) as file:
            # The size in stat is 0 for pipes and files in /proc.
            content = file.read(limit_bytes + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        unreadable = DocumentUnreadable(reason=reason, where=Location(_name(path)))
        raise BadInput([unreadable]) from None
    if len(content) > limit_bytes:
        too_large = DocumentTooLarge(limit_bytes=limit_bytes, where=Location(_name(path)))
        raise BadInput([too_large])
    return content


def _open(path: Path | str | int) -> BinaryIO:
    if isinstance(path, int):
        # By descriptor: opening /dev/stdin fails if it is a socket.
        return os.fdopen(path, "rb", closefd=False)
    return Path(path).open("rb")


def _name(path: Path | str | int) -> str:
    return STANDARD_INPUT if path == _INPUT_DESCRIPTOR else str(path)


def read_text_or_input(path: Path | str, limit_bytes: int = LARGEST_BYTES) -> str:
    """``-`` is the standard input, readable only once. Raises ``BadInput``."""
    is_input = str(path) == STANDARD_INPUT
    return decode(read_bytes(_INPUT_DESCRIPTOR if is_input else path, limit_bytes), str(path))


def refuse_second_reader(paths: Iterable[object]) -> None:
    """Raise ``BadInput`` if the standard input is named more than once."""
    count = sum(str(path) == STANDARD_INPUT for path in paths)
    if count > 1:
        raise input_error.Duplicate(
            f"'-' is given {count} times, but numalet can read the standard input only once"
        ).bad_input()


def read_text(path: Path | str) -> str:
    """The text of a UTF-8 file. Raises ``BadInput`` like ``read_bytes``, or for other bytes."""
    return decode(read_bytes(path), str(path))


def decode(content: bytes, document: str) -> str:
    """Decode UTF-8 and drop a byte order mark. Raises ``BadInput`` if the bytes are not UTF-8."""
    try:
        return content.decode(_ENCODING)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        finding = input_error.Invalid(
            f"the file is not UTF-8 text: byte 0x{content[error.start]:02X} at offset "
            f"{error.start}",
            expected="UTF-8 text",
            where=Location(document, "", line),
        )
        raise BadInput([finding]) from None


def load_documents(text: str, document: str) -> list[YamlDocument]:
    """The documents of a YAML or JSON text, in order, without empty ones.

    ``document`` is its name in findings. Raises ``BadInput`` for broken texts and exceeded limits.
    """
    if len(text) > LARGEST_BYTES:
        finding = DocumentTooLarge(limit_bytes=LARGEST_BYTES, where=Location(document))
        raise BadInput([finding])
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise BadInput(
            [
                DocumentSyntax(
                    problem=f"half of a character (surrogate) at offset {error.start}",
                    where=Location(document),
                )
            ]
        ) from None
    # Python's JSON parser is much faster than libyaml; if it fails, the text may be YAML in flow
    # style.
    if text.lstrip(_BLANKS)[:1] in ("{", "["):
        documents = _load_json(text, document)
        if documents is not None:
            return documents
    again = SecondReading(text, document)
    return [
        YamlDocument(built.value, document, again, index, bool(built.duplicates))
        for index, built in enumerate(Builder(text, document).documents())
    ]


def _load_json(text: str, document: str) -> list[YamlDocument] | None:
    """JSON values in a row, unless the text is not JSON (but perhaps YAML)."""
    noticed = _Noticed()
    decoder = json.JSONDecoder(
        object_pairs_hook=noticed.mapping,
        parse_int=yaml_builder.whole,
        parse_float=yaml_builder.finite,
        parse_constant=_refuse_constant,
    )
    documents: list[YamlDocument] = []
    again = SecondReading(text, document)
    position = _after_blanks(text, 0)
    may_have_halves = _SURROGATE.search(text) is not None
    try:
        while position < len(text):
            value, position = decoder.raw_decode(text, position)
            if may_have_halves:
                _refuse_halves(value, document)
            if len(documents) == limits.OBJECTS_OF_A_TEXT:
                raise too_many(document, text.count("\n", 0, position) + 1)
            documents.append(
                YamlDocument(value, document, again, len(documents), noticed.had_duplicate())
            )
            position = _after_blanks(text, position)
    except RecursionError:
        raise _too_deep(document) from None
    except ValueError:
        return None
    if any(_is_too_deep(each.value) for each in documents):
        raise _too_deep(document)
    return documents


class _Noticed:
    def __init__(self) -> None:
        self._duplicate = False

    def mapping(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        self._duplicate |= len(made) != len(pairs)
        return made

    def had_duplicate(self) -> bool:
        """Whether there was a duplicate since the last call."""
        noticed, self._duplicate = self._duplicate, False
        return noticed


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)


def _after_blanks(text: str, position: int) -> int:
    while position < len(text) and text[position] in _BLANKS:
        position += 1
    return position


def _too_deep(document: str) -> BadInput:
    return BadInput([DocumentTooDeep(limit=limits.NESTING, where=Location(document))])


def _is_too_deep(value: Any) -> bool:
    # One of several documents may be a plain value.
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(limits.NESTING + 1):
        level = [
            child
            for container in level
            for child in (container.values() if isinstance(container, dict) else container)
            if isinstance(child, dict | list)
        ]
        if not level:
            return False
    return True


def _refuse_halves(value: Any, document: str) -> None:
    """Refuse lone surrogates, which JSON can escape but which cannot be printed or stored."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise BadInput(
            [
                DocumentSyntax(
                    problem="half of a character (a lone surrogate, as \\ud800 is)",
                    where=Location(document),
                )
            ]
        ) from None
