"""Percentages of capacity, computed like the kubelet in 32 and 64 bit floating point.

The kubelet reads an eviction threshold such as ``5%`` as a 32-bit float and divides it by 100 in 32
bits, so 5% of 16 GiB are 858993472 bytes, not 858993459. Integers imitate floating point here:
exact, and the same on every machine.
"""

from __future__ import annotations

import re
from typing import Final

from numalet.core.model.go_text import quote
from numalet.core.model.value import Value

_NUMBER: Final = re.compile(r"([+-]?)(?:([0-9]+)\.?([0-9]*)|\.([0-9]+))(?:[eE]([+-]?[0-9]+))?")
_INFINITY: Final = re.compile(r"([+-]?)inf(?:inity)?", re.ASCII | re.IGNORECASE)
_LONGEST_NUMBER: Final = 100
_FLOAT32_BITS: Final = 24
_FLOAT64_BITS: Final = 53
_FAR_EXPONENT: Final = 1000
_MAX_FLOAT32: Final = (2**24 - 1) * 2**104


class PercentageError(ValueError):
    """The text before ``%`` is not a number; ``go_text`` is Go's error."""

    def __init__(self, text: str, problem: str) -> None:
        self.go_text = f"strconv.ParseFloat: parsing {quote(text)}: {problem}"
        super().__init__(self.go_text)


class Percentage(Value):
    """A share as the fraction ``_above / _below``, already rounded to 32 bits.

    A ``_below`` of 0 is infinity, which Go parses; callers refuse values out of range.
    """

    _above: int
    _below: int = 1

    @property
    def is_negative(self) -> bool:
        return self._above < 0

    @property
    def is_above_all(self) -> bool:
        return self._above > self._below

    def of(self, capacity: int) -> int:
        """Return the share of a capacity, rounded down.

        Kubelet v1.32: ``evictionapi.GetThresholdQuantity``.
        """
        above, below = _rounded(capacity, 1, _FLOAT64_BITS)
        above, below = _rounded(above * self._above, below * self._below, _FLOAT64_BITS)
        return above // below


def parse(text: str) -> Percentage:
    """Parse a percentage such as ``2.5%``.

    Raises ``PercentageError`` if the text before the percent sign is not a decimal number.
    """
    number = text.rstrip("%")
    infinite = _INFINITY.fullmatch(number)
    if infinite is not None:
        return Percentage(-1 if infinite[1] == "-" else 1, 0)
    match = _NUMBER.fullmatch(number) if len(number) <= _LONGEST_NUMBER else None
    if match is None:
        raise PercentageError(number, "invalid syntax")
    sign, whole, decimals, only_decimals, power = match.groups()
    decimals = only_decimals if whole is None else decimals
    mantissa = int((whole or "") + decimals)
    exponent = max(min(int(power or 0), _FAR_EXPONENT), -_FAR_EXPONENT) - len(decimals)
    above, below = _rounded(mantissa * 10 ** max(exponent, 0), 10 ** max(-exponent, 0))
    if above > _MAX_FLOAT32 * below:
        raise PercentageError(number, "value out of range")
    above, below = _rounded(above, below * 100)
    return Percentage(-above if sign == "-" else above, below)


def _rounded(above: int, below: int, bits: int = _FLOAT32_BITS) -> tuple[int, int]:
    """Round the fraction to a number of significant bits, ties to even."""
    if above == 0:
        return 0, 1
    shift = bits - above.bit_length() + below.bit_length()
    quotient, rest, divisor = _divided(above, below, shift)
    # The estimate of the shift can be one too large; then the quotient has one bit too many.
    if quotient >= 1 << bits:
        shift -= 1
        quotient, rest, divisor = _divided(above, below, shift)
    if rest * 2 > divisor or (rest * 2 == divisor and quotient & 1):
        quotient += 1
    return quotient << max(-shift, 0), 1 << max(shift, 0)


def _divided(above: int, below: int, shift: int) -> tuple[int, int, int]:
    divisor = below << max(-shift, 0)
    quotient, rest = divmod(above << max(shift, 0), divisor)
    return quotient, rest, divisor
