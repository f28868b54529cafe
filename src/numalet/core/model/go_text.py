"""Go's text formats, as the kubelet prints and parses them: values, durations, quantity errors.

Go 1.23: ``time.ParseDuration`` and ``Duration.String``, whole nanoseconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import Enum
from fractions import Fraction
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

MILLISECOND_NS: Final = 10**6
SECOND_NS: Final = 10**9
_UNITS_NS: Final = {
    "ns": 1,
    "us": 1000,
    "\u00b5s": 1000,  # the micro sign
    "\u03bcs": 1000,  # the Greek letter
    "ms": MILLISECOND_NS,
    "s": SECOND_NS,
    "m": 60 * SECOND_NS,
    "h": 3600 * SECOND_NS,
}
_PART: Final = re.compile(r"([0-9]*)(\.?)([0-9]*)([^0-9.]*)")
_LARGEST: Final = 2**63 - 1
_LONGEST_TEXT: Final = 200


class QuantityProblem(Enum):
    """Why a text is not a quantity; the value is Go's error text."""

    FORMAT = (
        "quantities must match the regular expression "
        "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    )
    SUFFIX = "unable to parse quantity's suffix"
    TOO_LARGE = "unable to represent quantity: it is larger than 9223372036854775807"
    """Our own: Go parses such a number and later uses 0 or its lowest 64 bits."""
    TOO_LONG = "unable to represent quantity: it is longer than 4096 characters"
    """Our own."""


class QuantityError(ValueError):
    """The text is not a quantity. ``go_text`` is Go's error text, or ours."""

    def __init__(self, text: str, problem: QuantityProblem) -> None:
        super().__init__(f"{problem.value}: {text[:80]!r}")
        self.text = text
        self.problem = problem

    @property
    def go_text(self) -> str:
        return self.problem.value


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


class DurationError(ValueError):
    """The text is not a duration; ``go_text`` is Go's error text."""

    def __init__(self, text: str, problem: str) -> None:
        self.go_text = f"time: {problem} duration {quote(text)}"
        super().__init__(self.go_text)


def parse_duration_ns(text: str) -> int:
    """Return the nanoseconds of a text; fractions of a nanosecond are cut off.

    Raises ``DurationError`` if the text is not a duration, or one longer than about 292 years.
    """
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return 0
    if not rest or len(rest) > _LONGEST_TEXT:
        raise DurationError(text, "invalid")
    total_ns = 0
    while rest:
        part_ns, rest = _part(text, rest)
        total_ns += part_ns
    if total_ns > _LARGEST + (text[0] == "-"):
        raise DurationError(text, "invalid")
    return -total_ns if text[0] == "-" else total_ns


def duration_seconds_of(text: str) -> float | None:
    """Return the seconds of a duration text, unless it is invalid or negative."""
    try:
        length_ns = parse_duration_ns(text)
    except DurationError:
        return None
    return None if length_ns < 0 else length_ns / SECOND_NS


def _part(text: str, rest: str) -> tuple[int, str]:
    """Return the nanoseconds of the first number with its unit, and the rest of the text."""
    match = _PART.match(rest)
    assert match is not None  # It matches the empty text too.
    whole, _, decimals, unit = match.groups()
    if not whole and not decimals:
        raise DurationError(text, "invalid")
    if not unit:
        raise DurationError(text, "missing unit in")
    if unit not in _UNITS_NS:
        raise DurationError(text, f"unknown unit {quote(unit)} in")
    number = Fraction(int((whole + decimals) or "0"), 10 ** len(decimals))
    return int(number * _UNITS_NS[unit]), rest[match.end() :]


def duration_text(duration_ns: int) -> str:
    sign, size = "-" if duration_ns < 0 else "", abs(duration_ns)
    if size == 0:
        return "0s"
    for unit in ("ns", "\u00b5s", "ms"):
        if size < min(_UNITS_NS[unit] * 1000, SECOND_NS):
            return f"{sign}{_decimal(size, _UNITS_NS[unit])}{unit}"
    minutes, seconds_ns = divmod(size, 60 * SECOND_NS)
    hours, minutes_left = divmod(minutes, 60)
    printed = f"{_decimal(seconds_ns, SECOND_NS)}s"
    if minutes:
        printed = f"{minutes_left}m{printed}"
    return f"{sign}{hours}h{printed}" if hours else f"{sign}{printed}"


def _decimal(size_ns: int, unit_ns: int) -> str:
    whole, rest = divmod(size_ns, unit_ns)
    digits = str(rest).zfill(len(str(unit_ns)) - 1).rstrip("0") if rest else ""
    return f"{whole}.{digits}" if digits else str(whole)
