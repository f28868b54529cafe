"""Numbers for people: sizes in one form, and numbers with their nouns."""

from __future__ import annotations

import pytest

from numalet.wording import numbers


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
    assert text == numbers.rounded_size(size_bytes)


@pytest.mark.parametrize(("count", "text"), [(0, "0 pods"), (1, "1 pod"), (2, "2 pods")])
def test_only_one_is_singular(count: int, text: str) -> None:
    assert numbers.counted(count, "pod") == text


def test_amounts_are_as_people_write_them_devices_first() -> None:
    amounts = {"cpu": 1500, "memory": 1 << 30, "nvidia.com/gpu": 4}
    assert numbers.amounts(amounts) == "4 nvidia.com/gpu, 1.5 cpu, 1Gi memory"
    assert numbers.amounts({}) == "-"
