"""Lengths of time on the command line, as Kubernetes writes them."""

from __future__ import annotations

from numalet.cluster.extender.findings import ExtenderSeconds
from numalet.core.model import go_duration
from numalet.core.model.findings import BadInput, Location
from numalet.core.model.go_duration import DurationError


def seconds(option: str, text: str) -> float:
    """The seconds of ``5s`` or ``1m30s``. Raises ``BadInput`` if it is no time above 0."""
    try:
        length_ns = go_duration.parse_ns(text)
    except DurationError:
        length_ns = 0
    if length_ns <= 0:
        raise BadInput([ExtenderSeconds(value=text, where=Location(option))])
    return length_ns / go_duration.SECOND_NS
