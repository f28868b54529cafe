"""Profiles of the generated tests: ``pytest --hypothesis-profile=thorough`` takes minutes."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile(
    "thorough",
    max_examples=20_000,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
