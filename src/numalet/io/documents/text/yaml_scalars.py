"""The values of plain YAML scalars in Kubernetes: null, bool, integer, number or text.

Kubernetes first converts YAML to JSON with Go's YAML 1.1 parser. Unlike PyYAML, it has no dates and
no base-60 numbers, and a whole number is an integer.
"""

from __future__ import annotations

import re
from math import isinf
from typing import Final, TypeAlias

from numalet.core.model import limits

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
