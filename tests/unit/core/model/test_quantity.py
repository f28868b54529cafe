"""Every row of the recorded quantity table, and the arithmetic that was recorded with it."""

from __future__ import annotations

import pytest

from numalet.core.model.go_text import QuantityError, QuantityProblem
from numalet.core.model.quantity import Quantity, QuantityFormat

BAD_FORMAT = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
BAD_SUFFIX = "unable to parse quantity's suffix"

ROWS = [
    ("0", "0", 0, 0),
    ("00", "0", 0, 0),
    ("0Gi", "0", 0, 0),
    ("Gi", "0", 0, 0),
    ("1", "1", 1, 1000),
    ("1000m", "1", 1, 1000),
    ("1.0", "1", 1, 1000),
    ("01", "01", 1, 1000),
    ("+1", "+1", 1, 1000),
    ("1.", "1.", 1, 1000),
    ("-1", "-1", -1, -1000),
    (".5", "500m", 1, 500),
    ("0.5", "500m", 1, 500),
    ("0.1", "100m", 1, 100),
    ("100m", "100m", 1, 100),
    ("0.001", "1m", 1, 1),
    ("1m", "1m", 1, 1),
    ("0.0001", "100u", 1, 1),
    ("1.5", "1500m", 2, 1500),
    ("1500m", "1500m", 2, 1500),
    ("1.9999", "1999900u", 2, 2000),
    ("1999.5m", "1999500u", 2, 2000),
    ("1000", "1k", 1000, 1000000),
    ("1k", "1k", 1000, 1000000),
    ("1024", "1024", 1024, 1024000),
    ("1000M", "1G", 1000000000, 1000000000000),
    ("1G", "1G", 1000000000, 1000000000000),
    ("1.5G", "1500M", 1500000000, 1500000000000),
    ("123456789", "123456789", 123456789, 123456789000),
    ("1073741824", "1073741824", 1073741824, 1073741824000),
    ("1Ki", "1Ki", 1024, 1024000),
    ("0.5Ki", "512", 512, 512000),
    ("1.5Ki", "1536", 1536, 1536000),
    ("1000Ki", "1000Ki", 1024000, 1024000000),
    ("1024Ki", "1Mi", 1048576, 1048576000),
    ("1Mi", "1Mi", 1048576, 1048576000),
    ("1Gi", "1Gi", 1073741824, 1073741824000),
    ("1.0Gi", "1Gi", 1073741824, 1073741824000),
    ("1.5Gi", "1536Mi", 1610612736, 1610612736000),
    ("0.1Gi", "107374182400m", 107374183, 107374182400),
    ("1.1Ki", "1126400m", 1127, 1126400),
    ("1.23456789Gi", "1325607178060431360n", 1325607179, 1325607178061),
    ("-1Gi", "-1Gi", -1073741824, -1073741824000),
    ("1e3", "1e3", 1000, 1000000),
    ("1E3", "1E3", 1000, 1000000),
    ("1e+3", "1e+3", 1000, 1000000),
    ("1.5e3", "1500", 1500, 1500000),
    ("1e0", "1e0", 1, 1000),
    ("12e6", "12e6", 12000000, 12000000000),
    ("1E", "1E", 10**18, 0),
]


@pytest.mark.parametrize(("text", "printed", "value", "milli"), ROWS)
def test_a_quantity_prints_and_rounds_as_in_go(
    text: str, printed: str, value: int, milli: int
) -> None:
    quantity = Quantity.parse(text)

    assert (printed, value, milli) == (str(quantity), quantity.value, quantity.milli_value)


@pytest.mark.parametrize("text", ["8Ei", "16Ei", "100000000000000000000Ki"])
def test_a_binary_quantity_is_capped_at_the_largest_int64(text: str) -> None:
    quantity = Quantity.parse(text)

    assert (str(quantity), quantity.value) == ("9223372036854775807", 2**63 - 1)
    assert quantity.milli_value == -1000, "its lowest 64 bits, as in Go"


@pytest.mark.parametrize(
    ("text", "recomputed"),
    [("01", "1"), ("+1", "1"), ("1.", "1"), ("1E3", "1e3"), ("1e+3", "1e3"), ("1e0", "1")],
)
def test_a_kept_text_is_lost_with_the_first_arithmetic(text: str, recomputed: str) -> None:
    assert recomputed == str(Quantity.parse(text) + Quantity.parse("0"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *((text, BAD_SUFFIX) for text in ("1K", "1e", "1mi", "--1", "1e+", "1Kie", "1ei")),
        *(
            (text, BAD_FORMAT)
            for text in ("", "1 ", " 1", "1 Gi", "5%", "1Gb", "1gi", "1e3Ki", "1_000", "1.5.Gi")
        ),
        *((text, BAD_FORMAT) for text in ("two", "1\n", "٣", "1٣", "0x10", "1,5", "\0")),
    ],
)
def test_what_go_refuses_is_refused_with_its_text(text: str, expected: str) -> None:
    with pytest.raises(QuantityError) as caught:
        Quantity.parse(text)

    assert expected == caught.value.go_text
    assert text == caught.value.text


@pytest.mark.parametrize("text", ["", ".", "-", "+", "0.0", "-0", "0e9", "0e-40"])
def test_go_reads_an_empty_number_as_zero(text: str) -> None:
    quantity = Quantity.parse(text or ".Ki")

    assert (str(quantity), quantity.value, quantity.sign, quantity.is_zero) == ("0", 0, 0, True)


@pytest.mark.parametrize(
    "text",
    ["1e400", "1e99999999999999999999", "9223372036854775808", "1" + "0" * 400, "1000E", "10E"],
)
def test_a_decimal_quantity_above_int64_is_refused(text: str) -> None:
    with pytest.raises(QuantityError) as caught:
        Quantity.parse(text)

    assert QuantityProblem.TOO_LARGE is caught.value.problem
    assert "9223372036854775807" in caught.value.go_text


@pytest.mark.parametrize("text", ["9" * 10_000_000, "0." + "0" * 10_000_000 + "1"])
def test_ten_megabytes_of_digits_are_refused_at_once(text: str) -> None:
    # As numbers they would take longer than pytest lets a test take.
    with pytest.raises(QuantityError) as caught:
        Quantity.parse(text)

    assert QuantityProblem.TOO_LONG is caught.value.problem
    assert len(str(caught.value)) < 300, "the text is not repeated in full"


@pytest.mark.parametrize("text", ["1e-400", "1e-99999999999999999999", "0." + "0" * 50 + "1"])
def test_a_number_finer_than_a_billionth_becomes_a_billionth(text: str) -> None:
    assert Quantity.parse("1n") == Quantity.parse(text)
    assert Quantity.parse("-1n") == Quantity.parse("-" + text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", 0),
        ("1536Mi", 1610612736),
        ("100.5M", 100_500_000),
        ("1e9", 10**9),
        ("1E", 10**18),
        ("1.5Gi", None),
        ("1.0Gi", None),
        ("1500m", None),
        ("2000m", None),
        ("1.0", None),
        ("8Ei", None),
        ("1234567890123456789", None),
    ],
)
def test_only_what_go_holds_as_an_integer_is_given_as_one(text: str, expected: int | None) -> None:
    assert expected == Quantity.parse(text).as_int64()


def test_a_sum_that_leaves_int64_is_no_integer_any_more() -> None:
    total = Quantity.parse("9E") + Quantity.parse("9E")

    assert None is total.as_int64()
    assert (str(total), total.value) == ("18E", 0)


def test_a_big_sum_that_leaves_int64_has_its_lowest_bits_as_value() -> None:
    total = Quantity.parse("9223372036854775807") + Quantity.parse("1")

    assert (str(total), total.value) == ("9223372036854775808", -(2**63))


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("1Gi", "1G", "2073741824"),
        ("1G", "1Gi", "2073741824"),
        ("0", "1Gi", "1Gi"),
        ("500m", "500m", "1"),
        ("1", "1Gi", "1073741825"),
        ("100Mi", "924Mi", "1Gi"),
        ("250m", "1", "1250m"),
        ("1e3", "1e3", "2e3"),
        ("1.5Gi", "512Mi", "2Gi"),
        ("0.0Gi", "5k", "5k"),
        ("5E", "1.0Gi", "5000000001073741824"),
    ],
)
def test_a_sum_keeps_the_format_of_its_left_operand(left: str, right: str, expected: str) -> None:
    assert expected == str(Quantity.parse(left) + Quantity.parse(right))


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("16Gi", "100Mi", "16284Mi"),
        ("16Gi", "0.5Gi", "15872Mi"),
        ("8", "1500m", "6500m"),
        ("1Gi", "1Gi", "0"),
        ("0", "1Ki", "-1Ki"),
    ],
)
def test_a_difference_keeps_the_format_of_its_left_operand(
    left: str, right: str, expected: str
) -> None:
    assert expected == str(Quantity.parse(left) - Quantity.parse(right))


def test_a_large_exponent_without_a_suffix_prints_as_an_exponent() -> None:
    assert str(Quantity(1000, 18)) == "1e21"


@pytest.mark.parametrize(
    ("quantity", "expected"),
    [
        (Quantity.from_bytes(16777216000), "16000Mi"),
        (Quantity.from_bytes(1023), "1023"),
        (Quantity.from_bytes(-4096), "-4Ki"),
        (Quantity.from_bytes(2**70), "1024Ei"),
        (Quantity.from_milli(3920), "3920m"),
        (Quantity.from_milli(4000), "4"),
        (Quantity.from_int(1000000), "1M"),
        (-Quantity.parse("1Gi"), "-1Gi"),
    ],
)
def test_a_constructed_quantity_prints_in_its_format(quantity: Quantity, expected: str) -> None:
    assert expected == str(quantity)
    assert f"Quantity('{expected}')" == repr(quantity)


@pytest.mark.parametrize(
    ("text", "expected", "whole"),
    [
        ("1.5Gi", "1536Mi", 1610612736),
        ("1.0Gi", "1Gi", 1073741824),
        ("1999.5m", "2", 2),
        ("0.0001", "1m", None),
        ("-0.0001", "-1m", None),
        ("2000m", "2", 2),
        ("+1", "1", 1),
        ("0.1Gi", "107374182400m", None),
        ("1.23456789Gi", "1325607178061m", None),
    ],
)
def test_the_api_server_hands_out_whole_thousandths_in_canonical_form(
    text: str, expected: str, whole: int | None
) -> None:
    canonical = Quantity.parse(text).canonical()

    assert (expected, whole) == (str(canonical), canonical.as_int64())


def test_quantities_compare_by_value() -> None:
    one, kilo = Quantity.parse("1"), Quantity.parse("1000m")

    assert one == kilo
    assert hash(one) == hash(kilo)
    assert hash(Quantity()) == hash(Quantity.parse("0Gi"))
    assert one < Quantity.parse("1001m")
    assert Quantity.parse("2") >= one
    assert one != 1
    assert one.__lt__(1) is NotImplemented
    assert one.__le__(1) is NotImplemented
    assert (one <= kilo, one > kilo, one >= kilo, one != kilo) == (True, False, True, False)


def test_the_format_is_remembered() -> None:
    formats = [Quantity.parse(text).format for text in ("1", "1Ki", "1e3", "0.0001Ki")]

    assert formats == [
        QuantityFormat.DECIMAL_SI,
        QuantityFormat.BINARY_SI,
        QuantityFormat.DECIMAL_EXPONENT,
        QuantityFormat.DECIMAL_SI,
    ]
