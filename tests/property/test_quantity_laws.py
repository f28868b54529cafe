"""Laws of quantities, and that nothing but QuantityError ever comes out of the parser."""

from __future__ import annotations

import contextlib
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numalet.core.model.go_text import QuantityError
from numalet.core.model.quantity import MAX_INT64, Quantity

pytestmark = pytest.mark.property

SUFFIXES = ["", "n", "u", "m", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti", "e3", "E-2", "e+1"]


@st.composite
def quantity_texts(draw: st.DrawFn) -> str:
    whole = draw(st.integers(0, 2000))
    decimals = draw(st.sampled_from(["", ".", ".5", ".25", ".001", ".125000"]))
    sign = draw(st.sampled_from(["", "-", "+"]))
    return f"{sign}{whole}{decimals}{draw(st.sampled_from(SUFFIXES))}"


quantities = quantity_texts().map(Quantity.parse)
NOISE = st.text(alphabet="0123456789.+-eEinumkKMGTP _xé", max_size=30) | st.text(max_size=20)


def exact(quantity: Quantity) -> Fraction:
    """The number, read from the printed text in another way."""
    text = str(quantity)
    for names, base, step in (
        ("Ki Mi Gi Ti Pi Ei", 1024, 1),
        ("n u m", 1000, -3),
        ("k M G T P E", 1000, 1),
    ):
        for place, name in enumerate(names.split()):
            if text.endswith(name) and not text[: -len(name)].endswith(("e", "E")):
                return Fraction(text[: -len(name)]) * Fraction(base) ** (place + step)
    return Fraction(text)


@given(NOISE)
def test_a_text_is_a_quantity_or_a_quantity_error(text: str) -> None:
    with contextlib.suppress(QuantityError):
        assert abs(Quantity.parse(text).value) <= MAX_INT64


@given(quantities)
def test_printing_and_parsing_gives_the_same_number(quantity: Quantity) -> None:
    assert Quantity.parse(str(quantity)) == quantity
    assert Quantity.parse(str(quantity + Quantity())) == quantity
    assert exact(quantity) == exact(quantity + Quantity())


@given(quantities)
def test_values_are_rounded_away_from_zero(quantity: Quantity) -> None:
    number = exact(quantity)
    away = -(-abs(number) // 1) * (1 if number > 0 else -1)

    assert quantity.value == away
    assert quantity.milli_value == -(-abs(number * 1000) // 1) * (1 if number > 0 else -1)


@given(quantities)
def test_the_canonical_form_is_canonical(quantity: Quantity) -> None:
    canonical = quantity.canonical()

    assert str(canonical.canonical()) == str(canonical)
    assert abs(exact(canonical)) >= abs(exact(quantity))
    assert abs(exact(canonical) - exact(quantity)) < Fraction(1, 1000)


@given(quantities, quantities)
def test_sums_and_differences_are_exact(left: Quantity, right: Quantity) -> None:
    assert exact(left + right) == exact(left) + exact(right)
    assert exact(left - right) == exact(left) - exact(right)
    assert left + right == right + left
    assert (left + right) - right == left


@given(quantities, quantities)
def test_quantities_are_ordered_as_their_numbers(left: Quantity, right: Quantity) -> None:
    assert (left < right) is (exact(left) < exact(right))
    assert (left == right) is (exact(left) == exact(right))
    assert left != right or hash(left) == hash(right)


@given(quantities)
def test_an_integer_is_the_number_itself(quantity: Quantity) -> None:
    number = quantity.as_int64()

    assert number is None or number == exact(quantity)
