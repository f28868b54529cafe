"""Which pods are evicted for a critical one. The cases are worked out by hand from the rules."""

from __future__ import annotations

import pytest

from builders import pod
from numalet.admission import preemption
from numalet.admission.preemption import Claim, Need
from numalet.admission.reasons import NothingToPreempt
from numalet.model.pod import Container, ContainerKind, QosClass
from numalet.model.quantity import Quantity

GI = 1 << 30


def _claim(
    uid: str,
    qos: QosClass,
    cpu: str = "0",
    memory: str = "0",
    *,
    priority: int | None = None,
    is_static: bool = False,
) -> Claim:
    amounts = {
        name: Quantity.parse(text)
        for name, text in (("cpu", cpu), ("memory", memory))
        if text != "0"
    }
    container = Container("c", ContainerKind.APP, amounts, {})
    return Claim(pod(uid, container, qos=qos), is_static, priority)


CRITICAL = _claim("critical", QosClass.GUARANTEED, is_static=True)
NONE, SOME, ALL = QosClass.BEST_EFFORT, QosClass.BURSTABLE, QosClass.GUARANTEED


def test_a_pod_is_critical_by_its_source_or_its_priority() -> None:
    assert CRITICAL.is_critical
    assert _claim("a", NONE, priority=2_000_000_000).is_critical
    assert not _claim("a", NONE, priority=1_999_999_999).is_critical
    assert not _claim("a", NONE).is_critical


def test_who_yields_is_not_critical_or_has_a_lower_priority() -> None:
    other = _claim("o", NONE, is_static=True)
    assert _claim("a", NONE).yields_to(CRITICAL)
    assert not other.yields_to(CRITICAL)
    high = _claim("h", NONE, priority=2_000_000_001)
    low = _claim("l", NONE, priority=2_000_000_000)
    assert low.yields_to(high)
    assert not high.yields_to(low)
    assert not low.yields_to(CRITICAL)
    assert not CRITICAL.yields_to(high)


@pytest.mark.parametrize(
    ("others", "needs", "evicted"),
    [
        # The one that gives just enough, not the largest.
        (
            [_claim("big", SOME, "8"), _claim("fit", SOME, "2"), _claim("less", SOME, "1")],
            [Need("cpu", 2000)],
            ["fit"],
        ),
        # Two of a lower class rather than one of a higher.
        (
            [_claim("g", ALL, "4"), _claim("b1", SOME, "2"), _claim("b2", SOME, "2")],
            [Need("cpu", 4000)],
            ["b2", "b1"],
        ),
        # A Guaranteed pod only for what the others can not give, and then it goes last.
        (
            [_claim("g", ALL, "4"), _claim("b", SOME, "2")],
            [Need("cpu", 5000)],
            ["b", "g"],
        ),
        # What the Guaranteed ones give is not asked of the others.
        (
            [_claim("g", ALL, "4"), _claim("b", SOME, "1")],
            [Need("cpu", 4000)],
            ["g"],
        ),
        # Each of two needs counts alike, whatever their size.
        (
            [_claim("cpu", SOME, "3"), _claim("both", SOME, "2", "2Gi")],
            [Need("cpu", 2000), Need("memory", 2 * GI)],
            ["both"],
        ),
        # Equally close: less memory, then less CPU, then the later one.
        (
            [_claim("m", SOME, "2", "2Gi"), _claim("n", SOME, "4", "1Gi")],
            [Need("cpu", 1000)],
            ["n"],
        ),
        (
            [_claim("c", SOME, "4", "1Gi"), _claim("d", SOME, "2", "1Gi")],
            [Need("cpu", 1000)],
            ["d"],
        ),
        ([_claim("a", SOME, "2"), _claim("b", SOME, "2")], [Need("cpu", 1000)], ["b"]),
        # Room for a pod is given by any pod.
        ([_claim("a", SOME, "2"), _claim("b", NONE)], [Need("pods", 1)], ["b"]),
        # Who does not yield is not looked at.
        (
            [_claim("s", NONE, "2", is_static=True), _claim("a", ALL, "2")],
            [Need("cpu", 1000)],
            ["a"],
        ),
    ],
)
def test_as_few_and_as_little_as_possible(
    others: list[Claim], needs: list[Need], evicted: list[str]
) -> None:
    assert tuple(evicted) == preemption.victims(CRITICAL, others, needs)


def test_too_little_in_all_of_them_is_told_by_resource() -> None:
    others = [_claim("a", SOME, "1", "1Gi"), _claim("s", ALL, "8", is_static=True)]
    needs = [Need("cpu", 3000), Need("memory", GI)]
    assert NothingToPreempt((("cpu", 2000),)) == preemption.victims(CRITICAL, others, needs)
