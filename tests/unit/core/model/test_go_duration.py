"""Durations read and printed in Go's manner."""

from __future__ import annotations

import pytest

from numalet.core.model import go_text
from numalet.core.model.go_text import DurationError


@pytest.mark.parametrize(
    ("text", "duration_ns", "printed"),
    [
        ("0", 0, "0s"),
        ("-0", 0, "0s"),
        ("0s", 0, "0s"),
        ("100ms", 100_000_000, "100ms"),
        ("5s", 5_000_000_000, "5s"),
        ("+1.5s", 1_500_000_000, "1.5s"),
        ("-1.5h", -5_400_000_000_000, "-1h30m0s"),
        ("1h", 3_600_000_000_000, "1h0m0s"),
        ("90s", 90_000_000_000, "1m30s"),
        ("1m0.5s", 60_500_000_000, "1m0.5s"),
        (".5ms", 500_000, "500µs"),
        ("1.us", 1_000, "1µs"),
        ("1.25\u00b5s", 1_250, "1.25µs"),
        ("1\u03bcs7ns", 1_007, "1.007µs"),
        ("999ns", 999, "999ns"),
        ("0.5ns", 0, "0s"),
        ("-9223372036854775808ns", -(2**63), "-2562047h47m16.854775808s"),
    ],
)
def test_a_duration_is_read_and_printed_as_in_go(text: str, duration_ns: int, printed: str) -> None:
    assert duration_ns == go_text.parse_duration_ns(text)
    assert printed == go_text.duration_text(duration_ns)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", 'time: invalid duration ""'),
        ("-", 'time: invalid duration "-"'),
        (".s", 'time: invalid duration ".s"'),
        ("s", 'time: invalid duration "s"'),
        ("5", 'time: missing unit in duration "5"'),
        ("1s5", 'time: missing unit in duration "1s5"'),
        ("5x", 'time: unknown unit "x" in duration "5x"'),
        ("5 s", 'time: unknown unit " s" in duration "5 s"'),
        ("9223372036854775808ns", 'time: invalid duration "9223372036854775808ns"'),
        ("1" * 300 + "s", f'time: invalid duration "{"1" * 300}s"'),
    ],
)
def test_what_is_no_duration_is_refused_in_gos_words(text: str, words: str) -> None:
    with pytest.raises(DurationError) as raised:
        go_text.parse_duration_ns(text)

    assert words == raised.value.go_text


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1m30s", 90.0), ("100ms", 0.1), ("0s", 0.0), ("-1s", None), ("5", None), ("", None)],
)
def test_a_length_of_time_is_in_seconds_and_never_below_0(text: str, seconds: float | None) -> None:
    assert go_text.duration_seconds_of(text) == seconds
