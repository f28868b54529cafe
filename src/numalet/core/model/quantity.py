"""Kubernetes quantities: ``1Gi``, ``300m``, ``1e3`` as exact numbers with a text format.

A quantity is ``mantissa * 10**exponent``. Its *format* (decimal, binary, exponent) decides how it
prints. Go keeps most quantities in an int64 with a scale and falls back to a big decimal for the
rest, which ``as_int64`` reveals, so ``_is_big`` records it. A text in canonical form is *kept* and
printed unchanged.

Kubelet v1.32: ``k8s.io/apimachinery/pkg/api/resource``. A deliberate difference: numalet rejects a
number above the largest int64 (Go parses ``1e400`` and then returns 0 as its value).
"""

from __future__ import annotations

from enum import Enum
from functools import lru_cache
from typing import Final

from numalet.core.model.go_text import QuantityError, QuantityProblem
from numalet.core.model.value import Value

MAX_INT64: Final = 2**63 - 1
LONGEST_TEXT: Final = 4096
"""Maximum number of characters; no quantity needs more than 40."""

_NANO: Final = -9
_MILLI: Final = -3
_MOST_INT64_DIGITS: Final = 18
_DIGITS: Final = frozenset("0123456789")
_SUFFIX_LETTERS: Final = frozenset("eEinumkKMGTP")
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15}
_DECIMAL_SUFFIXES: Final = {**_DECIMAL, "E": 18}
_DECIMAL_NAMES: Final = {exponent: name for name, exponent in _DECIMAL_SUFFIXES.items()}
_BINARY_NAMES: Final = ("", *_BINARY)
_FAR_BEYOND: Final = 10_000


class QuantityFormat(Enum):
    DECIMAL_SI = "DecimalSI"
    BINARY_SI = "BinarySI"
    DECIMAL_EXPONENT = "DecimalExponent"


class Quantity(Value, eq=False):
    """An exact number that remembers its text. Compares by value alone."""

    _mantissa: int = 0
    _exponent: int = 0
    _format: QuantityFormat = QuantityFormat.DECIMAL_SI
    _is_big: bool = False
    _kept: str = ""

    @classmethod
    def parse(cls, text: str) -> Quantity:
        """Parse a quantity.

        Raises:
            QuantityError: the text is not a quantity, or its value does not fit into an int64.
        """
        return _parse(text)

    @classmethod
    def from_bytes(cls, size_bytes: int) -> Quantity:
        """Make a whole number that prints with binary suffixes (``resource.BinarySI``)."""
        return cls(size_bytes, 0, QuantityFormat.BINARY_SI)

    @classmethod
    def from_int(cls, number: int) -> Quantity:
        """Make a whole number that prints with decimal suffixes."""
        return cls(number)

    @classmethod
    def from_milli(cls, thousandths: int) -> Quantity:
        """Make a number of thousandths that prints with decimal suffixes."""
        return cls(thousandths, _MILLI)

    @property
    def value(self) -> int:
        """The whole number, rounded away from zero (Go: ``Value``)."""
        if self._exponent == 0 and -MAX_INT64 <= self._mantissa <= MAX_INT64:
            # The usual case, on the hot path of every decision.
            return self._mantissa
        return self._at_scale(0)

    @property
    def milli_value(self) -> int:
        """The number of thousandths, rounded away from zero (Go: ``MilliValue``).

        A result outside int64 is 0, or its lowest 64 bits for a big decimal, as in Go.
        """
        if self._exponent == 0 and abs(self._mantissa) <= MAX_INT64 // 1000:
            return self._mantissa * 1000
        return self._at_scale(_MILLI)

    @property
    def in_thousandths(self) -> Quantity:
        """The number rounded up to millionths, then half up to thousandths (Go: ``SetMilli``)."""
        return Quantity((self._at_scale(-6) + 500) // 1000, _MILLI, self._format)

    @property
    def format(self) -> QuantityFormat:
        return self._format

    @property
    def sign(self) -> int:
        """-1, 0 or 1."""
        return (self._mantissa > 0) - (self._mantissa < 0)

    @property
    def is_zero(self) -> bool:
        return self._mantissa == 0

    def as_int64(self) -> int | None:
        """Return the number, if Go holds it as an int64 without decimals.

        ``1.0Gi``, ``1.5Gi`` and ``2000m`` give None although they are whole numbers; ``100.5M`` and
        ``1e9`` do not. Go: ``Quantity.AsInt64``.
        """
        if self._is_big or self._exponent < 0:
            return None
        number = self._mantissa * 10**self._exponent if self._exponent else self._mantissa
        return number if abs(number) <= MAX_INT64 else None

    def defaulted(self) -> Quantity:
        """Round up to thousandths (``SetDefaults_ResourceList``, v1.32)."""
        if self._exponent < _MILLI:
            return Quantity(_scaled(self, _MILLI), _MILLI, self._format, self._is_big)
        return self

    def canonical(self) -> Quantity:
        """Return the API server's form of the quantity: ``1.5Gi`` becomes ``1536Mi``."""
        held = self.defaulted()
        return _parse(_printed(held._mantissa, held._exponent, held._format))

    def exact_text(self) -> str:
        """Return a text that parses to this very quantity, with the same ``as_int64``."""
        text = str(self)
        if _parse(text).as_int64() == self.as_int64():
            return text
        digits = len(text) - len(text.lstrip("+-0123456789"))
        return f"{text[:digits]}.0{text[digits:]}"

    def go_struct(self) -> str:
        """Return Go's text of the raw structure: ``{{17 0} {<nil>}  DecimalSI}``."""
        if self._is_big:
            printed = _printed(self._mantissa, self._exponent, self._format)
            return f"{{{{0 0}} {{{printed}}} {self._kept} {self._format.value}}}"
        held = f"{{{self._mantissa} {self._exponent}}}"
        return f"{{{held} {{<nil>}} {self._kept} {self._format.value}}}"

    def __add__(self, other: Quantity) -> Quantity:
        """Return the exact sum, in the left operand's format unless that is zero."""
        return self._combined(other, other._mantissa)

    def __sub__(self, other: Quantity) -> Quantity:
        """Return the exact difference, in the left operand's format unless that is zero."""
        return self._combined(other, -other._mantissa)

    def __neg__(self) -> Quantity:
        return Quantity(-self._mantissa, self._exponent, self._format, self._is_big)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Quantity):
            return NotImplemented
        mine, its = _aligned(self, other)
        return mine == its

    # Define all operators, because the base class has a method for each.

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, Quantity):
            return NotImplemented
        mine, its = _aligned(self, other)
        return mine < its

    def __le__(self, other: object) -> bool:
        if not isinstance(other, Quantity):
            return NotImplemented
        mine, its = _aligned(self, other)
        return mine <= its

    def __gt__(self, other: object) -> bool:
        return not self <= other

    def __ge__(self, other: object) -> bool:
        return not self < other

    def __hash__(self) -> int:
        return hash(_without_tens(self._mantissa, self._exponent))

    def __str__(self) -> str:
        """Return Go's text: the kept text if it was canonical, else a computed one."""
        return self._kept or _printed(self._mantissa, self._exponent, self._format)

    def __repr__(self) -> str:
        return f"Quantity({str(self)!r})"

    def _at_scale(self, scale: int) -> int:
        number = _scaled(self, scale)
        if abs(number) <= MAX_INT64:
            return number
        return (number + 2**63) % 2**64 - 2**63 if self._is_big else 0

    def _combined(self, other: Quantity, addend: int) -> Quantity:
        way = other._format if self.is_zero else self._format
        if not (self._is_big or other._is_big):
            # Adding zero keeps the other operand's scale, which ``as_int64`` depends on.
            if addend == 0:
                return Quantity(self._mantissa, self._exponent, way)
            if self._mantissa == 0:
                return Quantity(addend, other._exponent, way)
        exponent = min(self._exponent, other._exponent)
        mantissa = self._mantissa * 10 ** (self._exponent - exponent)
        mantissa += addend * 10 ** (other._exponent - exponent)
        is_big = self._is_big or other._is_big or abs(mantissa) > MAX_INT64
        return Quantity(mantissa, exponent, way, is_big)


ZERO: Final = Quantity()


def _aligned(left: Quantity, right: Quantity) -> tuple[int, int]:
    exponent = min(left._exponent, right._exponent)
    return (
        left._mantissa * 10 ** (left._exponent - exponent),
        right._mantissa * 10 ** (right._exponent - exponent),
    )


def _scaled(quantity: Quantity, scale: int) -> int:
    """Return the quantity in units of ``10**scale``, rounded away from zero."""
    if quantity._exponent >= scale:
        return quantity._mantissa * int(10 ** (quantity._exponent - scale))
    return quantity.sign * _divided_up(abs(quantity._mantissa), 10 ** (scale - quantity._exponent))


def _divided_up(number: int, divisor: int) -> int:
    return -(-number // divisor)


def _without_tens(mantissa: int, exponent: int) -> tuple[int, int]:
    if mantissa == 0:
        return 0, 0
    while mantissa % 10 == 0:
        mantissa //= 10
        exponent += 1
    return mantissa, exponent


# Pods of one workload repeat the same few amounts.
@lru_cache(maxsize=1024)
def _parse(text: str) -> Quantity:
    if len(text) > LONGEST_TEXT:
        raise QuantityError(text, QuantityProblem.TOO_LONG)
    if text == "":
        raise QuantityError(text, QuantityProblem.FORMAT)
    is_negative, whole, decimals, suffix = _split(text)
    way, power = _interpret(text, suffix)
    held: Quantity | None
    if way is QuantityFormat.BINARY_SI:
        held = _small_binary(text, whole, decimals, power)
    else:
        held = _small_decimal(text, whole, decimals, power, way)
    if held is None:
        held = _big(text, int((whole or "0") + decimals), len(decimals), power, way)
    if not is_negative:
        return held
    return Quantity(-held._mantissa, held._exponent, held._format, held._is_big, held._kept)


def _split(text: str) -> tuple[bool, str, str, str]:
    """Return sign, digits before the dot without leading zeros, digits after it, suffix."""
    end = len(text)
    start = 1 if text[0] in "+-" else 0
    while start < end and text[start] == "0":
        start += 1
    position = _after_digits(text, start)
    whole = text[start:position]
    decimals = ""
    if position < end and text[position] == ".":
        after = _after_digits(text, position + 1)
        decimals = text[position + 1 : after]
        position = after
    suffix = text[position:]
    while position < end and text[position] in _SUFFIX_LETTERS:
        position += 1
    if position < end and text[position] in "+-":
        position += 1
    if _after_digits(text, position) != end:
        raise QuantityError(text, QuantityProblem.FORMAT)
    return text[0] == "-", whole, decimals, suffix


def _after_digits(text: str, start: int) -> int:
    while start < len(text) and text[start] in _DIGITS:
        start += 1
    return start


def _interpret(text: str, suffix: str) -> tuple[QuantityFormat, int]:
    """Return format and power (of two for the binary format, else of ten)."""
    if suffix in _DECIMAL_SUFFIXES:
        return QuantityFormat.DECIMAL_SI, _DECIMAL_SUFFIXES[suffix]
    if suffix in _BINARY:
        return QuantityFormat.BINARY_SI, _BINARY[suffix]
    exponent = suffix[1:]
    digits = exponent[1:] if exponent[:1] in ("+", "-") else exponent
    if suffix[0] not in "eE" or not digits or not _DIGITS.issuperset(digits):
        raise QuantityError(text, QuantityProblem.SUFFIX)
    # Beyond this power any digits give a number that is too large, or the smallest one.
    power = min(int(digits.lstrip("0")[:6] or "0"), _FAR_BEYOND)
    return QuantityFormat.DECIMAL_EXPONENT, -power if exponent[0] == "-" else power


def _small_binary(text: str, whole: str, decimals: str, power: int) -> Quantity | None:
    """Return the quantity if Go parses it into an int64, not by its slow path."""
    whole = whole or "0"
    if decimals or len(whole) + power * 3 // 10 > 14:
        return None
    number = int(whole)
    # Go tests only three bits to find out whether a larger suffix is possible.
    kept = text if number & 7 else ""
    return Quantity(number << power, 0, QuantityFormat.BINARY_SI, _kept=kept)


def _small_decimal(
    text: str, whole: str, decimals: str, power: int, way: QuantityFormat
) -> Quantity | None:
    """Return the quantity if Go parses it into an int64 with a scale, not by its slow path."""
    digits = (whole or "0") + decimals
    scale = power - len(decimals)
    if len(digits) > _MOST_INT64_DIGITS or scale < _NANO:
        return None
    mantissa = int(digits)
    if mantissa == 0:
        return Quantity(0, min(scale, 0), way)
    _refuse_too_large(text, mantissa, scale)
    is_canonical = scale % 3 == 0 and not digits.endswith("000") and digits[0] != "0"
    return Quantity(mantissa, scale, way, _kept=text if is_canonical else "")


def _big(text: str, mantissa: int, decimals: int, power: int, way: QuantityFormat) -> Quantity:
    """Return a big decimal: rounded up to 10**-9, binary ones limited to 2**63-1."""
    exponent = -decimals
    if way is QuantityFormat.BINARY_SI:
        mantissa <<= power
    else:
        exponent += power
    if mantissa == 0:
        return Quantity(0, 0, way, _is_big=True)
    if exponent < _NANO:
        # Go rounds up to nano.
        mantissa = _divided_up(mantissa, 10 ** (_NANO - exponent))
        exponent = _NANO
    if way is not QuantityFormat.BINARY_SI:
        _refuse_too_large(text, mantissa, exponent)
        return Quantity(mantissa, exponent, way, _is_big=True)
    # Go limits binary quantities to the largest int64, and prints values below 1 as decimals.
    if mantissa > MAX_INT64 * 10**-exponent:
        return Quantity(MAX_INT64, 0, way, _is_big=True)
    if mantissa < 10**-exponent:
        way = QuantityFormat.DECIMAL_SI
    return Quantity(mantissa, exponent, way, _is_big=True)


def _refuse_too_large(text: str, mantissa: int, exponent: int) -> None:
    far_too_large = exponent > _MOST_INT64_DIGITS
    if far_too_large or mantissa * 10 ** max(exponent, 0) > MAX_INT64 * 10 ** max(-exponent, 0):
        raise QuantityError(text, QuantityProblem.TOO_LARGE)


@lru_cache(maxsize=1024)
def _printed(mantissa: int, exponent: int, way: QuantityFormat) -> str:
    """Return the canonical text. Kubelet v1.32: ``Quantity.CanonicalizeBytes``."""
    if mantissa == 0:
        return "0"
    if way is QuantityFormat.BINARY_SI:
        whole, rest = divmod(mantissa * 10 ** max(exponent, 0), 10 ** max(-exponent, 0))
        if rest == 0 and abs(whole) >= 1024:
            return _printed_binary(whole)
    mantissa, exponent = _without_tens(mantissa, exponent)
    mantissa *= 10 ** (exponent % 3)
    exponent -= exponent % 3
    if way is not QuantityFormat.DECIMAL_EXPONENT and exponent in _DECIMAL_NAMES:
        return f"{mantissa}{_DECIMAL_NAMES[exponent]}"
    return f"{mantissa}e{exponent}" if exponent else str(mantissa)


def _printed_binary(number: int) -> str:
    steps = 0
    while number % 1024 == 0 and steps < len(_BINARY_NAMES) - 1:
        number //= 1024
        steps += 1
    return f"{number}{_BINARY_NAMES[steps]}"
