"""Kubernetes' text formats of a point in time."""

from __future__ import annotations

from datetime import UTC, datetime


def seconds(at: datetime) -> str:
    """Format to the second, the usual format: ``2030-01-01T00:00:00Z``."""
    return _written(at, "seconds")


def microseconds(at: datetime) -> str:
    """Format to the microsecond, as in leases: ``2030-01-01T00:00:00.000000Z``."""
    return _written(at, "microseconds")


def _written(at: datetime, to: str) -> str:
    return at.astimezone(UTC).isoformat(timespec=to).removesuffix("+00:00") + "Z"
