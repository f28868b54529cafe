"""References to variables in commands, as Kubernetes replaces them."""

from __future__ import annotations

import pytest

from numalet.core.model import limits
from numalet.core.workload.expansion import Expander, TooLong

KNOWN = {"A": "1", "B": "$(A)", "": "empty"}


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("", ""),
        ("plain", "plain"),
        ("$(A)", "1"),
        ("x$(A)y$(A)", "x1y1"),
        ("$(B)", "$(A)"),
        ("$(UNKNOWN)", "$(UNKNOWN)"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$1"),
        ("$$$$(A)", "$$(A)"),
        ("$(A", "$(A"),
        ("$", "$"),
        ("a$", "a$"),
        ("$A", "$A"),
        ("$()", "empty"),
        ("$($(A))", "$($(A))"),
        ("$(ls -l)", "$(ls -l)"),
        ("$(A)$$($", "1$($"),
        ("$$)", "$)"),
    ],
)
def test_a_reference_is_replaced_when_it_is_known(text: str, result: str) -> None:
    assert Expander().expanded(text, KNOWN) == result


MOST = limits.WORD_BYTES
ONE = TooLong(MOST, "one word or variable")


@pytest.mark.parametrize(
    ("text", "name", "fits"),
    [
        ("x" * (MOST - 1), "", True),
        ("x" * MOST, "", False),
        ("é" * (MOST // 2), "", False),
        ("x" * (MOST - 6), "NAME", True),
        ("x" * (MOST - 5), "NAME", False),
        ("$(LONG)" * 15 + "x" * (MOST // 16 - 1), "", True),
        ("$(LONG)" * 16, "", False),
        ("$(LONG)" * 400_000, "", False),
        ("$(EMPTY)" * 200_000, "", True),
        ("$(" * (MOST // 2 - 1), "", True),
    ],
)
def test_a_word_is_as_long_as_the_kernel_takes_it(text: str, name: str, fits: bool) -> None:
    known = {"LONG": "x" * (MOST // 16), "EMPTY": ""}
    made = Expander().expanded(text, known, name)
    assert isinstance(made, str) if fits else made == ONE


def test_all_words_of_a_pod_have_a_limit_too() -> None:
    expander = Expander()
    long = "x" * (MOST - 1)
    for _ in range(limits.WORDS_OF_A_POD_BYTES // MOST):
        assert expander.expanded("$(A)", {"A": long}) == long
    made = expander.expanded("", {})
    assert made == TooLong(limits.WORDS_OF_A_POD_BYTES, "all words and variables of the pod")
