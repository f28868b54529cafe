"""The list form of sets with long and short ranges, whose ends are found in larger steps."""

from __future__ import annotations

import pytest

from numalet.core.model import cpu_set

LISTS = [
    "",
    "0",
    "0-1",
    "7-300",
    "0,2,4,6",
    "0-1,6-47",
    "0-7,9-15,17",
    "1-3,5-9,11-26,28",
    "0-99,101-103,105",
    "0-31,64-95",
    "3,9223372036854775806-9223372036854775807",
]


def cpus_of(text: str) -> frozenset[int]:
    """The CPUs of a list, counted one by one."""
    ranges = [part.split("-") for part in text.split(",") if part]
    return frozenset(cpu for ends in ranges for cpu in range(int(ends[0]), int(ends[-1]) + 1))


@pytest.mark.parametrize("text", LISTS)
def test_ranges_are_as_long_as_they_can_be(text: str) -> None:
    assert cpu_set.text(cpus_of(text)) == text


@pytest.mark.parametrize("length", range(2, 40))
def test_a_range_of_any_length_ends_where_it_ends(length: int) -> None:
    for behind in range(2, 20):
        text = f"0-{length - 1},{length + 1}-{length + behind}"
        assert cpu_set.text(cpus_of(text)) == text
