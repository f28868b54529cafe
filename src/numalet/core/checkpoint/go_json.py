"""JSON as Go's ``encoding/json`` decodes and encodes it, as far as state files need it.

Decoding: member names match case-insensitively, later members win, unknown ones are ignored, and
every error has Go's text. Encoding: no blanks, map keys sorted as text, ``<``, ``>`` and ``&``
escaped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from json.encoder import encode_basestring
from typing import Any, TypeVar

from numalet.core.checkpoint import go_json_syntax
from numalet.core.model.value import Value

_T = TypeVar("_T")


class GoJsonError(ValueError):
    """Go cannot decode a text; ``go_text`` is Go's error text."""

    def __init__(self, go_text: str) -> None:
        self.go_text = go_text
        super().__init__(go_text)


class OtherNumber(Value):
    """A number outside Go's integer types, as text."""

    text: str


def loads(text: str) -> object:
    """Return the plain value of a JSON text; raises ``GoJsonError``.

    Integers are ``int``, all other numbers ``OtherNumber``.
    """
    # Python's own limit would raise ``RecursionError``.
    if _is_too_deep(text):
        raise GoJsonError(go_json_syntax.complaint(text) or "exceeded max depth")
    try:
        value = json.loads(
            text,
            parse_constant=_refuse_constant,
            parse_float=OtherNumber,
            parse_int=_integer,
        )
        return _without_halves(value) if _SURROGATE.search(text) else value
    except (json.JSONDecodeError, _NotJsonError):
        raise GoJsonError(go_json_syntax.complaint(text)) from None


_MOST_DEPTH = 500
"""Go allows 10,000, but state files need few; the limit of Python depends on its release."""
_BRACKETS_AND_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"|[][{}]')


def _is_too_deep(text: str) -> bool:
    """Return whether arrays and objects are nested deeper than ``_MOST_DEPTH``."""
    # A cheap test first: state files rarely have this many brackets.
    if text.count("[") + text.count("{") <= _MOST_DEPTH:
        return False
    depth = 0
    for match in _BRACKETS_AND_STRINGS.finditer(text):
        if match[0] in "[{":
            depth += 1
        elif match[0] in "]}":
            depth -= 1
        if depth > _MOST_DEPTH:
            return True
    return False


_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def _without_halves(value: Any) -> Any:
    """Replace unpaired surrogate escapes by U+FFFD, as Go does."""
    match value:
        case str():
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case dict():
            return {_without_halves(name): _without_halves(value[name]) for name in value}
        case list():
            return [_without_halves(item) for item in value]
        case _:
            return value


class _NotJsonError(ValueError):
    """Python accepts the text as JSON, but Go does not."""


def _refuse_constant(name: str) -> object:
    # NaN and Infinity are Python's extension of JSON.
    raise _NotJsonError(name)


_MOST_DIGITS = 40


def _integer(text: str) -> int | OtherNumber:
    return int(text) if len(text) <= _MOST_DIGITS else OtherNumber(text)


_KINDS: Mapping[type, str] = {
    bool: "bool",
    str: "string",
    int: "number",
    OtherNumber: "number",
    list: "array",
    dict: "object",
}


class Fields:
    """A JSON object that is decoded into a Go struct: members by name, with Go's errors.

    ``place`` is Go's name of the struct and the path to it, for errors about members. null leaves
    everything at its zero value, as in Go. The caller checks that the value is an object
    (``as_object``), because Go's error then names the location of the whole.
    """

    def __init__(self, members: Mapping[str, object], place: str) -> None:
        self._place = place
        # Later members win, as in Go.
        self._members = {name.lower(): member for name, member in members.items()}

    def at(self, place: str) -> Fields:
        """Return the same members of another struct."""
        return Fields(self._members, place)

    def get(self, name: str) -> object:
        """Return the member; None for null, too."""
        return self._members.get(name.lower())

    def has(self, name: str) -> bool:
        return name.lower() in self._members

    def text(self, name: str, go_type: str = "string") -> str:
        """Return a string member; empty if absent."""
        return text(self.get(name), f"{self._place}.{name}", go_type)

    def number(self, name: str, go_type: str = "uint64") -> int:
        """Return an integer member; 0 if absent."""
        return number(self.get(name), f"{self._place}.{name}", go_type)


_UINT64 = (0, (1 << 64) - 1)
_LIMITS = {
    "uint64": _UINT64,
    "checksum.Checksum": _UINT64,
    "int": (-(1 << 63), (1 << 63) - 1),
    "uint32": (0, (1 << 32) - 1),
}


def text(value: object, place: str, go_type: str = "string") -> str:
    """Return a string; empty for null."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise mismatch(value, place, go_type)
    return value


def number(value: object, place: str, go_type: str) -> int:
    """Return an integer that fits the Go type; 0 for null."""
    if value is None:
        return 0
    # In Python ``bool`` is an ``int``; in Go it is not.
    if not isinstance(value, int) or isinstance(value, bool):
        raise mismatch(value, place, go_type)
    low, high = _LIMITS[go_type]
    if not low <= value <= high:
        raise mismatch(value, place, go_type)
    return value


def as_object(value: object, place: str, go_type: str) -> dict[str, object]:
    """Return the members of a JSON object; empty for null. An empty place is the whole text."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise mismatch(value, place, go_type)
    return value


def mapping(
    value: object, place: str, decode: Callable[[object, str], _T], go_type: str
) -> dict[str, _T]:
    """Decode a JSON object as a Go map; empty for null."""
    members = as_object(value, place, go_type)
    return {key: decode(member, place) for key, member in members.items()}


def sequence(
    value: object, place: str, decode: Callable[[object, str], _T], go_type: str
) -> tuple[_T, ...]:
    if not isinstance(value, list):
        raise mismatch(value, place, go_type)
    return tuple(decode(member, place) for member in value)


def mismatch(value: object, place: str, go_type: str) -> GoJsonError:
    kind = _KINDS[type(value)]
    if kind == "number" and go_type in _LIMITS:
        kind = f"number {value.text if isinstance(value, OtherNumber) else value}"
    where = f"struct field {place}" if place else "value"
    return GoJsonError(f"json: cannot unmarshal {kind} into Go {where} of type {go_type}")


_ESCAPED = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}


def quoted(text: str) -> str:
    written = encode_basestring(text)
    if written.isascii() and "<" not in written and ">" not in written and "&" not in written:
        return written
    return "".join(_ESCAPED.get(character, character) for character in written)


# Every write repeats the same names and uids.
string = lru_cache(maxsize=4096)(quoted)
