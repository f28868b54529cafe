"""What stands on objects that the breaker changed."""

from __future__ import annotations

import pytest

from numalet.core.cluster.cluster import Taint, TaintEffect
from numalet.insight.fleet.keeping_away import TAINT_KEY
from numalet.insight.rejections import patches
from numalet.insight.rejections.patches import EndMark

MARK = EndMark(1_700_000_000.0, "0123456789")
VALUE = "20231114T221320Z.0123456789"


def test_the_value_of_a_taint_says_until_when_and_for_which_shape() -> None:
    assert patches.trap_value(MARK) == VALUE
    assert patches.trap_mark(VALUE) == MARK


@pytest.mark.parametrize("value", ["", "yes", "20231114T221320", "soon.0123456789"])
def test_a_value_without_a_moment_is_not_the_breakers(value: str) -> None:
    assert patches.trap_mark(value) is None


def test_the_mark_of_a_node_is_the_first_one_that_the_breaker_wrote() -> None:
    taints = [
        Taint("nvidia.com/gpu", VALUE, TaintEffect.NO_SCHEDULE),
        Taint(TAINT_KEY, VALUE, TaintEffect.PREFER_NO_SCHEDULE),
        Taint(TAINT_KEY, "", TaintEffect.NO_SCHEDULE),
        Taint(TAINT_KEY, VALUE, TaintEffect.NO_SCHEDULE),
    ]
    assert patches.on_node(taints) == MARK
    assert patches.on_node(taints[:3]) is None


def test_the_mark_of_a_job_stands_in_its_annotations() -> None:
    annotations = {
        patches.SUSPENDED_UNTIL: patches.moment_text(MARK.until_seconds),
        patches.SUSPENDED_FOR: MARK.shape,
    }
    assert patches.on_job(annotations) == MARK
    assert patches.on_job({}) is None


def test_a_job_whose_mark_was_damaged_has_been_suspended_for_long_enough() -> None:
    assert patches.on_job({patches.SUSPENDED_UNTIL: "soon"}) == EndMark(0.0, "")
