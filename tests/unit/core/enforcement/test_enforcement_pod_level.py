"""The settings of pods that ask for resources as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from numalet.core.admission import counting
from numalet.core.config import feature_gates
from numalet.core.config.behaviour import EXACT
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.releases import table
from numalet.core.config.releases.release import ReleaseRules
from numalet.core.enforcement import desired, limits
from numalet.core.enforcement.cgroup_settings import NO_QUOTA, CgroupSettings
from numalet.core.managers.cpu.ledger import CpuLedger
from numalet.core.model import pod_demand
from numalet.core.model.pod import Container, Pod, QosClass
from numalet.core.model.quantity import Quantity
from numalet.core.snapshot.snapshot import Snapshot
from values import builders, whole_pods

GI = 1 << 30
MI = 1 << 20
MACHINE = builders.machine(8, 8, hugepages={2048: 512})
ON = {"PodLevelResources": True}


def _of(amounts: Mapping[str, str]) -> Mapping[str, Quantity]:
    return {name: Quantity.parse(text) for name, text in amounts.items()}


def _pod() -> Pod:
    """One container says nothing of itself; the other has a limit of CPU."""
    whole = _of({"cpu": "4", "memory": "2Gi", "hugepages-2Mi": "64Mi"})
    one = _of({"cpu": "1", "memory": "1Gi"})
    pod = builders.pod("u", Container("c"), Container("d", requests=one, limits=one))
    return replace(
        pod, qos_class=QosClass.BURSTABLE, pod_level=pod_demand.of_pod_level(whole, whole, None)
    )


def _settings(release: str, gates: Mapping[str, bool]) -> tuple[CgroupSettings, ...]:
    """Of both containers and of the pod."""
    of = table.of_name(release)
    resolved = limits.resolve(
        KubeletConfig(feature_gates=gates), MACHINE, replace(EXACT, release=of)
    )
    pod = counting.counted(_pod(), feature_gates.rules_of(of, gates))
    containers = (desired.container(resolved, Snapshot(), pod, name).cgroup for name in "cd")
    return (*containers, desired.pod(resolved, Snapshot(), pod))


@pytest.mark.parametrize(
    ("release", "gates", "pages"), [("1.33", ON, 0), ("1.34", {}, 64 * MI), ("1.36", {}, 64 * MI)]
)
def test_huge_pages_of_a_whole_pod_limit_its_containers_in_some_releases(
    release: str, gates: Mapping[str, bool], pages: int
) -> None:
    silent, own, _ = _settings(release, gates)
    assert [each.hugetlb_max_bytes for each in (silent, own)] == [{2 * MI: pages}] * 2


@pytest.mark.parametrize(("release", "gates"), [("1.33", ON), ("1.34", {}), ("1.36", {})])
def test_what_a_whole_pod_asks_for_limits_what_has_no_limit_of_its_own(
    release: str, gates: Mapping[str, bool]
) -> None:
    silent, own, pod = _settings(release, gates)
    assert (silent.cpu_quota_us, silent.memory_max_bytes) == (400_000, 2 * GI)
    assert (own.cpu_quota_us, own.memory_max_bytes) == (100_000, GI)
    assert (pod.cpu_quota_us, pod.memory_max_bytes) == (400_000, 2 * GI)


@pytest.mark.parametrize(
    ("release", "gates"), [("1.33", {}), ("1.34", {"PodLevelResources": False})]
)
def test_what_does_not_count_limits_nothing(release: str, gates: Mapping[str, bool]) -> None:
    silent, own, pod = _settings(release, gates)
    assert (silent.cpu_quota_us, silent.memory_max_bytes) == (None, None)
    assert (own.cpu_quota_us, own.memory_max_bytes) == (100_000, GI)
    assert (pod.cpu_quota_us, pod.memory_max_bytes) == (None, None)


def test_shared_containers_of_a_pod_placed_as_a_whole_keep_their_quota() -> None:
    one = _of({"cpu": "1", "memory": "1Gi"})
    half = _of({"cpu": "500m", "memory": "1Gi"})
    own, shared = (
        Container("own", requests=one, limits=one),
        Container("s", requests=half, limits=half),
    )
    whole = _of({"cpu": "2", "memory": "2Gi"})
    pod_level = replace(pod_demand.of_pod_level(whole, whole, None), count=True)
    pod = replace(builders.pod("u", own, shared), pod_level=pod_level)
    parts = {"own": frozenset({2}), "s": frozenset({3})}
    snapshot = Snapshot(cpu=CpuLedger(frozenset({0, 1})).with_pod("u", frozenset({2, 3}), parts))
    resolved = limits.resolve(
        KubeletConfig(), MACHINE, replace(EXACT, release=table.of_name("1.36"))
    )
    quotas = [desired.container(resolved, snapshot, pod, n).cgroup.cpu_quota_us for n in parts]
    assert quotas == [NO_QUOTA, 50_000]
    assert desired.pod(resolved, snapshot, pod).cpu_quota_us == 200_000
    alone = replace(pod, app_containers=(own,))
    assert desired.pod(resolved, snapshot, alone).cpu_quota_us == NO_QUOTA


@pytest.mark.parametrize(
    ("release", "policy", "guaranteed", "burstable"),
    [
        ("1.35", "None", GI, GI),
        ("1.36", "None", None, None),
        ("1.36", "TieredReservation", GI, None),
    ],
)
def test_later_releases_keep_memory_by_policy(
    release: str, policy: str, guaranteed: int | None, burstable: int | None
) -> None:
    gates = {"MemoryQoS": True}
    config = KubeletConfig(feature_gates=gates, memory_reservation_policy=policy)
    resolved = limits.resolve(config, MACHINE, replace(EXACT, release=table.of_name(release)))
    one = _of({"cpu": "1", "memory": "1Gi"})
    for qos_class, kept in (
        (QosClass.GUARANTEED, guaranteed),
        (QosClass.BURSTABLE, burstable),
    ):
        pod = builders.pod("u", Container("c", requests=one, limits=one), qos=qos_class)
        assert kept == desired.container(resolved, Snapshot(), pod, "c").cgroup.memory_min_bytes
        assert kept == desired.pod(resolved, Snapshot(), pod).memory_min_bytes


@pytest.mark.parametrize(
    ("release", "factor", "high"),
    [
        ("1.36", None, 972 * MI),
        ("1.36", 0.5, 768 * MI),
        ("1.37", None, None),
        ("1.37", 0.5, 768 * MI),
    ],
)
def test_later_releases_throttle_by_a_given_factor_alone(
    release: str, factor: float | None, high: int | None
) -> None:
    """Without a factor the policy TieredReservation still protects memory."""
    config = KubeletConfig(
        feature_gates={"MemoryQoS": True},
        memory_throttling_factor=factor,
        memory_reservation_policy="TieredReservation",
    )
    resolved = limits.resolve(config, MACHINE, replace(EXACT, release=table.of_name(release)))
    container = Container("c", requests=_of({"memory": "512Mi"}), limits=_of({"memory": "1Gi"}))
    pod = builders.pod("u", container, qos=QosClass.BURSTABLE)
    found = desired.container(resolved, Snapshot(), pod, "c").cgroup.memory_high_bytes
    assert (None if found is None else found // MI * MI) == high
    guaranteed = builders.pod("u", container, qos=QosClass.GUARANTEED)
    assert desired.pod(resolved, Snapshot(), guaranteed).memory_min_bytes == 512 * MI


@pytest.mark.parametrize("release", ["1.36", "1.37"])
def test_later_releases_throttle_a_pod_as_a_whole(release: str) -> None:
    config = KubeletConfig(feature_gates={"MemoryQoS": True}, memory_throttling_factor=0.5)
    resolved = limits.resolve(config, MACHINE, replace(EXACT, release=table.of_name(release)))
    of = whole_pods.pod(
        "u",
        {"requests": {"memory": "512Mi"}, "limits": {"memory": "1Gi"}},
        {"c0": {"requests": {"memory": "256Mi"}}, "c1": {"limits": {"memory": "256Mi"}}},
    )
    pod = counting.counted(of, ReleaseRules(pod_level_resources_count=True))
    best_effort = builders.pod("v", Container("c"), qos=QosClass.BEST_EFFORT)

    def high(which: Pod, name: str) -> int | None:
        return desired.container(resolved, Snapshot(), which, name).cgroup.memory_high_bytes

    whole = desired.pod(resolved, Snapshot(), pod).memory_high_bytes
    others = (high(pod, "c0") is None, high(best_effort, "c") is None)
    if release == "1.36":
        assert (whole, *others) == (None, False, True)
    else:
        assert (whole, *others) == (768 * MI, True, False)
    assert high(pod, "c1") is None
