"""What is wrong with a text that should be a quantity, in Go's words."""

from __future__ import annotations

from enum import Enum


class QuantityProblem(Enum):
    """What is wrong with a text that should be a quantity; the value is Go's text for it."""

    FORMAT = (
        "quantities must match the regular expression "
        "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    )
    SUFFIX = "unable to parse quantity's suffix"
    TOO_LARGE = "unable to represent quantity: it is larger than 9223372036854775807"
    """Our own: Go reads such a number and later computes with 0 or with its lowest 64 bits."""
    TOO_LONG = "unable to represent quantity: it is longer than 4096 characters"
    """Our own."""


class QuantityError(ValueError):
    """A text is no quantity. ``go_text`` is what Go says, where Go says something."""

    def __init__(self, text: str, problem: QuantityProblem) -> None:
        super().__init__(f"{problem.value}: {text[:80]!r}")
        self.text = text
        self.problem = problem

    @property
    def go_text(self) -> str:
        """The exact text of Go's error."""
        return self.problem.value
