"""The kubelet's formulas, figure by figure."""

from __future__ import annotations

import pytest

from numalet.core.enforcement import cgroup_settings
from numalet.core.model.pod import Container, ContainerKind, Pod, QosClass
from numalet.core.model.quantity import Quantity


@pytest.mark.parametrize(
    ("milli", "shares"),
    [
        (0, 2),
        (1, 2),
        (2, 2),
        (3, 3),
        (100, 102),
        (1000, 1024),
        (256_000, 262_144),
        (10**9, 262_144),
    ],
)
def test_cpu_shares_are_1024_for_a_cpu(milli: int, shares: int) -> None:
    assert shares == cgroup_settings.cpu_shares(milli)


@pytest.mark.parametrize(
    ("shares", "weight"),
    [(0, 1), (2, 1), (102, 4), (1024, 39), (2048, 79), (262_143, 9999), (262_144, 10_000)],
)
def test_cpu_weights_are_the_kubelets(shares: int, weight: int) -> None:
    assert weight == cgroup_settings.cpu_weight(shares)


@pytest.mark.parametrize(
    ("milli", "quota"), [(0, None), (-1, None), (1, 1000), (10, 1000), (11, 1100), (2500, 250_000)]
)
def test_a_quota_is_at_least_a_millisecond(milli: int, quota: int | None) -> None:
    assert quota == cgroup_settings.cpu_quota_us(milli)


@pytest.mark.parametrize(
    ("size", "name"),
    [(1 << 16, "64KB"), (2 << 20, "2MB"), (32 << 20, "32MB"), (1 << 30, "1GB"), (16 << 30, "16GB")],
)
def test_page_sizes_are_named_as_the_kernel_names_them(size: int, name: str) -> None:
    assert name == cgroup_settings.hugetlb_name(size)


def _pod(qos: QosClass, *memory: str, sidecar: str | None = None) -> Pod:
    def of(name: str, size: str, kind: ContainerKind) -> Container:
        requests = {"memory": Quantity.parse(size)} if size else {}
        return Container(name, kind, requests, {})

    apps = tuple(of(f"c{at}", size, ContainerKind.APP) for at, size in enumerate(memory))
    inits = () if sidecar is None else (of("side", sidecar, ContainerKind.SIDECAR),)
    return Pod("u", "p", init_containers=inits, app_containers=apps, qos_class=qos)


@pytest.mark.parametrize(
    ("memory", "score"),
    [("", 999), ("1Mi", 999), ("1Gi", 900), ("5Gi", 500), ("10Gi", 3), ("20Gi", 3)],
)
def test_burstable_containers_are_spared_by_what_they_requested(memory: str, score: int) -> None:
    pod = _pod(QosClass.BURSTABLE, memory)
    (container,) = pod.app_containers
    assert score == cgroup_settings.oom_score_adj(pod, container, 10 << 30)


@pytest.mark.parametrize(
    ("qos", "score"), [(QosClass.GUARANTEED, -997), (QosClass.BEST_EFFORT, 1000)]
)
def test_other_classes_have_one_score(qos: QosClass, score: int) -> None:
    pod = _pod(qos, "1Gi")
    assert score == cgroup_settings.oom_score_adj(pod, pod.app_containers[0], 10 << 30)


def test_critical_pods_of_the_node_are_spared_whatever_they_ask() -> None:
    pod = _pod(QosClass.BURSTABLE, "1Gi")
    score = cgroup_settings.oom_score_adj(
        pod, pod.app_containers[0], 10 << 30, cgroup_settings.NODE_CRITICAL
    )
    assert score == -997


@pytest.mark.parametrize(("sidecar", "score"), [("1Gi", 800), ("5Gi", 500)])
def test_a_sidecar_is_killed_no_sooner_than_the_smallest_app(sidecar: str, score: int) -> None:
    pod = _pod(QosClass.BURSTABLE, "2Gi", "4Gi", sidecar=sidecar)
    assert score == cgroup_settings.oom_score_adj(pod, pod.init_containers[0], 10 << 30)


def test_throttling_begins_between_request_and_ceiling() -> None:
    assert cgroup_settings.memory_high_bytes(0, 10 << 20, 900, 4096) == 9 << 20
    assert cgroup_settings.memory_high_bytes(4096, 8191, 900, 4096) is None
