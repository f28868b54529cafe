"""Builds plain values from libyaml's events, without recursion and within limits.

PyYAML's own composer recurses in C and expands every alias: a hostile file can crash it, or make a
billion elements from ten lines. Here the depth is limited, cyclic aliases are refused, and so are
documents that are too large with aliases expanded. Duplicate keys are recorded; the last one wins,
as in the kubelet.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import isinf
from typing import Any, Final, TypeAlias

import yaml

from numalet.core.model import input_error, limits
from numalet.core.model.findings import BadInput, Location
from numalet.core.model.value import Mutable, field
from numalet.io.findings.documents import (
    DocumentSyntax,
    DocumentTooDeep,
    DocumentTooManyObjects,
)

Scalar: TypeAlias = str | int | float | bool | None

_WORDS: Final[dict[str, Scalar]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"), True),
    **dict.fromkeys(("false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"), False),
}
_INTEGER: Final = re.compile(
    r"[-+]?(?:0x(?P<x>[0-9a-fA-F]+)|0b(?P<b>[01]+)|0o?(?P<o>[0-7]+)|(?:0|[1-9][0-9]*))"
)
_NUMBER: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_SMALLEST_INTEGER: Final = -(2**63)
_LARGEST_INTEGER: Final = 2**64 - 1
_WHOLE_BELOW: Final = 1e21


def plain(text: str) -> Scalar:
    # Kubernetes first converts YAML to JSON with Go's YAML 1.1 parser. Unlike PyYAML, it has no
    # dates and no base-60 numbers, and a whole number is an integer.
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return text
    digits = text.replace("_", "")
    # Python's int() is quadratic in the number of digits.
    if len(digits) <= limits.DIGITS:
        match = _INTEGER.fullmatch(digits)
        if match:
            number = _integer(digits, match)
            if _SMALLEST_INTEGER <= number <= _LARGEST_INTEGER:
                return number
        if _NUMBER.fullmatch(digits):
            return finite(digits)
    return text


def whole(text: str) -> str | int:
    """The integer of a decimal text; the text itself if it has too many digits."""
    return int(text) if len(text) <= limits.DIGITS else text


def finite(text: str) -> str | int | float:
    """The number of a decimal text, as an integer if whole; the text itself if too large."""
    number = float(text)
    if isinf(number):
        return text
    # From 1e21 on, Go prints floats with an exponent, so they are no longer integers.
    return int(number) if number.is_integer() and abs(number) < _WHOLE_BELOW else number


def _integer(digits: str, match: re.Match[str]) -> int:
    sign = -1 if digits[0] == "-" else 1
    for group, base in (("x", 16), ("b", 2), ("o", 8)):
        if match[group] is not None:
            return sign * int(match[group], base)
    return int(digits)


_PREFIX: Final = "tag:yaml.org,2002:"
_NO_KEY: Final = object()
_MERGE_KEY: Final = object()


def child_path(path: str, key: str | int) -> str:
    """The path of an element, such as ``$.containers[0].name``."""
    return f"{path}[{key}]" if isinstance(key, int) else f"{path}.{key}"


class Built(Mutable):
    """One document: its value, the lines of its nodes by path if requested, and duplicate keys."""

    value: Any = None
    lines: dict[str, int] = field(default_factory=dict)
    duplicates: list[tuple[str, int]] = field(default_factory=list)


class _Open(Mutable):
    """An open mapping or sequence; ``merged`` are the values of ``<<``."""

    value: Any
    path: str
    anchor: str | None
    # The number of nodes with aliases expanded.
    weight: int = 1
    key: Any = _NO_KEY
    merged: list[Any] = field(default_factory=list)


class Builder:
    def __init__(self, text: str, document: str, *, with_lines: bool = False) -> None:
        self._text = text
        self._document = document
        self._with_lines = with_lines
        self._start_document()

    def documents(self) -> Iterator[Built]:
        """Documents that are not empty. Raises ``BadInput`` for bad YAML or an exceeded limit."""
        try:
            count = 0
            for event in yaml.parse(self._text, Loader=yaml.CSafeLoader):
                if isinstance(event, yaml.DocumentStartEvent):
                    count += 1
                    if count > limits.OBJECTS_OF_A_TEXT:
                        raise too_many(self._document, 1 + getattr(event.start_mark, "line", 0))
                    self._start_document()
                elif isinstance(event, yaml.DocumentEndEvent):
                    if self._built.value is not None:
                        yield self._built
                elif isinstance(event, yaml.NodeEvent | yaml.CollectionEndEvent):
                    self._handle(event)
        except yaml.reader.ReaderError as error:
            # libyaml reports a byte offset, and the character as a number.
            line = self._text.encode().count(b"\n", 0, error.position) + 1
            problem = f"character U+{int(error.character):04X}: {error.reason}"
            raise BadInput([DocumentSyntax(problem=problem, where=self._at(line))]) from None
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark
            problem = f"column {mark.column + 1}: {error.problem}" if mark else str(error)
            where = self._at(mark.line + 1 if mark else 1)
            raise BadInput([DocumentSyntax(problem=problem, where=where)]) from None

    def _start_document(self) -> None:
        self._built = Built()
        self._open: list[_Open] = []
        self._anchors: dict[str, tuple[Any, int]] = {}

    def _at(self, line: int) -> Location:
        return Location(self._document, "", line)

    def _handle(self, event: Any) -> None:
        line = event.start_mark.line + 1
        match event:
            case yaml.MappingStartEvent():
                self._begin({}, event, line)
            case yaml.SequenceStartEvent():
                self._begin([], event, line)
            case yaml.CollectionEndEvent():
                self._end(line)
            case yaml.AliasEvent():
                value, weight = self._aliased(event.anchor, line)
                self._attach(value, weight, line)
            case _:
                self._scalar(event, line)

    def _begin(self, container: Any, event: Any, line: int) -> None:
        if len(self._open) >= limits.NESTING:
            raise BadInput([DocumentTooDeep(limit=limits.NESTING, where=self._at(line))])
        if event.tag not in (None, "!", _PREFIX + "map", _PREFIX + "seq"):
            raise self._unknown_tag(event.tag, line)
        path = self._attach(container, 0, line)
        self._open.append(_Open(container, path, event.anchor))

    def _unknown_tag(self, tag: str, line: int) -> BadInput:
        return input_error.NotSupported(
            f"unknown tag {tag!r}",
            expected="!!str, !!int, !!float, !!bool, !!null, !!map or !!seq",
            where=self._at(line),
        ).bad_input()

    def _end(self, line: int) -> None:
        ended = self._open.pop()
        # Only at the end: a key of the mapping wins over a merged one, even if it is written later.
        for mapping in ended.merged:
            self._merge(ended.value, mapping, line)
        if ended.anchor:
            self._anchors[ended.anchor] = (ended.value, ended.weight)
        if self._open:
            self._add_weight(self._open[-1], ended.weight, line)

    def _merge(self, target: dict[str, Any], source: Any, line: int) -> None:
        for mapping in source if isinstance(source, list) else [source]:
            if not isinstance(mapping, dict):
                raise input_error.Invalid(
                    "invalid value of the merge key '<<'",
                    expected="a mapping or a list of mappings",
                    where=self._at(line),
                ).bad_input()
            for key, value in mapping.items():
                target.setdefault(key, value)

    def _aliased(self, anchor: Any, line: int) -> tuple[Any, int]:
        if any(opened.anchor == anchor for opened in self._open):
            raise input_error.Invalid(
                f"the alias *{anchor} refers to a value that contains it", where=self._at(line)
            ).bad_input()
        if anchor not in self._anchors:
            raise input_error.NotFound(
                f"the alias *{anchor} refers to no earlier anchor", where=self._at(line)
            ).bad_input()
        # The value is shared, not copied; its weight is added each time.
        return self._anchors[anchor]

    def _scalar(self, event: Any, line: int) -> None:
        text, value = event.value, event.value
        is_plain = event.implicit[0] and event.tag is None
        match (event.tag or "").removeprefix(_PREFIX):
            case "" if is_plain:
                value = plain(text)
            case "int" | "float" | "bool" | "null":
                value = plain(text)
            case "" | "str" | "!":
                pass
            case _:
                raise self._unknown_tag(event.tag, line)
        if event.anchor:
            self._anchors[event.anchor] = (value, 1)
        if is_plain and text == "<<" and self._expects_key():
            self._open[-1].key = _MERGE_KEY
        else:
            self._attach(value, 1, line)

    def _expects_key(self) -> bool:
        return (
            bool(self._open)
            and isinstance(self._open[-1].value, dict)
            and self._open[-1].key is _NO_KEY
        )

    def _attach(self, value: Any, weight: int, line: int) -> str:
        """Put a node into its container and return its path."""
        if not self._open:
            self._built.value = value
            return self._remember("$", line)
        parent = self._open[-1]
        self._add_weight(parent, weight, line)
        if isinstance(parent.value, list):
            parent.value.append(value)
            return self._remember(child_path(parent.path, len(parent.value) - 1), line)
        if parent.key is _NO_KEY:
            if isinstance(value, dict | list):
                raise input_error.Invalid(
                    "a mapping or a list is used as a key",
                    expected="a text as a key",
                    where=self._at(line),
                ).bad_input()
            parent.key = _key_text(value)
            return ""
        return self._attach_value(parent, value, line)

    def _attach_value(self, parent: _Open, value: Any, line: int) -> str:
        key, parent.key = parent.key, _NO_KEY
        if key is _MERGE_KEY:
            parent.merged.append(value)
            return child_path(parent.path, "<<")
        path = child_path(parent.path, key)
        if key in parent.value:
            self._built.duplicates.append((path, line))
        parent.value[key] = value
        return self._remember(path, line)

    def _remember(self, path: str, line: int) -> str:
        if self._with_lines:
            self._built.lines[path] = line
        return path

    def _add_weight(self, opened: _Open, weight: int, line: int) -> None:
        opened.weight += weight
        if opened.weight > limits.NODES_OF_A_DOCUMENT:
            raise input_error.TooLarge(
                "the document is too large with its aliases expanded",
                expected=f"at most {limits.NODES_OF_A_DOCUMENT} values",
                where=self._at(line),
            ).bad_input()


def too_many(document: str, line: int) -> BadInput:
    """The error about too many documents, from the one at ``line`` on."""
    where = Location(document, "", line)
    return BadInput([DocumentTooManyObjects(limit=limits.OBJECTS_OF_A_TEXT, where=where)])


def _key_text(value: Any) -> str:
    # JSON keys are texts, so Go writes true and null as such.
    if isinstance(value, bool):
        return "true" if value else "false"
    return "null" if value is None else str(value)
