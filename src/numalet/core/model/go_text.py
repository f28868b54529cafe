"""Go's text format of small values, as the kubelet prints and parses them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

_TRUE: Final = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE: Final = frozenset({"0", "f", "F", "FALSE", "false", "False"})
_DIGITS: Final = frozenset("0123456789")
_ESCAPES: Final = {
    '"': '\\"',
    "\\": "\\\\",
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
}


class GoNumberError(ValueError):
    """``strconv`` cannot parse a text; ``go_text`` is its error text."""

    def __init__(self, function: str, text: str, problem: str) -> None:
        self.go_text = f"strconv.{function}: parsing {quote(text)}: {problem}"
        super().__init__(self.go_text)


class GoText(str):
    """A text that the format ``q`` quotes as in Go."""

    __slots__ = ()

    def __format__(self, spec: str) -> str:
        if spec == "q":
            return quote(self)
        return format(str(self), spec)


def quote(text: str) -> str:
    """Return the text in double quotes with Go's escapes (``strconv.Quote``)."""
    return '"' + "".join(_escaped(character) for character in text) + '"'


def map_text(mapping: Mapping[str, str]) -> str:
    """Return Go's text of a map: ``map[a:1 b:2]``, sorted by key."""
    return "map[" + " ".join(f"{key}:{mapping[key]}" for key in sorted(mapping)) + "]"


def joined_errors(texts: Iterable[str]) -> str:
    """Join errors as ``[a, b]``; a single one stays alone; no text occurs twice.

    Kubelet v1.32: ``k8s.io/apimachinery/pkg/util/errors.NewAggregate``.
    """
    unique = list(dict.fromkeys(texts))
    return unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]"


def parse_bool(text: str) -> bool:
    """Parse a boolean as ``strconv.ParseBool`` does; raises ``GoNumberError``."""
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise GoNumberError("ParseBool", text, "invalid syntax")


def atoi(text: str) -> int:
    """Parse an integer as ``strconv.Atoi`` does: decimal, optional sign, 64 bits.

    Raises ``GoNumberError``.
    """
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not digits or not _DIGITS.issuperset(digits):
        raise GoNumberError("Atoi", text, "invalid syntax")
    number = int(digits.lstrip("0")[:20] or "0")
    if number > 2**63 - (text[0] != "-"):
        raise GoNumberError("Atoi", text, "value out of range")
    return -number if text[0] == "-" else number


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
