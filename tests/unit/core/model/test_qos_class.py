"""Which QoS class a pod has."""

from __future__ import annotations

import pytest

from numalet.core.model.pod import Container, ContainerKind, QosClass
from numalet.core.model.pod_demand import qos_class
from numalet.core.model.quantity import Quantity


def container(
    requests: dict[str, str], limits: dict[str, str], kind: ContainerKind = ContainerKind.APP
) -> Container:
    """A container that asks for these quantities."""
    return Container(
        "c",
        kind,
        {name: Quantity.parse(text) for name, text in requests.items()},
        {name: Quantity.parse(text) for name, text in limits.items()},
    )


BOTH = {"cpu": "1", "memory": "1Gi"}


def test_nothing_asked_for_is_best_effort() -> None:
    assert qos_class([]) is QosClass.BEST_EFFORT
    assert qos_class([container({}, {})]) is QosClass.BEST_EFFORT


def test_only_cpu_and_memory_count() -> None:
    others = {"hugepages-2Mi": "2Mi", "ephemeral-storage": "1Gi", "example.com/gpu": "1"}
    assert qos_class([container(others, others)]) is QosClass.BEST_EFFORT
    assert qos_class([container(others | BOTH, others | BOTH)]) is QosClass.GUARANTEED


def test_equal_requests_and_limits_are_guaranteed_whatever_their_spelling() -> None:
    assert qos_class([container({"cpu": "1000m", "memory": "1024Mi"}, BOTH)]) is QosClass.GUARANTEED


def test_every_container_needs_both_limits() -> None:
    assert qos_class([container(BOTH, BOTH), container({}, {})]) is QosClass.BURSTABLE
    init = container({}, {"cpu": "1"}, ContainerKind.INIT)
    assert qos_class([init, container(BOTH, BOTH)]) is QosClass.BURSTABLE


def test_sums_are_compared_and_not_single_containers() -> None:
    small, large = {"cpu": "1", "memory": "1Gi"}, {"cpu": "2", "memory": "1Gi"}
    assert qos_class([container(small, large), container(large, small)]) is QosClass.GUARANTEED


@pytest.mark.parametrize(
    ("requests", "limits"),
    [
        ({"cpu": "1"}, {}),
        ({}, {"memory": "1Gi"}),
        ({"cpu": "1", "memory": "1Gi"}, {"cpu": "2", "memory": "1Gi"}),
        ({"cpu": "1"}, {"cpu": "1", "memory": "1Gi"}),
        ({"cpu": "1", "memory": "1Gi"}, {"cpu": "1"}),
    ],
)
def test_everything_else_is_burstable(requests: dict[str, str], limits: dict[str, str]) -> None:
    assert qos_class([container(requests, limits)]) is QosClass.BURSTABLE


def test_zero_counts_as_absent() -> None:
    zero = {"cpu": "0", "memory": "0"}
    assert qos_class([container(zero, zero)]) is QosClass.BEST_EFFORT
    assert qos_class([container(BOTH, BOTH), container(zero, zero)]) is QosClass.BURSTABLE
