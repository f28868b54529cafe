"""A quantity's text from which the very same quantity is read."""

from __future__ import annotations

import pytest

from numalet.core.model.quantity import Quantity


@pytest.mark.parametrize("text", ["1Gi", "1.5Gi", "100.5M", "1e9", "-1.5Gi", "250m", "2"])
def test_what_an_integer_is_stays_one_and_what_is_none_stays_none(text: str) -> None:
    quantity = Quantity.parse(text)
    again = Quantity.parse(quantity.exact_text())
    assert again == quantity
    assert again.as_int64() == quantity.as_int64()


def test_a_fraction_that_was_scaled_away_is_shown() -> None:
    assert str(Quantity.parse("1.5Gi")) == "1536Mi"
    assert Quantity.parse("1.5Gi").exact_text() == "1536.0Mi"
