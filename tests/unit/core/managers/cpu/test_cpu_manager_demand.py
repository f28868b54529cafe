"""Who gets exclusive CPUs, and how many a pod asks for as one."""

from __future__ import annotations

import pytest

from numalet.core.managers.cpu import static_policy
from numalet.core.model.pod import Pod, QosClass
from values.cpu_builders import container, init, pod, sidecar


@pytest.mark.parametrize(
    ("cpu", "expected"),
    [
        ("2", 2),
        ("2000m", 2),
        ("2e0", 2),
        ("1999.5m", 2),
        ("1.9999", 2),
        ("1500m", 0),
        ("1999m", 0),
        ("0", 0),
        (None, 0),
    ],
)
def test_only_whole_numbers_are_exclusive(cpu: str | None, expected: int) -> None:
    asking = container("c", cpu)

    assert expected == static_policy.of_container(pod("u", asking), asking)


@pytest.mark.parametrize("qos", [QosClass.BURSTABLE, QosClass.BEST_EFFORT])
def test_only_guaranteed_pods_ask(qos: QosClass) -> None:
    asking = container("c", "2")

    assert static_policy.of_container(pod("u", asking, qos=qos), asking) == 0


@pytest.mark.parametrize(
    ("asking", "expected"),
    [
        (pod("u", container("a", "2"), container("b", "1500m"), container("c", "3")), 5),
        (pod("u", init("i", "4"), init("j", "6"), container("a", "2")), 6),
        (pod("u", init("i", "4"), container("a", "5")), 5),
        (pod("u", sidecar("s", "2"), container("a", "5")), 7),
        (pod("u", sidecar("s", "2"), init("i", "6"), container("a", "5")), 8),
        (pod("u", init("i", "6"), sidecar("s", "2"), container("a", "3")), 6),
    ],
)
def test_a_pod_asks_for_its_peak(asking: Pod, expected: int) -> None:
    assert expected == static_policy.of_pod(asking)
