"""References to variables in commands, as Kubernetes replaces them."""

from __future__ import annotations

import pytest

from numalet.core.workload.expansion import expanded, expanded_environment

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
    ],
)
def test_a_reference_is_replaced_when_it_is_known(text: str, result: str) -> None:
    assert expanded(text, KNOWN) == result


def test_a_variable_sees_those_before_it_only() -> None:
    given = (("A", "$(B)"), ("B", "2"), ("C", "$(B)"), ("B", "3$(B)"), ("D", "$(B)"))
    assert expanded_environment(given) == (
        ("A", "$(B)"),
        ("B", "2"),
        ("C", "2"),
        ("B", "32"),
        ("D", "32"),
    )
