"""JSON read and written in Go's manner."""

from __future__ import annotations

import pytest

from numalet.checkpoint import go_json
from numalet.checkpoint.go_json import GoJsonError

BROKEN = [
    ("", "unexpected end of JSON input"),
    ("  ", "unexpected end of JSON input"),
    ('{"a":', "unexpected end of JSON input"),
    ('{"a', "unexpected end of JSON input"),
    ('{"a":1', "unexpected end of JSON input"),
    ("x", "invalid character 'x' looking for beginning of value"),
    ('{"a":1}x', "invalid character 'x' after top-level value"),
    ('{"a":1}"', "invalid character '\"' after top-level value"),
    ("{a", "invalid character 'a' looking for beginning of object key string"),
    ('{"a" 1}', "invalid character '1' after object key"),
    ('{"a":1 "b"}', "invalid character '\"' after object key:value pair"),
    ('{"a":[1 2]}', "invalid character '2' after array element"),
    ('{"a":{"]":1} [}', "invalid character '[' after object key:value pair"),
    ("'", r"invalid character '\'' looking for beginning of value"),
    ('"\\x"', "invalid character 'x' in string escape code"),
    ('"\n"', "invalid character '\\n' in string literal"),
    ("NaN", "invalid character 'N' looking for beginning of value"),
    ("[" * 100_000, "exceeded max depth"),
]


@pytest.mark.parametrize(("text", "words"), BROKEN, ids=[text[:12] for text, _ in BROKEN])
def test_broken_json_is_named_in_gos_words(text: str, words: str) -> None:
    with pytest.raises(GoJsonError) as raised:
        go_json.loads(text)

    assert raised.value.go_text == words


def test_members_match_without_regard_to_case_and_later_ones_win() -> None:
    fields = go_json.Fields({"Name": "a", "NAME": "b"}, "T")

    assert fields.text("name") == "b"
    assert (fields.has("name"), fields.has("other")) == (True, False)


def test_strings_are_escaped_like_gos() -> None:
    assert go_json.string("a-b/c") == '"a-b/c"'
    assert go_json.string("<é>&\u2028") == '"\\u003cé\\u003e\\u0026\\u2028"'
