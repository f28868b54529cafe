"""CPU lists as the kubelet reads and writes them."""

from __future__ import annotations

import pytest

from numalet.core.model import cpu_set


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", set()),
        ("0", {0}),
        ("0-3,8", {0, 1, 2, 3, 8}),
        ("8,0-3,2-4,8", {0, 1, 2, 3, 4, 8}),
        ("+1", {1}),
        ("007", {7}),
        ("5-5", {5}),
        ("0" * 30 + "9", {9}),
    ],
)
def test_a_list_names_its_cpus(text: str, expected: set[int]) -> None:
    assert expected == cpu_set.parse(text)


@pytest.mark.parametrize(
    ("text", "go_text"),
    [
        ("x", 'strconv.Atoi: parsing "x": invalid syntax'),
        ("0,", 'strconv.Atoi: parsing "": invalid syntax'),
        (" 0", 'strconv.Atoi: parsing " 0": invalid syntax'),
        ("0\n", 'strconv.Atoi: parsing "0\\n": invalid syntax'),
        ("-1", 'strconv.Atoi: parsing "": invalid syntax'),
        ("1--3", 'invalid range "1--3" (1 > -3)'),
        ("1-2-3", 'strconv.Atoi: parsing "2-3": invalid syntax'),
        ("3-1", 'invalid range "3-1" (3 > 1)'),
        ("1_0", 'strconv.Atoi: parsing "1_0": invalid syntax'),
        ("٣", 'strconv.Atoi: parsing "٣": invalid syntax'),
        ("9223372036854775808", 'strconv.Atoi: parsing "9223372036854775808": value out of range'),
        ("9" * 5000, f'strconv.Atoi: parsing "{"9" * 5000}": value out of range'),
        ('"', 'strconv.Atoi: parsing "\\"": invalid syntax'),
        ("\x01", 'strconv.Atoi: parsing "\\x01": invalid syntax'),
        ("\u00a0", 'strconv.Atoi: parsing "\\u00a0": invalid syntax'),
        ("\U000e0001", 'strconv.Atoi: parsing "\\U000e0001": invalid syntax'),
    ],
)
def test_a_bad_list_gets_the_text_of_go(text: str, go_text: str) -> None:
    with pytest.raises(cpu_set.CpuListError) as caught:
        cpu_set.parse(text)
    assert go_text == caught.value.go_text


@pytest.mark.parametrize("text", ["0-999999999999", "0-1000000,2000000-3000000"])
def test_a_list_of_more_cpus_than_any_machine_has_is_refused(text: str) -> None:
    with pytest.raises(cpu_set.CpuListError, match="too many CPUs"):
        cpu_set.parse(text)


@pytest.mark.parametrize(
    ("cpus", "expected"),
    [
        ((), ""),
        ((3,), "3"),
        ((1, 0), "0-1"),
        ((8, 0, 1, 2, 2), "0-2,8"),
        ((0, 2, 4), "0,2,4"),
    ],
)
def test_a_set_is_written_in_longest_ranges(cpus: tuple[int, ...], expected: str) -> None:
    assert expected == cpu_set.text(cpus)
