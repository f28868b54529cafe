"""Sizes for people, in one form."""

from __future__ import annotations

import pytest

from numalet.wording import english


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (0, "0"),
        (1023, "1023"),
        (1 << 30, "1Gi"),
        (9556302234, "8.90Gi"),
        (-(1 << 20), "-1Mi"),
        (5 << 70, "5120Ei"),
    ],
)
def test_a_size_is_in_the_largest_unit_that_it_fills(size_bytes: int, text: str) -> None:
    assert text == english.rounded_size(size_bytes)
