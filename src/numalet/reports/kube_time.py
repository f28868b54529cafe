"""Moments as Kubernetes writes them."""

from __future__ import annotations

from datetime import UTC, datetime


def seconds(at: datetime) -> str:
    """To the second, as in most places: ``2030-01-01T00:00:00Z``."""
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def microseconds(at: datetime) -> str:
    """To the microsecond, as in some: ``2030-01-01T00:00:00.000000Z``."""
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"
