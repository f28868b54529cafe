"""JSON read and written in Go's manner."""

from __future__ import annotations

import pytest

from numalet.core.checkpoint import go_json, go_json_syntax
from numalet.core.checkpoint.go_json import GoJsonError

LOOKING = "looking for beginning of value"
BROKEN = [
    ("", "unexpected end of JSON input"),
    ("  ", "unexpected end of JSON input"),
    ('{"a":', "unexpected end of JSON input"),
    ('{"a', "unexpected end of JSON input"),
    ('{"a\\', "invalid character ' ' in string escape code"),
    ('{"a":1', "unexpected end of JSON input"),
    ("{", "unexpected end of JSON input"),
    ("x", f"invalid character 'x' {LOOKING}"),
    ('{"a":1}x', "invalid character 'x' after top-level value"),
    ('{"a":1}"', "invalid character '\"' after top-level value"),
    ("{a", "invalid character 'a' looking for beginning of object key string"),
    ('{"a":1,}', "invalid character '}' looking for beginning of object key string"),
    ("{,}", "invalid character ',' looking for beginning of object key string"),
    ('{"a" 1}', "invalid character '1' after object key"),
    ('{"a":1 "b"}', "invalid character '\"' after object key:value pair"),
    ('{"a":01}', "invalid character '1' after object key:value pair"),
    ('{"a":[1 2]}', "invalid character '2' after array element"),
    ('{"a":[1,]}', f"invalid character ']' {LOOKING}"),
    ('{"a":{"]":1} [}', "invalid character '[' after object key:value pair"),
    ('[[],{},{"a":-0.5e+10},"",true,false,null]]', "invalid character ']' after top-level value"),
    ("'", rf"invalid character '\'' {LOOKING}"),
    ('"\\x"', "invalid character 'x' in string escape code"),
    ('"\\u00éa"', "invalid character 'Ã' in \\u hexadecimal character escape"),
    ('"\\"\\u00e9\n"', "invalid character '\\n' in string literal"),
    ('"\x01"', r"invalid character '\x01' in string literal"),
    ("\ufeff{}", f"invalid character 'ï' {LOOKING}"),
    ("NaN", f"invalid character 'N' {LOOKING}"),
    ("+1", f"invalid character '+' {LOOKING}"),
    ("[-]", "invalid character ']' in numeric literal"),
    ("-Infinity", "invalid character 'I' in numeric literal"),
    ("[1.]", "invalid character ']' after decimal point in numeric literal"),
    ("1e", "invalid character ' ' in exponent of numeric literal"),
    ("nul", "invalid character ' ' in literal null (expecting 'l')"),
    ("[trux]", "invalid character 'x' in literal true (expecting 'e')"),
    ("[" * 100_000, "invalid character '[' exceeded max depth"),
    ("[" * 5_000 + "]" * 5_000, "exceeded max depth"),
]


@pytest.mark.parametrize(("text", "words"), BROKEN, ids=[text[:12] for text, _ in BROKEN])
def test_broken_json_is_named_in_gos_words(text: str, words: str) -> None:
    with pytest.raises(GoJsonError) as raised:
        go_json.loads(text)

    assert raised.value.go_text == words


def test_numbers_that_fit_nowhere_keep_their_text() -> None:
    read = go_json.loads("[1, 1.50, 1e3, " + "9" * 5_000 + "]")

    numbers = [go_json.OtherNumber(text) for text in ("1.50", "1e3", "9" * 5_000)]
    assert read == [1, *numbers]


def test_a_number_of_the_wrong_kind_is_named_as_it_was_written() -> None:
    with pytest.raises(GoJsonError) as raised:
        go_json.number(go_json.loads("1.50"), "T.size", "uint64")

    assert raised.value.go_text == (
        "json: cannot unmarshal number 1.50 into Go struct field T.size of type uint64"
    )


def test_null_is_the_zero_of_every_type() -> None:
    assert go_json.text(None, "T.a") == ""
    assert go_json.number(None, "T.a", "int") == 0
    assert go_json.as_object(None, "T.a", "map[string]string") == {}


def test_sound_json_gives_no_complaint() -> None:
    assert go_json_syntax.complaint(' {"a": [1, {}, [], "b", null]}\n') == ""


def test_members_match_without_regard_to_case_and_later_ones_win() -> None:
    fields = go_json.Fields({"Name": "a", "NAME": "b"}, "T")

    assert fields.text("name") == "b"
    assert (fields.has("name"), fields.has("other")) == (True, False)


def test_strings_are_escaped_like_gos() -> None:
    assert go_json.string("a-b/c") == '"a-b/c"'
    assert go_json.string("<é>&\u2028") == '"\\u003cé\\u003e\\u0026\\u2028"'


def test_half_a_pair_of_escapes_is_replaced_as_go_does() -> None:
    text = r'{"a\udc00": ["x\ud800y", "\ud83d\ude00", 1]}'

    assert go_json.loads(text) == {"a\ufffd": ["x\ufffdy", "\U0001f600", 1]}


def test_how_deep_arrays_may_be_in_each_other_is_the_same_everywhere() -> None:
    deep = go_json.loads("[" * 500 + "]" * 500)
    assert isinstance(deep, list)
    with pytest.raises(GoJsonError, match="exceeded max depth"):
        go_json.loads("[" * 501 + "]" * 501)
    many = '{"[[{{": [' + ",".join(['["[", {}]'] * 600) + "]}"
    assert isinstance(go_json.loads(many), dict)
