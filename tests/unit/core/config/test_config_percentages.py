"""Percentages of capacity in the kubelet's floating point."""

from __future__ import annotations

import struct

import pytest

from numalet.core.config import node_allocatable
from numalet.core.config.node_allocatable import PercentageError

CAPACITIES = (17179869184, 16777216000, 8589934592)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0.1%", (17179870, 16777216, 8589935)),
        ("1%", (171798688, 167772156, 85899344)),
        ("2.5%", (429496736, 419430406, 214748368)),
        ("5%", (858993472, 838860812, 429496736)),
        ("10%", (1717986944, 1677721625, 858993472)),
        ("15%", (2576980480, 2516582500, 1288490240)),
        ("33%", (5669357056, 5536481500, 2834678528)),
        ("99%", (17008070656, 16609444000, 8504035328)),
    ],
)
def test_recorded_percentages(text: str, expected: tuple[int, ...]) -> None:
    assert expected == tuple(
        node_allocatable.parse_percentage(text).of(each) for each in CAPACITIES
    )


def as_float32(number: float) -> float:
    found: float = struct.unpack("f", struct.pack("f", number))[0]
    return found


@pytest.mark.parametrize("text", ["0.3", "7", "12.25", "1e1", "1E-3", "+.5", "66.6667", "100", "0"])
def test_a_percentage_is_what_the_processor_computes(text: str) -> None:
    fraction = as_float32(as_float32(float(text)) / 100)

    for capacity in (*CAPACITIES, 0, 1, 2**60 + 1, 999999999999):
        expected = int(float(capacity) * fraction)
        assert expected == node_allocatable.parse_percentage(f"{text}%").of(capacity)


@pytest.mark.parametrize(
    ("text", "is_negative", "is_above_all"),
    [
        ("-5%", True, False),
        ("0%", False, False),
        ("-0%", False, False),
        ("100%", False, False),
        ("101%", False, True),
        ("5%%", False, False),
        ("inf%", False, True),
        ("+Infinity%", False, True),
        ("-INF%", True, False),
    ],
)
def test_a_percentage_knows_its_limits(text: str, is_negative: bool, is_above_all: bool) -> None:
    percentage = node_allocatable.parse_percentage(text)

    assert (is_negative, is_above_all) == (percentage.is_negative, percentage.is_above_all)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("%", 'parsing "": invalid syntax'),
        ("x%", 'parsing "x": invalid syntax'),
        ("5 %", 'parsing "5 ": invalid syntax'),
        ("nan%", 'parsing "nan": invalid syntax'),
        ("1e39%", 'parsing "1e39": value out of range'),
        ("1e999999999%", 'parsing "1e999999999": value out of range'),
    ],
)
def test_what_is_no_percentage_is_refused_with_gos_text(text: str, problem: str) -> None:
    with pytest.raises(PercentageError) as caught:
        node_allocatable.parse_percentage(text)

    assert caught.value.go_text == f"strconv.ParseFloat: {problem}"


def test_a_tiny_percentage_is_next_to_nothing() -> None:
    assert node_allocatable.parse_percentage("1e-999999999%").of(2**40) == 0


def test_a_long_number_is_refused_unread() -> None:
    with pytest.raises(PercentageError):
        node_allocatable.parse_percentage("1" * 1_000_000 + "%")
