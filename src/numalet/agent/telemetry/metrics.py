"""What the metrics count, as values: numbers that only grow, by name and labels.

A histogram is three kinds of counters under one name, as Prometheus writes it: ``NAME_bucket`` by
the smallest bound that holds the observation, ``NAME_sum`` and ``NAME_count``. Buckets are kept
one by one here; who shows them adds them up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeAlias

from numalet.core.model.value import Value

Labels: TypeAlias = tuple[tuple[str, str], ...]
"""Label names and values, in the order of the metric's definition."""

BUCKET: Final = "_bucket"
SUM: Final = "_sum"
COUNT: Final = "_count"
ABOVE_ALL: Final = "+Inf"


class Counts(Value):
    """Counters by name and labels; one that is not here has never been counted."""

    values: Mapping[tuple[str, Labels], float] = MappingProxyType({})

    def of(self, name: str, labels: Labels = ()) -> float:
        """How often this was counted."""
        return self.values.get((name, labels), 0.0)

    def plus(self, name: str, labels: Labels = (), amount: float = 1.0) -> Counts:
        """The counts after one more of these."""
        return Counts({**self.values, (name, labels): self.of(name, labels) + amount})

    def observed(
        self, name: str, bounds: Sequence[float], value: float, labels: Labels = ()
    ) -> Counts:
        """The counts after one more observation of a histogram with these upper bounds."""
        bound = next((bound_text(each) for each in bounds if value <= each), ABOVE_ALL)
        counted = self.plus(name + BUCKET, (*labels, ("le", bound)))
        return counted.plus(name + SUM, labels, value).plus(name + COUNT, labels)

    def and_also(self, others: Iterable[Counts]) -> Counts:
        """Both sets of counts, which share no metric."""
        values = dict(self.values)
        for each in others:
            values.update(each.values)
        return Counts(values)


def bound_text(bound: float) -> str:
    """An upper bound as the label ``le`` shows it."""
    return f"{bound:g}"
