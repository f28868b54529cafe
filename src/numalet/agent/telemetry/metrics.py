"""Counter values by name and labels.

A histogram is ``NAME_bucket``, ``NAME_sum`` and ``NAME_count``. Buckets here are not cumulative;
the exporter sums them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeAlias

from numalet.core.model.value import Value

Labels: TypeAlias = tuple[tuple[str, str], ...]
"""In the order of the metric's definition."""

BUCKET: Final = "_bucket"
SUM: Final = "_sum"
COUNT: Final = "_count"
ABOVE_ALL: Final = "+Inf"


class Counts(Value):
    """Counters; a missing one is 0."""

    values: Mapping[tuple[str, Labels], float] = MappingProxyType({})

    def of(self, name: str, labels: Labels = ()) -> float:
        return self.values.get((name, labels), 0.0)

    def plus(self, name: str, labels: Labels = (), amount: float = 1.0) -> Counts:
        return Counts({**self.values, (name, labels): self.of(name, labels) + amount})

    def observed(
        self, name: str, bounds: Sequence[float], value: float, labels: Labels = ()
    ) -> Counts:
        """Add an observation of a histogram with these upper bounds."""
        bound = next((bound_text(each) for each in bounds if value <= each), ABOVE_ALL)
        counted = self.plus(name + BUCKET, (*labels, ("le", bound)))
        return counted.plus(name + SUM, labels, value).plus(name + COUNT, labels)

    def and_also(self, others: Iterable[Counts]) -> Counts:
        """Combine counts that share no metric."""
        values = dict(self.values)
        for each in others:
            values.update(each.values)
        return Counts(values)


def bound_text(bound: float) -> str:
    """Format a bound for the label ``le``."""
    return f"{bound:g}"
