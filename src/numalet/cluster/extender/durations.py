"""Durations on the command line in Kubernetes' form."""

from __future__ import annotations

from numalet.core.model import go_duration, input_error
from numalet.core.model.findings import Location


def seconds(option: str, text: str) -> float:
    """Parse ``5s`` or ``1m30s`` into seconds. Raises ``BadInput`` unless it is above 0."""
    length_seconds = go_duration.seconds_of(text)
    if not length_seconds:
        raise input_error.Invalid(
            f"invalid duration {text!r}",
            expected="more than 0, such as 5s, 500ms or 2m",
            where=Location(option),
        ).bad_input()
    return length_seconds
