"""What the metrics count, as values: numbers that only grow, by name and labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeAlias

Labels: TypeAlias = tuple[tuple[str, str], ...]
"""Label names and values, in the order of the metric's definition."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Counters by name and labels; one that is not here has never been counted."""

    values: Mapping[tuple[str, Labels], float] = field(default_factory=lambda: MappingProxyType({}))

    def of(self, name: str, labels: Labels = ()) -> float:
        """How often this was counted."""
        return self.values.get((name, labels), 0.0)

    def plus(self, name: str, labels: Labels = (), amount: float = 1.0) -> Counts:
        """The counts after one more of these."""
        return Counts({**self.values, (name, labels): self.of(name, labels) + amount})
