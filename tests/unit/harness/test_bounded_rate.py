"""The bounds of the rate of stopped searches, against known values."""

from __future__ import annotations

from collections import Counter

import pytest
from benchmarks import bounded_rate


def test_none_stopped_is_bounded_by_three_in_so_many() -> None:
    # The 3000th root of 0.05, taken from 1.
    assert bounded_rate.upper_bound(0, 3000) == pytest.approx(0.000998, abs=1e-6)


def test_the_bounds_are_those_of_clopper_and_pearson() -> None:
    # One-sided at 95 %: scipy.stats.beta.ppf(0.95, 6, 95) and ppf(0.05, 5, 96).
    assert bounded_rate.upper_bound(5, 100) == pytest.approx(0.1023, abs=1e-4)
    assert bounded_rate.lower_bound(5, 100) == pytest.approx(0.0199, abs=1e-4)


def test_too_much_is_a_stopped_preferred_result_or_surely_more_than_the_goal() -> None:
    assert not bounded_rate.is_too_much(Counter({"last": 1000, "last, stopped": 1}))
    assert bounded_rate.is_too_much(Counter({"last": 1000, "last, stopped": 10}))
    assert bounded_rate.is_too_much(Counter({"last": 1000, "stopped, preferred": 1}))
