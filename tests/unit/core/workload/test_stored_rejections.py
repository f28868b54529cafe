"""Rejections that were stored, and damaged ones."""

from __future__ import annotations

import pytest

from numalet.core.admission.reasons import NotAligned, NothingToPreempt, OutOfResource
from numalet.core.hints.provider import Hint
from numalet.core.workload import rejections
from numalet.core.workload.run import Cause


def test_numbers_hints_and_amounts_are_read_again() -> None:
    for each in (
        OutOfResource("cpu", 3000, 1000, 2000),
        NotAligned("c", "restricted", Hint(0b11, False)),
        NothingToPreempt(lacking=(("cpu", 2), ("memory", 1 << 30))),
    ):
        assert rejections.rejection(rejections.causes(each)) == each


@pytest.mark.parametrize(
    ("name", "text"), [("requested", "1.5"), ("requested", "true"), ("used", "[]")]
)
def test_a_number_that_is_not_whole_is_not_a_rejection(name: str, text: str) -> None:
    (cause,) = rejections.causes(OutOfResource("cpu", 3000, 1000, 2000))
    assert rejections.rejection([Cause(cause.code, {**cause.fields, name: text})]) is None


def test_a_set_of_nodes_below_zero_is_not_a_rejection() -> None:
    (cause,) = rejections.causes(NotAligned("c", "restricted", Hint(0b11, False)))
    below = Cause(cause.code, {**cause.fields, "affinity": "[-1, false]"})
    assert rejections.rejection([below]) is None
