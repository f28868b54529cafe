"""Durations on the command line in Kubernetes' form."""

from __future__ import annotations

from numalet.cluster.extender.findings import ExtenderSeconds
from numalet.core.model import go_duration
from numalet.core.model.findings import BadInput, Location


def seconds(option: str, text: str) -> float:
    """Parse ``5s`` or ``1m30s`` into seconds. Raises ``BadInput`` unless it is above 0."""
    length_seconds = go_duration.seconds_of(text)
    if not length_seconds:
        raise BadInput([ExtenderSeconds(value=text, where=Location(option))])
    return length_seconds
