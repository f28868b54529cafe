"""JSON as Go's ``encoding/json`` reads and writes it, as far as state files need it.

Reading: member names match without regard to case, later members win, unknown ones are
ignored, and every complaint has Go's words. Writing: no blanks, keys of maps sorted as text,
``<``, ``>`` and ``&`` escaped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

_T = TypeVar("_T")


class GoJsonError(ValueError):
    """A text that Go could not decode; ``go_text`` is what Go says."""

    def __init__(self, go_text: str) -> None:
        self.go_text = go_text
        super().__init__(go_text)


def loads(text: str) -> object:
    """The plain value of a JSON text; raises ``GoJsonError``."""
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise GoJsonError(_syntax_error(text, error)) from None
    except RecursionError:
        raise GoJsonError("exceeded max depth") from None


def _refuse_constant(name: str) -> object:
    # NaN and Infinity are Python's own addition to JSON.
    raise GoJsonError(f"invalid character '{name[0]}' looking for beginning of value")


_EXPECTED = {
    "Expecting value": "looking for beginning of value",
    "Expecting property name enclosed in double quotes": (
        "looking for beginning of object key string"
    ),
    "Illegal trailing comma before end of object": "looking for beginning of object key string",
    "Illegal trailing comma before end of array": "looking for beginning of value",
    "Expecting ':' delimiter": "after object key",
    "Extra data": "after top-level value",
    "Invalid control character at": "in string literal",
    "Invalid \\escape": "in string escape code",
    "Invalid \\uXXXX escape": "in \\u hexadecimal character escape",
}


def _syntax_error(text: str, error: json.JSONDecodeError) -> str:
    place = error.pos
    if error.msg.startswith(("Invalid \\escape", "Invalid \\uXXXX")):
        place += 1
    if error.msg.startswith("Unterminated string") or place >= len(text.rstrip()):
        return "unexpected end of JSON input"
    what = _EXPECTED.get(error.msg.rstrip(": "))
    if what is None:  # Expecting ',' delimiter: in an object or in an array?
        what = f"after {_innermost(text[:place])}"
    return f"invalid character {_quoted(text[place])} {what}"


def _innermost(text: str) -> str:
    """What a comma was missing after at the end of this text."""
    depth = []
    for bracket in re.findall(r"[\[\]{}]", re.sub(r'"(?:[^"\\]|\\.)*"', "", text)):
        if bracket in "[{":
            depth.append(bracket)
        else:
            depth.pop()
    return "array element" if depth[-1] == "[" else "object key:value pair"


def _quoted(character: str) -> str:
    if character == "'":
        return r"'\''"
    if character == '"':
        return "'\"'"
    return "'" + json.dumps(character, ensure_ascii=False)[1:-1] + "'"


_KINDS: Mapping[type, str] = {
    bool: "bool",
    str: "string",
    int: "number",
    float: "number",
    list: "array",
    dict: "object",
}


class Fields:
    """A JSON object on its way into a Go struct: members by name, with Go's complaints.

    ``place`` is Go's name of the struct and the path to it, for the complaint. null leaves a
    member at its zero value, as in Go.
    """

    def __init__(self, value: object, place: str) -> None:
        self._place = place
        if not isinstance(value, dict):
            raise mismatch(value, place)
        self._members = {str(name).lower(): member for name, member in value.items()}

    def get(self, name: str) -> object:
        """The member, None if it is absent or null."""
        return self._members.get(name.lower())

    def has(self, name: str) -> bool:
        """Whether the object has the member, whatever its value."""
        return name.lower() in self._members

    def text(self, name: str) -> str:
        """A string member; empty if absent."""
        value = self.get(name)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise mismatch(value, f"{self._place}.{name}", "string")
        return value

    def number(self, name: str, go_type: str = "uint64") -> int:
        """An integer member; 0 if absent."""
        value = self.get(name)
        return 0 if value is None else number(value, f"{self._place}.{name}", go_type)


_BITS = {
    "uint64": (0, (1 << 64) - 1),
    "int": (-(1 << 63), (1 << 63) - 1),
    "uint32": (0, (1 << 32) - 1),
}


def number(value: object, place: str, go_type: str) -> int:
    """An integer that fits the Go type."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise mismatch(value, place, go_type)
    low, high = _BITS[go_type]
    if not low <= value <= high:
        raise mismatch(value, place, go_type)
    return value


def mapping(value: object, place: str, decode: Callable[[object, str], _T]) -> dict[str, _T]:
    """A JSON object as a Go map."""
    if not isinstance(value, dict):
        raise mismatch(value, place, "map")
    return {key: decode(member, place) for key, member in value.items()}


def sequence(value: object, place: str, decode: Callable[[object, str], _T]) -> tuple[_T, ...]:
    """A JSON array as a Go slice."""
    if not isinstance(value, list):
        raise mismatch(value, place, "slice")
    return tuple(decode(member, place) for member in value)


def mismatch(value: object, place: str, go_type: str = "struct") -> GoJsonError:
    """Go's complaint about a value of the wrong kind."""
    kind = _KINDS[type(value)]
    if isinstance(value, int | float) and not isinstance(value, bool) and go_type in _BITS:
        kind = f"number {json.dumps(value)}"
    return GoJsonError(
        f"json: cannot unmarshal {kind} into Go struct field {place} of type {go_type}"
    )


_ESCAPED = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}
_PLAIN = re.compile(r"[A-Za-z0-9._:/@+-]*", re.ASCII)


def string(text: str) -> str:
    """The text as a JSON string."""
    if _PLAIN.fullmatch(text):
        return f'"{text}"'
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(_ESCAPED.get(character, character) for character in quoted)


def object_of(items: Mapping[str, Any], encode: Callable[[Any], str]) -> str:
    """A Go map as a JSON object, keys sorted as text."""
    return "{" + ",".join(f"{string(key)}:{encode(items[key])}" for key in sorted(items)) + "}"


def array_of(items: Sequence[int]) -> str:
    """A Go slice of integers as a JSON array."""
    return "[" + ",".join(map(str, items)) + "]"
