"""The settings that every cgroup and every container should have, from the snapshot.

Above the containers there are only sums, as the kubelet has them: weights, quotas and sizes of
pods, weights of the two classes below Guaranteed, and the whole of what pods may use. No level
there has sets of CPUs or NUMA nodes of its own, because a set above would narrow the sets below.
A container gets its exclusive CPUs or the shared pool, the NUMA nodes of its memory, and its
limits; huge pages of a size that it did not ask for are limited to none.
Kubelet v1.32: ``ResourceConfigForPod``, ``setCPUCgroupConfig``, ``getCgroupConfig``,
``generateLinuxContainerResources``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from numalet.core.admission import counting
from numalet.core.enforcement import conversions, paths
from numalet.core.enforcement.limits import Limits
from numalet.core.enforcement.settings import NO_QUOTA, CgroupSettings, ContainerSettings
from numalet.core.model import cpu_set, pod_demand, resources
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.machine_info import NumaNodeInfo
from numalet.core.model.pod import NO_RESOURCES, Container, Pod, QosClass, Resources
from numalet.core.snapshot import runtime_sets
from numalet.core.snapshot.snapshot import Snapshot


def tree(limits: Limits, snapshot: Snapshot, pods: Iterable[Pod]) -> Mapping[str, CgroupSettings]:
    """The cgroups above the containers of these pods, by path, each after those above it."""
    running = sorted(pods, key=lambda each: each.uid)
    burstable = [each for each in running if each.qos_class is QosClass.BURSTABLE]
    cgroups = {
        paths.ROOT: _root(limits, running),
        paths.BURSTABLE: CgroupSettings(
            cpus=cpu_set.EMPTY,
            memory_nodes=(),
            cpu_weight=conversions.weight_of_request(_sum(burstable, resources.CPU)),
            memory_min_bytes=_protected(limits, burstable),
        ),
        paths.BEST_EFFORT: CgroupSettings(
            cpus=cpu_set.EMPTY, memory_nodes=(), cpu_weight=conversions.weight_of_request(0)
        ),
    }
    return cgroups | {paths.of_pod(each): pod(limits, snapshot, each) for each in running}


def container(
    limits: Limits, snapshot: Snapshot, pod: Pod, name: str, priority_class: str = ""
) -> ContainerSettings:
    """What holds one container of an admitted pod. Raises ``KeyError`` for an unknown name."""
    spec = pod.by_name[name]
    most = _limits_of(limits, pod, spec)
    is_limited = _is_limited(limits, _has_own_cpus(snapshot, pod, spec))
    memory_limit = _amount(most, resources.MEMORY)
    request = _milli(spec.requests if resources.CPU in spec.requests else spec.limits)
    score = conversions.oom_score_adj(pod, spec, limits.capacity_bytes, priority_class)
    return ContainerSettings(
        path=paths.of_container(pod, name),
        cgroup=CgroupSettings(
            cpus=cpus(snapshot, pod.uid, name),
            memory_nodes=memory_nodes(limits.nodes, snapshot, pod, name) or None,
            memory_max_bytes=_whole(limits, memory_limit),
            memory_high_bytes=_high(limits, spec),
            memory_min_bytes=_asked_protection(limits, pod, spec),
            swap_max_bytes=0,
            hugetlb_max_bytes=_huge_pages(limits, most),
            cpu_weight=conversions.weight_of_request(request),
            cpu_quota_us=_quota(limits, most) if is_limited else NO_QUOTA,
            cpu_period_us=limits.period_us,
            oom_group=limits.oom_group,
        ),
        # It is not spared when memory runs out, since it may be what uses it up.
        oom_score_adj=0 if _is_without_size(pod, spec) else score,
    )


def _limits_of(limits: Limits, pod: Pod, spec: Container) -> Resources:
    """The limits of a container; where it has none, those of its pod as a whole, if they count.

    Kubelet: ``getCPULimit``, ``getMemoryLimit``, v1.34; ``GetHugepageLimitsFromResources``.
    """
    if pod.pod_level is None or not pod.pod_level.count:
        return spec.limits
    whole = {
        name: each
        for name, each in pod.pod_level.limits.items()
        if limits.pod_level_pages or not resources.is_hugepages(name)
    }
    own = {name: each for name, each in spec.limits.items() if each.sign > 0 or name not in whole}
    return {**whole, **own}


def cpus(snapshot: Snapshot, pod_uid: str, name: str) -> CpuSet | None:
    """The CPUs of one container; None where nothing is set."""
    return runtime_sets.cpus(snapshot, pod_uid, name) or None


def memory_nodes(
    nodes: Iterable[NumaNodeInfo], snapshot: Snapshot, pod: Pod, name: str
) -> tuple[int, ...]:
    """The NUMA nodes on which a container has its pages; empty where nothing is set.

    They are those of its promised memory; for a command without a promised size those of its own
    CPUs. ``nodes`` are the machine's.
    """
    promised = runtime_sets.memory_nodes(snapshot, pod.uid, name)
    if promised or not _is_without_size(pod, pod.by_name[name]):
        return promised
    own = snapshot.cpu.cpus_of(pod.uid, name) or cpu_set.EMPTY
    return tuple(
        node.node_id
        for node in nodes
        if node.memory_bytes and any(own.intersection(core.threads) for core in node.cores)
    )


def _is_without_size(pod: Pod, spec: Container) -> bool:
    """Whether it is a command of ``numalet run`` without a size of memory.

    It counts as Guaranteed all the same, which no pod of a cluster does.
    """
    return pod.qos_class is QosClass.GUARANTEED and resources.MEMORY not in spec.requests


def _root(limits: Limits, pods: Sequence[Pod]) -> CgroupSettings:
    """All pods together."""
    whole = {size: resources.hugepages_name(size // 1024) for size in limits.page_sizes}
    return CgroupSettings(
        cpus=cpu_set.EMPTY,
        memory_nodes=(),
        memory_max_bytes=_whole(limits, _amount(limits.for_pods, resources.MEMORY)),
        memory_min_bytes=_protected(limits, pods),
        hugetlb_max_bytes=MappingProxyType(
            {size: _amount(limits.for_pods, name) for size, name in whole.items()}
        ),
        cpu_weight=conversions.weight_of_request(_milli(limits.for_pods)),
        pids_max=limits.pids_for_pods,
    )


def pod(limits: Limits, snapshot: Snapshot, of: Pod) -> CgroupSettings:
    """The cgroup of one pod, overhead included.

    Its quota would throttle the exclusive CPUs of its containers too, so it goes with theirs.
    """
    requests, most = pod_demand.effective_requests(of), pod_demand.effective_limits(of)
    containers = tuple(of.containers())
    is_best_effort = of.qos_class is QosClass.BEST_EFFORT
    whole = of.pod_level.limits if of.pod_level is not None and of.pod_level.count else NO_RESOURCES
    limits_cpu = not is_best_effort and (
        conversions.all_have(containers, resources.CPU) or _milli(whole) > 0
    )
    is_limited = _is_limited(limits, _holds_own_cpus(snapshot, of))
    quota = _quota(limits, most) if limits_cpu else None
    limits_memory = not is_best_effort and (
        conversions.all_have(containers, resources.MEMORY) or _amount(whole, resources.MEMORY) > 0
    )
    return CgroupSettings(
        cpus=cpu_set.EMPTY,
        memory_nodes=(),
        cpu_weight=conversions.weight_of_request(0 if is_best_effort else _milli(requests)),
        cpu_quota_us=quota if is_limited else NO_QUOTA,
        cpu_period_us=limits.period_us,
        memory_max_bytes=(
            _whole(limits, _amount(most, resources.MEMORY)) if limits_memory else None
        ),
        memory_min_bytes=_protected(limits, (of,)),
        hugetlb_max_bytes=_huge_pages(limits, requests),
        pids_max=limits.pids_per_pod,
    )


def _is_limited(limits: Limits, holds_exclusive: bool) -> bool:
    """Whether limits of CPU are quotas, for who holds exclusive CPUs or none."""
    return limits.has_quotas and (limits.quota_on_exclusive_cpus or not holds_exclusive)


def _has_own_cpus(snapshot: Snapshot, pod: Pod, spec: Container) -> bool:
    """Whether no other container runs on its CPUs; those of a pod that is one may share its own."""
    if not snapshot.cpu.cpus_of(pod.uid, spec.name):
        return False
    return pod.uid not in snapshot.cpu.pods or counting.has_a_share_of_its_own(spec)


def _holds_own_cpus(snapshot: Snapshot, pod: Pod) -> bool:
    """Whether a quota of the pod would throttle only containers with CPUs of their own.

    Kubelet: ``PodHasExclusiveCPUs``, v1.33, and v1.36 of a pod that is placed as a whole.
    """
    if pod.uid in snapshot.cpu.pods:
        return all(_has_own_cpus(snapshot, pod, each) for each in pod.containers())
    return bool(snapshot.cpu.exclusive.get(pod.uid))


def _quota(limits: Limits, most: Resources) -> int | None:
    return conversions.cpu_quota_us(_milli(most), limits.period_us)


def _huge_pages(limits: Limits, amounts: Resources) -> Mapping[int, int]:
    """The limit of every page size of the machine; none of those that were not asked for."""
    asked = {size: resources.hugepages_name(size // 1024) for size in limits.page_sizes}
    return MappingProxyType(
        {
            size: conversions.whole_pages(_amount(amounts, name), size)
            for size, name in asked.items()
        }
    )


def _high(limits: Limits, spec: Container) -> int | None:
    """Where MemoryQoS begins to throttle a container whose request is not its limit."""
    request, limit = (_amount(each, resources.MEMORY) for each in (spec.requests, spec.limits))
    if limits.throttling_thousandths is None or request == limit:
        return None
    ceiling = limit or _amount(limits.allocatable, resources.MEMORY)
    return conversions.memory_high_bytes(
        request, ceiling, limits.throttling_thousandths, limits.page_bytes
    )


def _asked_protection(limits: Limits, pod: Pod, spec: Container) -> int | None:
    if limits.throttling_thousandths is None or pod.qos_class not in limits.classes_with_memory:
        return None
    return _whole(limits, _amount(spec.requests, resources.MEMORY))


def _protected(limits: Limits, pods: Iterable[Pod]) -> int | None:
    """``memory.min`` of a level: it counts only as far as every level above has as much."""
    if limits.throttling_thousandths is None:
        return None
    kept = (pod for pod in pods if pod.qos_class in limits.classes_with_memory)
    return _whole(limits, _sum_bytes(kept))


def _whole(limits: Limits, size_bytes: int) -> int | None:
    return conversions.whole_pages(size_bytes, limits.page_bytes) or None


def _sum(pods: Iterable[Pod], resource: str) -> int:
    """Thousandths of a resource that these pods ask for."""
    asked = (pod_demand.effective_requests(pod).get(resource) for pod in pods)
    return sum(quantity.milli_value for quantity in asked if quantity is not None)


def _sum_bytes(pods: Iterable[Pod]) -> int:
    return sum(_amount(pod_demand.effective_requests(pod), resources.MEMORY) for pod in pods)


def _amount(amounts: Resources, resource: str) -> int:
    quantity = amounts.get(resource)
    return 0 if quantity is None else max(quantity.value, 0)


def _milli(amounts: Resources) -> int:
    quantity = amounts.get(resources.CPU)
    return 0 if quantity is None else max(quantity.milli_value, 0)
