"""Go's JSON scanner, as it is imitated, agrees with another reader on what JSON is."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numalet.core.checkpoint import go_json, go_json_syntax
from numalet.core.checkpoint.go_json import GoJsonError

NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)
PIECES = st.sampled_from([*'{}[],:"\\ \n-+.0123456789eEtfn', "true", "false", "null", "\\u00e9"])
TEXTS = st.lists(PIECES, max_size=12).map("".join)


def is_json(text: str) -> bool:
    try:
        json.loads(text)
    except json.JSONDecodeError:
        return False
    return True


@given(VALUES)
def test_sound_json_is_never_complained_about(value: object) -> None:
    assert go_json_syntax.complaint(json.dumps(value)) == ""
    assert go_json_syntax.complaint(json.dumps(value, ensure_ascii=False, indent=1)) == ""


@given(TEXTS)
def test_whatever_is_no_json_is_complained_about(text: str) -> None:
    assert (go_json_syntax.complaint(text) == "") is is_json(text)


@given(VALUES, st.integers(0, 60))
def test_a_text_that_was_cut_off_is_refused_with_words(value: object, length: int) -> None:
    text = json.dumps([value])[:length]
    if is_json(text):
        return

    with pytest.raises(GoJsonError) as raised:
        go_json.loads(text)

    words = raised.value.go_text
    assert words == "unexpected end of JSON input" or words.startswith("invalid character ' '")
