"""Texts of the kernel, as snapshots spoil them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from numalet.io.sysfs import kernel_text
from numalet.io.sysfs.kernel_text import KernelTextError


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        (None, None),
        ("", set()),
        ("\n", set()),
        ("0-2,8\n", {0, 1, 2, 8}),
        ("0-1\n\0", {0, 1}),
        (" 3 ", {3}),
    ],
)
def test_a_list_forgives_blanks_and_nuls(text: str | None, cpus: set[int] | None) -> None:
    assert kernel_text.cpu_list(text) == cpus


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        (None, None),
        ("", None),
        ("\n\0", None),
        ("0\n", set()),
        ("f", {0, 1, 2, 3}),
        ("00000001,80000000\n", {31, 32}),
        ("1,2\n", {1, 32}),
        ("ffff,00000000\0", set(range(32, 48))),
        ("1000000000000000", {60}),
        ("0" * 8 + (",00000000" * 127) + ",00000004", {2}),
    ],
)
def test_a_mask_is_words_of_32_cpus(text: str | None, cpus: set[int] | None) -> None:
    assert kernel_text.cpu_mask(text) == cpus


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (kernel_text.cpu_list, "(null)"),
        (kernel_text.cpu_list, "0-99999999999"),
        (kernel_text.cpu_mask, "xyz"),
        (kernel_text.cpu_mask, "1,,2"),
        (kernel_text.cpu_mask, "f" * 17),
        (kernel_text.cpu_mask, "00000000," * 40000 + "1"),
        (kernel_text.integer, "one"),
        (kernel_text.integer, "9" * 30),
        (kernel_text.integers, "10 x"),
        (kernel_text.size_bytes, "32 K"),
    ],
)
def test_a_text_that_makes_no_sense_is_reported(
    parse: Callable[[str | None], object], text: str
) -> None:
    with pytest.raises(KernelTextError) as caught:
        parse(text)
    assert caught.value.text == text


def test_a_number_may_be_negative_or_missing() -> None:
    assert kernel_text.integer("-1\n") == -1
    assert kernel_text.integer("\n") is None
    assert kernel_text.integer(None) is None


def test_a_row_of_numbers_may_be_missing() -> None:
    assert kernel_text.integers("10 20\n\0") == (10, 20)
    assert kernel_text.integers("\n") is None
    assert kernel_text.integers(None) is None


def test_a_size_has_a_unit() -> None:
    assert kernel_text.size_bytes("32K\n") == 32768
    assert kernel_text.size_bytes("2M") == 2 << 20
    assert kernel_text.size_bytes("512") == 512
    assert kernel_text.size_bytes(None) is None


def test_meminfo_may_begin_with_an_empty_line() -> None:
    assert kernel_text.mem_total_kib("\nNode 0 MemTotal:   7 kB\n") == 7
    assert kernel_text.mem_total_kib("Node 0 MemFree: 7 kB\n") is None
    assert kernel_text.mem_total_kib(None) is None


def test_figures_of_meminfo_are_those_about_size() -> None:
    text = "MemTotal: 5 kB\nMemFree: 3 kB\nHugePages_Total:  2\nHugepagesize: 2048 kB\n"
    assert kernel_text.meminfo_figures(text) == {
        "MemTotal": 5,
        "HugePages_Total": 2,
        "Hugepagesize": 2048,
    }
    assert kernel_text.meminfo_figures(None) is None


def test_ids_of_cpuinfo_are_counted_once() -> None:
    text = "core id\t\t: 0\ncore id\t\t: 1\ncore id\t\t: 0\ncore id\t\t: x\n"
    assert kernel_text.count_ids(text, "core id") == 2
    assert kernel_text.count_ids("", "core id") == 0
    assert kernel_text.count_ids(None, "core id") is None
