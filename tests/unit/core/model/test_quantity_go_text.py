"""Go's small texts: quoting, maps, joined errors, booleans, integers, raw quantities."""

from __future__ import annotations

import pytest

from numalet.core.model import go_text
from numalet.core.model.quantity import Quantity


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", '""'),
        ('a"b\\c', '"a\\"b\\\\c"'),
        ("\n\t\r\a\b\f\v", '"\\n\\t\\r\\a\\b\\f\\v"'),
        ("\x00\x7f", '"\\x00\\x7f"'),
        ("é\u3000\u200b", '"é\\u3000\\u200b"'),
        ("\U000e0001", '"\\U000e0001"'),
    ],
)
def test_a_text_is_quoted_as_in_go(text: str, expected: str) -> None:
    assert expected == go_text.quote(text)


def test_a_text_formats_itself_or_quoted() -> None:
    text = go_text.GoText("x")

    assert f"{text} {text:q} {text:>3}" == 'x "x"   x'


def test_a_map_prints_sorted() -> None:
    assert go_text.map_text({"b": "2", "a": "1"}) == "map[a:1 b:2]"
    assert go_text.map_text({}) == "map[]"


def test_errors_are_joined_without_repetition() -> None:
    assert go_text.joined_errors(["a"]) == "a"
    assert go_text.joined_errors(["a", "a"]) == "a"
    assert go_text.joined_errors(["a", "b", "a"]) == "[a, b]"


@pytest.mark.parametrize("text", ["1", "t", "T", "TRUE", "true", "True"])
def test_go_has_six_words_for_true(text: str) -> None:
    assert go_text.parse_bool(text) is True


@pytest.mark.parametrize("text", ["0", "f", "F", "FALSE", "false", "False"])
def test_go_has_six_words_for_false(text: str) -> None:
    assert go_text.parse_bool(text) is False


@pytest.mark.parametrize("text", ["yes", "tRUE", "", " true"])
def test_other_words_are_no_booleans(text: str) -> None:
    with pytest.raises(go_text.GoNumberError) as caught:
        go_text.parse_bool(text)

    assert caught.value.go_text == f'strconv.ParseBool: parsing "{text}": invalid syntax'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("9", 9),
        ("+9", 9),
        ("-9", -9),
        ("010", 10),
        ("0" * 5000 + "7", 7),
        ("000", 0),
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
    ],
)
def test_an_integer_is_read_as_in_go(text: str, expected: int) -> None:
    assert expected == go_text.atoi(text)


@pytest.mark.parametrize("text", ["", "+", "--1", " 9", "9 ", "8.0", "0x8", "1_0", "٣"])
def test_what_is_no_integer_is_a_syntax_error(text: str) -> None:
    with pytest.raises(go_text.GoNumberError) as caught:
        go_text.atoi(text)

    assert caught.value.go_text == f'strconv.Atoi: parsing "{text}": invalid syntax'


@pytest.mark.parametrize(
    "text", ["9223372036854775808", "-9223372036854775809", "9" * 20, "1" + "0" * 9000]
)
def test_an_integer_beyond_64_bits_is_out_of_range(text: str) -> None:
    with pytest.raises(go_text.GoNumberError) as caught:
        go_text.atoi(text)

    assert caught.value.go_text == f'strconv.Atoi: parsing "{text}": value out of range'


@pytest.mark.parametrize(
    ("quantity", "expected"),
    [
        (Quantity.parse("32Gi") + Quantity(), "{{34359738368 0} {<nil>}  BinarySI}"),
        (Quantity.parse("9500m") + Quantity(), "{{9500 -3} {<nil>}  DecimalSI}"),
        (Quantity.parse("17"), "{{17 0} {<nil>} 17 DecimalSI}"),
        (Quantity.parse("1.5Gi"), "{{0 0} {1536Mi}  BinarySI}"),
    ],
)
def test_a_quantity_has_a_raw_form(quantity: Quantity, expected: str) -> None:
    assert expected == quantity.go_struct()
