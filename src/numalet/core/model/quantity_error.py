"""Errors of parsing a quantity, in Go's words."""

from __future__ import annotations

from enum import Enum


class QuantityProblem(Enum):
    """Why a text is not a quantity; the value is Go's error text."""

    FORMAT = (
        "quantities must match the regular expression "
        "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    )
    SUFFIX = "unable to parse quantity's suffix"
    TOO_LARGE = "unable to represent quantity: it is larger than 9223372036854775807"
    """Our own: Go parses such a number and later uses 0 or its lowest 64 bits."""
    TOO_LONG = "unable to represent quantity: it is longer than 4096 characters"
    """Our own."""


class QuantityError(ValueError):
    """The text is not a quantity. ``go_text`` is Go's error text, or ours."""

    def __init__(self, text: str, problem: QuantityProblem) -> None:
        super().__init__(f"{problem.value}: {text[:80]!r}")
        self.text = text
        self.problem = problem

    @property
    def go_text(self) -> str:
        return self.problem.value
