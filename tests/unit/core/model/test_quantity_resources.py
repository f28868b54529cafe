"""Names of memory types."""

from __future__ import annotations

import pytest

from numalet.core.model import resources


@pytest.mark.parametrize(
    ("page_size_kib", "expected"),
    [
        (64, "hugepages-64Ki"),
        (2048, "hugepages-2Mi"),
        (32768, "hugepages-32Mi"),
        (1048576, "hugepages-1Gi"),
        (16777216, "hugepages-16Gi"),
    ],
)
def test_huge_pages_are_named_by_their_size(page_size_kib: int, expected: str) -> None:
    assert expected == resources.hugepages_name(page_size_kib)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("example.com/gpu", True), ("hugepages-2Mi", False), ("cpu", False)],
)
def test_a_device_has_a_domain(name: str, expected: bool) -> None:
    assert expected == resources.is_device(name)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("memory", True),
        ("hugepages-foo", True),
        ("hugepages", False),
        ("cpu", False),
        (" memory", False),
    ],
)
def test_memory_and_huge_pages_are_memory_types(name: str, expected: bool) -> None:
    assert expected is resources.is_memory_type(name)
