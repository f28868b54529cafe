"""Which pods are evicted for a critical one. The cases are worked out by hand from the rules."""

from __future__ import annotations

from dataclasses import replace

import pytest

from numalet.core.admission import preemption
from numalet.core.admission.preemption import Need
from numalet.core.admission.reasons import NothingToPreempt
from numalet.core.model.pod import Container, ContainerKind, Pod, QosClass
from numalet.core.model.quantity import Quantity
from values.builders import pod

GI = 1 << 30


def _pod(
    uid: str,
    qos: QosClass,
    cpu: str = "0",
    memory: str = "0",
    *,
    priority: int | None = None,
    is_static: bool = False,
) -> Pod:
    amounts = {
        name: Quantity.parse(text)
        for name, text in (("cpu", cpu), ("memory", memory))
        if text != "0"
    }
    container = Container("c", ContainerKind.APP, amounts, {})
    return replace(pod(uid, container, qos=qos), is_static=is_static, priority=priority)


CRITICAL = _pod("critical", QosClass.GUARANTEED, is_static=True)
NONE, SOME, ALL = QosClass.BEST_EFFORT, QosClass.BURSTABLE, QosClass.GUARANTEED


def test_a_pod_is_critical_by_its_source_or_its_priority() -> None:
    assert CRITICAL.is_critical
    assert _pod("a", NONE, priority=2_000_000_000).is_critical
    assert not _pod("a", NONE, priority=1_999_999_999).is_critical
    assert not _pod("a", NONE).is_critical


def test_who_yields_is_not_critical_or_has_a_lower_priority() -> None:
    other = _pod("o", NONE, is_static=True)
    assert preemption.yields_to(_pod("a", NONE), CRITICAL)
    assert not preemption.yields_to(other, CRITICAL)
    high = _pod("h", NONE, priority=2_000_000_001)
    low = _pod("l", NONE, priority=2_000_000_000)
    assert preemption.yields_to(low, high)
    assert not preemption.yields_to(high, low)
    assert not preemption.yields_to(low, CRITICAL)
    assert not preemption.yields_to(CRITICAL, high)


@pytest.mark.parametrize(
    ("others", "needs", "evicted"),
    [
        # The one that gives just enough, not the largest.
        (
            [_pod("big", SOME, "8"), _pod("fit", SOME, "2"), _pod("less", SOME, "1")],
            [Need("cpu", 2000)],
            ["fit"],
        ),
        # Two of a lower class rather than one of a higher.
        (
            [_pod("g", ALL, "4"), _pod("b1", SOME, "2"), _pod("b2", SOME, "2")],
            [Need("cpu", 4000)],
            ["b2", "b1"],
        ),
        # A Guaranteed pod only for what the others can not give, and then it goes last.
        (
            [_pod("g", ALL, "4"), _pod("b", SOME, "2")],
            [Need("cpu", 5000)],
            ["b", "g"],
        ),
        # What the Guaranteed ones give is not asked of the others.
        (
            [_pod("g", ALL, "4"), _pod("b", SOME, "1")],
            [Need("cpu", 4000)],
            ["g"],
        ),
        # Each of two needs counts alike, whatever their size.
        (
            [_pod("cpu", SOME, "3"), _pod("both", SOME, "2", "2Gi")],
            [Need("cpu", 2000), Need("memory", 2 * GI)],
            ["both"],
        ),
        # Equally close: less memory, then less CPU, then the later one.
        (
            [_pod("m", SOME, "2", "2Gi"), _pod("n", SOME, "4", "1Gi")],
            [Need("cpu", 1000)],
            ["n"],
        ),
        (
            [_pod("c", SOME, "4", "1Gi"), _pod("d", SOME, "2", "1Gi")],
            [Need("cpu", 1000)],
            ["d"],
        ),
        ([_pod("a", SOME, "2"), _pod("b", SOME, "2")], [Need("cpu", 1000)], ["b"]),
        # Room for a pod is given by any pod.
        ([_pod("a", SOME, "2"), _pod("b", NONE)], [Need("pods", 1)], ["b"]),
        # Who does not yield is not looked at.
        (
            [_pod("s", NONE, "2", is_static=True), _pod("a", ALL, "2")],
            [Need("cpu", 1000)],
            ["a"],
        ),
    ],
)
def test_as_few_and_as_little_as_possible(
    others: list[Pod], needs: list[Need], evicted: list[str]
) -> None:
    assert tuple(evicted) == preemption.victims(CRITICAL, others, needs)


def test_too_little_in_all_of_them_is_reported_by_resource() -> None:
    others = [_pod("a", SOME, "1", "1Gi"), _pod("s", ALL, "8", is_static=True)]
    needs = [Need("cpu", 3000), Need("memory", GI)]
    assert NothingToPreempt((("cpu", 2000),)) == preemption.victims(CRITICAL, others, needs)
