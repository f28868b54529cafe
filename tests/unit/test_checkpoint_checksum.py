"""The checksum is FNV-1a with 32 bits."""

from __future__ import annotations

import pytest

from numalet.checkpoint.checksum import fnv1a_32


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", 0x811C9DC5), ("a", 0xE40C292C), ("b", 0xE70C2DE5), ("foobar", 0xBF9CF968)],
)
def test_published_sums_come_out(text: str, expected: int) -> None:
    assert expected == fnv1a_32(text)


@pytest.mark.parametrize("length", range(13))
def test_texts_of_every_length_are_hashed_byte_by_byte(length: int) -> None:
    text = "añ€x𝄞 {Free:(uint64)12}"[:length]
    expected = 0x811C9DC5
    for byte in text.encode():
        expected = (expected ^ byte) * 0x01000193 % (1 << 32)
    assert expected == fnv1a_32(text)
