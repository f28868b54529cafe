"""What is wrong with a scenario file, and why a scenario is not run, in English."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

SENTENCES: Mapping[str, str] = MappingProxyType(
    {
        "scenarios/empty": "there is no scenario in it; at least one is needed",
        "scenarios/not-json": "this line is no JSON: {problem}; every line holds one scenario",
        "scenarios/nothing-expected": "it has no expected outcome (no 'expect')",
        "scenarios/state-file": "no state file is called {value!r}; allowed: {allowed}",
        "scenarios/step": (
            "{value} is no step; a step is an object with exactly one of these fields: {allowed}"
        ),
        "scenarios/unknown-pod": (
            "no earlier step admits a pod with the uid {uid!r}; only the uid of such a pod can "
            "stand here"
        ),
    }
)
