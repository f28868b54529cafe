"""Nesting is measured without recursion, and what is too deep is cut out of a text."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numalet.core.model import limits
from numalet.io import nesting

VALUES = st.recursive(
    st.none() | st.integers(0, 9) | st.text('[]{}"\\a\n', max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
)


def deep(levels: int, inner: str = "1") -> str:
    return "[" * levels + inner + "]" * levels


@given(value=VALUES, levels=st.integers(0, 3 * limits.NESTING))
def test_a_text_is_cut_where_it_is_too_deep(value: object, levels: int) -> None:
    plain = json.dumps(value)
    own = max([0, *(depth for depth, _ in nesting._depths(plain.encode()))])
    text = deep(levels, plain).encode()
    assert nesting.is_too_deep(text) == (levels + own > limits.NESTING)
    shallow = nesting.shallow(text)
    decoded = msgspec.json.decode(shallow)
    if levels + own <= limits.NESTING:
        assert decoded == json.loads(text)
    else:
        assert nesting.is_too_deep(shallow) or levels < limits.NESTING + 10


@pytest.mark.parametrize("levels", [3_000, 100_000])
def test_what_stands_next_to_it_is_kept(levels: int) -> None:
    text = f'{{"a":\n{deep(levels, chr(10))},"b":"}}]"}}'.encode()
    value = nesting.decode(msgspec.json.Decoder(), text)
    assert value["b"] == "}]"
    assert nesting.shallow(text).count(b"\n") == text.count(b"\n")
    assert nesting.is_too_deep(text)


@pytest.mark.parametrize("text", [b"[" * 5_000, b'{"a":' * 5_000, b"]" * 300 + b"[" * 300])
def test_half_a_text_stays_unreadable(text: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        nesting.decode(msgspec.json.Decoder(), text)


def test_strings_that_look_deep_are_not() -> None:
    text = json.dumps(["[" * 1_000, '\\"[{' * 300]).encode()
    assert not nesting.is_too_deep(text)
    assert nesting.shallow(text) == text
    # Never closed, with a quote after each backslash: still one look at each byte.
    assert not nesting.is_too_deep(b'"' + b'\\"[' * 100_000)
