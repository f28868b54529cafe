"""Profiles of the generated tests, for ``pytest --hypothesis-profile=NAME``; see the Makefile."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

for name, examples in {"thorough": 20_000, "sample": 1_000}.items():
    settings.register_profile(
        name,
        max_examples=examples,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )

# Other work on the machine must not decide whether a law holds; pytest's own limit of time does.
settings.register_profile("default", deadline=None)
settings.load_profile("default")
