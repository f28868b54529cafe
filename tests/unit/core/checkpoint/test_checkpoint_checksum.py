"""The checksum is FNV-1a with 32 bits, with the library and without it."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

from numalet.core.checkpoint import checksum


@pytest.fixture(params=["with the library", "without"])
def hashing(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ModuleType]:
    """The module as it is where the library is installed, and where it is not."""
    if request.param == "without":
        monkeypatch.setitem(sys.modules, "fnv_hash_fast", None)
    yield importlib.reload(checksum)
    monkeypatch.undo()
    importlib.reload(checksum)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", 0x811C9DC5), ("a", 0xE40C292C), ("b", 0xE70C2DE5), ("foobar", 0xBF9CF968)],
)
def test_published_sums_come_out(hashing: ModuleType, text: str, expected: int) -> None:
    assert expected == hashing.fnv1a_32(text)


@pytest.mark.parametrize("length", range(13))
def test_texts_of_every_length_are_hashed_byte_by_byte(hashing: ModuleType, length: int) -> None:
    text = "añ€x𝄞 {Free:(uint64)12}"[:length]
    expected = 0x811C9DC5
    for byte in text.encode():
        expected = (expected ^ byte) * 0x01000193 % (1 << 32)
    assert expected == hashing.fnv1a_32(text)
