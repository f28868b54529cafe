"""The settings that follow from the node state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import pytest

from numalet.core.config.behaviour import EXACT, NATIVE
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.releases import table
from numalet.core.enforcement import desired, limits
from numalet.core.enforcement.cgroup_settings import NO_QUOTA, CgroupSettings
from numalet.core.enforcement.limits import KernelLimits, Limits
from numalet.core.managers.cpu.ledger import CpuLedger
from numalet.core.managers.memory.ledger import MemoryBlock, MemoryLedger
from numalet.core.model.pod import Container, ContainerKind, Pod, QosClass
from numalet.core.model.quantity import Quantity
from numalet.core.snapshot.snapshot import Snapshot
from values import builders

GI = 1 << 30
MI = 1 << 20
MACHINE = builders.machine(8, 8, hugepages={2048: 512, 1 << 20: 1})
LIMITS = limits.resolve(KubeletConfig(), MACHINE)
QOS_ON = limits.resolve(KubeletConfig(feature_gates=MappingProxyType({"MemoryQoS": True})), MACHINE)


def _of(amounts: Mapping[str, str]) -> Mapping[str, Quantity]:
    return {name: Quantity.parse(text) for name, text in amounts.items()}


def _container(
    name: str,
    requests: Mapping[str, str],
    most: Mapping[str, str] | None = None,
    kind: ContainerKind = ContainerKind.APP,
) -> Container:
    return Container(name, kind, _of(requests), _of(requests if most is None else most))


def _pod(qos: QosClass, *containers: Container, uid: str = "u") -> Pod:
    return builders.pod(uid, *containers, qos=qos)


GUARANTEED = _pod(
    QosClass.GUARANTEED,
    _container("c", {"cpu": "2", "memory": "1Gi", "hugepages-1Gi": "1Gi"}),
    _container("d", {"cpu": "500m", "memory": "100Mi"}),
)
SNAPSHOT = Snapshot(
    cpu=CpuLedger(default=frozenset({0, 1}), exclusive={"u": {"c": frozenset({2, 3})}}),
    memory=MemoryLedger(
        {},
        {
            "u": {
                "c": (MemoryBlock((1,), "memory", GI), MemoryBlock((0, 1), "hugepages-1Gi", GI)),
                "d": (MemoryBlock((0,), "memory", 100 * MI),),
            }
        },
    ),
)


def test_a_container_gets_its_own_cpus_and_the_nodes_of_all_its_memory() -> None:
    settings = desired.container(LIMITS, SNAPSHOT, GUARANTEED, "c")
    assert settings.path == "podu/c"
    assert settings.oom_score_adj == -997
    assert settings.cgroup == CgroupSettings(
        cpus=frozenset({2, 3}),
        memory_nodes=(0, 1),
        memory_max_bytes=GI,
        swap_max_bytes=0,
        hugetlb_max_bytes={2 * MI: 0, GI: GI},
        cpu_weight=79,
        cpu_quota_us=200_000,
        oom_group=True,
    )


def test_a_container_without_cpus_of_its_own_gets_the_shared_pool() -> None:
    cgroup = desired.container(LIMITS, SNAPSHOT, GUARANTEED, "d").cgroup
    assert frozenset({0, 1}) == cgroup.cpus
    assert cgroup.memory_nodes == (0,)
    assert cgroup.hugetlb_max_bytes == {2 * MI: 0, GI: 0}


def test_where_the_managers_decide_nothing_no_set_is_written() -> None:
    cgroup = desired.container(LIMITS, Snapshot(), GUARANTEED, "c").cgroup
    assert cgroup.cpus is None
    assert cgroup.memory_nodes is None


def test_a_strange_name_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        desired.container(LIMITS, SNAPSHOT, GUARANTEED, "x")


def test_exclusive_cpus_have_a_quota_in_exact_mode_alone() -> None:
    exact = limits.resolve(KubeletConfig(), MACHINE, EXACT)
    assert desired.container(exact, SNAPSHOT, GUARANTEED, "c").cgroup.cpu_quota_us == 200_000
    assert desired.pod(exact, SNAPSHOT, GUARANTEED).cpu_quota_us == 250_000
    native = limits.resolve(KubeletConfig(), MACHINE, NATIVE)
    assert desired.container(native, SNAPSHOT, GUARANTEED, "c").cgroup.cpu_quota_us == NO_QUOTA
    assert desired.pod(native, SNAPSHOT, GUARANTEED).cpu_quota_us == NO_QUOTA


@pytest.mark.parametrize(
    ("release", "gates", "quotas"),
    [
        ("1.32", {}, (200_000, 250_000)),
        ("1.33", {}, (NO_QUOTA, NO_QUOTA)),
        ("1.33", {"DisableCPUQuotaWithExclusiveCPUs": False}, (200_000, 250_000)),
        ("1.36", {}, (NO_QUOTA, NO_QUOTA)),
        ("1.36", {"DisableCPUQuotaWithExclusiveCPUs": False}, (200_000, 250_000)),
    ],
)
def test_exclusive_cpus_have_no_quota_in_releases_that_switch_it_off(
    release: str, gates: Mapping[str, bool], quotas: tuple[int, int]
) -> None:
    config = KubeletConfig(feature_gates=gates)
    behaviour = replace(EXACT, release=table.of_name(release))
    resolved = limits.resolve(config, MACHINE, behaviour)
    own = desired.container(resolved, SNAPSHOT, GUARANTEED, "c").cgroup.cpu_quota_us
    assert quotas == (own, desired.pod(resolved, SNAPSHOT, GUARANTEED).cpu_quota_us)
    # A container that shares CPUs keeps its quota.
    assert desired.container(resolved, SNAPSHOT, GUARANTEED, "d").cgroup.cpu_quota_us == 50_000


def test_memory_qos_is_switched_on_with_all_alpha_gates_too() -> None:
    config = KubeletConfig(feature_gates={"AllAlpha": True})
    assert limits.resolve(config, MACHINE) == QOS_ON


def test_who_shares_cpus_has_a_quota_in_native_mode_too() -> None:
    native = limits.resolve(KubeletConfig(), MACHINE, NATIVE)
    assert desired.container(native, SNAPSHOT, GUARANTEED, "d").cgroup.cpu_quota_us == 50_000
    sharing = _pod(QosClass.GUARANTEED, _container("c", {"cpu": "1500m"}), uid="other")
    assert desired.pod(native, SNAPSHOT, sharing).cpu_quota_us == 150_000


def test_a_limit_of_cpu_stands_in_for_a_missing_request() -> None:
    pod = _pod(QosClass.BURSTABLE, _container("c", {}, {"cpu": "1"}))
    assert desired.container(LIMITS, Snapshot(), pod, "c").cgroup.cpu_weight == 39


def test_nothing_asked_is_nothing_limited() -> None:
    pod = _pod(QosClass.BEST_EFFORT, _container("c", {}))
    cgroup = desired.container(LIMITS, Snapshot(), pod, "c").cgroup
    assert cgroup.memory_max_bytes is None
    assert cgroup.cpu_quota_us is None
    assert cgroup.cpu_weight == 1


def test_sizes_are_whole_pages() -> None:
    pod = _pod(QosClass.BURSTABLE, _container("c", {"memory": "5001", "hugepages-2Mi": "3Mi"}))
    cgroup = desired.container(LIMITS, Snapshot(), pod, "c").cgroup
    assert cgroup.memory_max_bytes == 4096
    assert cgroup.hugetlb_max_bytes[2 * MI] == 2 * MI


def test_the_levels_above_have_no_sets_of_their_own() -> None:
    tree = desired.tree(LIMITS, SNAPSHOT, [GUARANTEED])
    assert list(tree) == ["", "burstable", "besteffort", "podu"]
    assert {(frozenset(), ())} == {(level.cpus, level.memory_nodes) for level in tree.values()}


def test_a_guaranteed_pod_has_the_sums_of_its_containers() -> None:
    pod = desired.tree(LIMITS, SNAPSHOT, [GUARANTEED])["podu"]
    assert pod.cpu_quota_us == 250_000
    assert pod.memory_max_bytes == GI + 100 * MI
    assert pod.hugetlb_max_bytes == {2 * MI: 0, GI: GI}


def test_a_burstable_pod_is_limited_only_if_all_its_containers_are() -> None:
    both = _container("a", {"cpu": "1", "memory": "1Gi"}, {"cpu": "2", "memory": "2Gi"})
    half = _container("b", {"memory": "1Gi"}, {"memory": "1Gi"})
    alone = desired.tree(LIMITS, SNAPSHOT, [_pod(QosClass.BURSTABLE, both)])["burstable/podu"]
    mixed = desired.tree(LIMITS, SNAPSHOT, [_pod(QosClass.BURSTABLE, both, half)])["burstable/podu"]
    assert (alone.cpu_quota_us, alone.memory_max_bytes) == (200_000, 2 * GI)
    assert (mixed.cpu_quota_us, mixed.memory_max_bytes) == (None, 3 * GI)


def test_classes_weigh_what_their_pods_ask_for() -> None:
    one = _pod(QosClass.BURSTABLE, _container("c", {"cpu": "1"}, {}), uid="a")
    two = _pod(QosClass.BURSTABLE, _container("c", {"cpu": "1"}, {}), uid="b")
    none = _pod(QosClass.BEST_EFFORT, _container("c", {}), uid="d")
    tree = desired.tree(LIMITS, SNAPSHOT, [two, one, none])
    assert tree["burstable"].cpu_weight == 79
    assert tree["besteffort"].cpu_weight == 1
    assert tree["besteffort/podd"] == CgroupSettings(
        cpus=frozenset(), memory_nodes=(), cpu_weight=1, hugetlb_max_bytes={2 * MI: 0, GI: 0}
    )


def test_all_pods_together_leave_what_is_reserved() -> None:
    config = KubeletConfig(
        kube_reserved=MappingProxyType({"memory": "1Gi", "cpu": "500m"}),
        system_reserved=MappingProxyType({"memory": "1Gi"}),
        eviction_hard=MappingProxyType({"memory.available": "1Gi"}),
    )
    root = desired.tree(limits.resolve(config, MACHINE), SNAPSHOT, [])[""]
    assert root.memory_max_bytes == 14 * GI
    assert root.cpu_weight == 137
    assert root.hugetlb_max_bytes == {2 * MI: 2 * GI, GI: 2 * GI}
    kept = replace(config, enforce_node_allocatable=("none",))
    assert desired.tree(limits.resolve(kept, MACHINE), SNAPSHOT, [])[""].memory_max_bytes == 16 * GI


def test_more_reserved_than_there_is_leaves_nothing() -> None:
    config = KubeletConfig(kube_reserved=MappingProxyType({"memory": "1Ti"}))
    resolved = limits.resolve(config, MACHINE)
    assert resolved.for_pods["memory"].is_zero
    assert desired.tree(resolved, SNAPSHOT, [])[""].memory_max_bytes is None


def test_the_kubelets_other_switches_count() -> None:
    config = KubeletConfig(cpu_cfs_quota=False, single_process_oom_kill=True, pod_pids_limit=100)
    resolved = limits.resolve(config, MACHINE)
    cgroup = desired.container(resolved, SNAPSHOT, GUARANTEED, "c").cgroup
    assert (cgroup.cpu_quota_us, cgroup.oom_group) == (NO_QUOTA, False)
    pod = desired.pod(resolved, SNAPSHOT, GUARANTEED)
    assert (pod.cpu_quota_us, pod.pids_max) == (NO_QUOTA, 100)


@pytest.mark.parametrize("limit", [-1, 0])
def test_a_limit_of_processes_that_is_not_above_zero_is_none(limit: int) -> None:
    resolved = limits.resolve(KubeletConfig(pod_pids_limit=limit), MACHINE)
    assert desired.pod(resolved, SNAPSHOT, GUARANTEED).pids_max is None


def test_quotas_are_in_the_period_of_the_configuration() -> None:
    resolved = limits.resolve(KubeletConfig(cpu_cfs_quota_period_ns=10_000_000), MACHINE)
    container = desired.container(resolved, SNAPSHOT, GUARANTEED, "d").cgroup
    assert (container.cpu_quota_us, container.cpu_period_us) == (5_000, 10_000)
    pod = desired.pod(resolved, SNAPSHOT, GUARANTEED)
    assert (pod.cpu_quota_us, pod.cpu_period_us) == (25_000, 10_000)


def test_all_pods_together_have_the_tasks_that_are_not_reserved() -> None:
    config = KubeletConfig(
        kube_reserved=MappingProxyType({"pid": "100"}),
        system_reserved=MappingProxyType({"pid": "1k"}),
    )
    kernel = KernelLimits(page_bytes=65536, tasks=32768)
    resolved = limits.resolve(config, MACHINE, EXACT, kernel)
    assert desired.tree(resolved, SNAPSHOT, [])[""].pids_max == 32768 - 1100
    kept = replace(config, enforce_node_allocatable=("none",))
    whole = limits.resolve(kept, MACHINE, EXACT, kernel)
    assert desired.tree(whole, SNAPSHOT, [])[""].pids_max == 32768
    assert desired.tree(LIMITS, SNAPSHOT, [])[""].pids_max is None
    odd = _pod(QosClass.BURSTABLE, _container("c", {"memory": "100001"}))
    assert desired.container(resolved, SNAPSHOT, odd, "c").cgroup.memory_max_bytes == 65536


def test_memory_is_protected_and_throttled_where_asked() -> None:
    spec = _container("c", {"memory": "1Gi"}, {"memory": "2Gi"})
    pod = _pod(QosClass.BURSTABLE, spec)
    cgroup = desired.container(QOS_ON, Snapshot(), pod, "c").cgroup
    assert cgroup.memory_min_bytes == GI
    assert cgroup.memory_high_bytes == (GI + GI * 9 // 10) // 4096 * 4096
    tree = desired.tree(QOS_ON, SNAPSHOT, [pod])
    assert {GI} == {tree[path].memory_min_bytes for path in ("", "burstable", "burstable/podu")}


def test_a_request_that_is_the_limit_is_not_throttled() -> None:
    cgroup = desired.container(QOS_ON, SNAPSHOT, GUARANTEED, "c").cgroup
    assert (cgroup.memory_min_bytes, cgroup.memory_high_bytes) == (GI, None)


def test_without_a_limit_the_node_is_the_ceiling() -> None:
    pod = _pod(QosClass.BURSTABLE, _container("c", {"memory": "1Gi"}, {}))
    cgroup = desired.container(QOS_ON, Snapshot(), pod, "c").cgroup
    assert cgroup.memory_high_bytes == (GI + 15 * GI * 9 // 10) // 4096 * 4096


def test_limits_know_the_page_sizes() -> None:
    assert isinstance(LIMITS, Limits)
    assert LIMITS.page_sizes == (2 * MI, GI)
