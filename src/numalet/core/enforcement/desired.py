"""The desired settings of every cgroup and every container, from the snapshot.

Levels above the containers have only sums, as in the kubelet: weights, quotas and sizes of pods,
weights of the two classes below Guaranteed, and the total for all pods. They have no sets of CPUs
or NUMA nodes, because a set above would narrow the sets below. Kubelet v1.32:
``ResourceConfigForPod``, ``setCPUCgroupConfig``, ``getCgroupConfig``,
``generateLinuxContainerResources``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from numalet.core.admission import counting
from numalet.core.enforcement import cgroup_paths, cgroup_settings
from numalet.core.enforcement.cgroup_settings import NO_QUOTA, CgroupSettings, ContainerSettings
from numalet.core.enforcement.limits import Limits
from numalet.core.model import cpu_set, pod_demand, resources
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.machine_info import NumaNodeInfo
from numalet.core.model.pod import NO_RESOURCES, Container, Pod, QosClass, Resources
from numalet.core.snapshot import placement
from numalet.core.snapshot.snapshot import Snapshot


def tree(limits: Limits, snapshot: Snapshot, pods: Iterable[Pod]) -> Mapping[str, CgroupSettings]:
    """Return the cgroups above the containers of these pods by path, parents first."""
    running = sorted(pods, key=lambda each: each.uid)
    burstable = [each for each in running if each.qos_class is QosClass.BURSTABLE]
    cgroups = {
        cgroup_paths.ROOT: _root(limits, running),
        cgroup_paths.BURSTABLE: CgroupSettings(
            cpus=cpu_set.EMPTY,
            memory_nodes=(),
            cpu_weight=cgroup_settings.weight_of_request(_sum(burstable, resources.CPU)),
            memory_min_bytes=_protected(limits, burstable),
        ),
        cgroup_paths.BEST_EFFORT: CgroupSettings(
            cpus=cpu_set.EMPTY, memory_nodes=(), cpu_weight=cgroup_settings.weight_of_request(0)
        ),
    }
    return cgroups | {cgroup_paths.of_pod(each): pod(limits, snapshot, each) for each in running}


def container(
    limits: Limits, snapshot: Snapshot, pod: Pod, name: str, priority_class: str = ""
) -> ContainerSettings:
    """Return the settings of one container of an admitted pod; raises ``KeyError``."""
    spec = pod.by_name[name]
    most = _limits_of(limits, pod, spec)
    is_limited = _is_limited(limits, _has_own_cpus(snapshot, pod, spec))
    memory_limit = _amount(most, resources.MEMORY)
    # As in the kubelet, a missing request equals the limit.
    request = _milli(spec.requests if resources.CPU in spec.requests else spec.limits)
    score = cgroup_settings.oom_score_adj(pod, spec, limits.capacity_bytes, priority_class)
    return ContainerSettings(
        path=cgroup_paths.of_container(pod, name),
        cgroup=CgroupSettings(
            cpus=cpus(snapshot, pod.uid, name),
            memory_nodes=memory_nodes(limits.nodes, snapshot, pod, name) or None,
            memory_max_bytes=_whole(limits, memory_limit),
            memory_high_bytes=_high(limits, pod, spec),
            memory_min_bytes=_asked_protection(limits, pod, spec),
            swap_max_bytes=0,
            hugetlb_max_bytes=_huge_pages(limits, most),
            cpu_weight=cgroup_settings.weight_of_request(request),
            cpu_quota_us=_quota(limits, most) if is_limited else NO_QUOTA,
            cpu_period_us=limits.period_us,
            oom_group=limits.oom_group,
        ),
        # Without a memory request it may itself exhaust the memory, so do not protect it.
        oom_score_adj=0 if _is_without_size(pod, spec) else score,
    )


def _limits_of(limits: Limits, pod: Pod, spec: Container) -> Resources:
    """Return the limits of a container, completed by its pod-level limits if these apply.

    Kubelet: ``getCPULimit``, ``getMemoryLimit``, v1.34; ``GetHugepageLimitsFromResources``.
    """
    if pod.pod_level is None or not pod.pod_level.count:
        return spec.limits
    whole = {
        name: each
        for name, each in pod.pod_level.limits.items()
        if limits.pod_level_pages or not resources.is_hugepages(name)
    }
    # A container's own limit wins; a zero limit does not count as one.
    own = {name: each for name, each in spec.limits.items() if each.sign > 0 or name not in whole}
    return {**whole, **own}


def cpus(snapshot: Snapshot, pod_uid: str, name: str) -> CpuSet | None:
    return placement.cpus(snapshot, pod_uid, name) or None


def memory_nodes(
    nodes: Iterable[NumaNodeInfo], snapshot: Snapshot, pod: Pod, name: str
) -> tuple[int, ...]:
    """Return the NUMA nodes for a container's pages; empty if unset.

    They are the nodes of its allocated memory; for a command without a memory size, the nodes of
    its exclusive CPUs. ``nodes`` are the machine's.
    """
    promised = placement.memory_nodes(snapshot, pod.uid, name)
    if promised or not _is_without_size(pod, pod.by_name[name]):
        return promised
    own = snapshot.cpu.cpus_of(pod.uid, name) or cpu_set.EMPTY
    return tuple(
        node.node_id
        for node in nodes
        if node.memory_bytes and any(own.intersection(core.threads) for core in node.cores)
    )


def _is_without_size(pod: Pod, spec: Container) -> bool:
    """Return whether this is a command of ``numalet run`` without a memory size.

    Unlike a pod of a cluster, it is Guaranteed all the same.
    """
    return pod.qos_class is QosClass.GUARANTEED and resources.MEMORY not in spec.requests


def _root(limits: Limits, pods: Sequence[Pod]) -> CgroupSettings:
    whole = {size: resources.hugepages_name(size // 1024) for size in limits.page_sizes}
    return CgroupSettings(
        cpus=cpu_set.EMPTY,
        memory_nodes=(),
        memory_max_bytes=_whole(limits, _amount(limits.for_pods, resources.MEMORY)),
        memory_min_bytes=_protected(limits, pods),
        hugetlb_max_bytes=MappingProxyType(
            {size: _amount(limits.for_pods, name) for size, name in whole.items()}
        ),
        cpu_weight=cgroup_settings.weight_of_request(_milli(limits.for_pods)),
        pids_max=limits.pids_for_pods,
    )


def pod(limits: Limits, snapshot: Snapshot, of: Pod) -> CgroupSettings:
    """Return the settings of one pod's cgroup, including overhead.

    Its quota would also throttle its containers' exclusive CPUs, so it is dropped with theirs.
    """
    requests, most = pod_demand.effective_requests(of), pod_demand.effective_limits(of)
    containers = tuple(of.containers())
    is_best_effort = of.qos_class is QosClass.BEST_EFFORT
    whole = _whole_limits(of)
    # A pod has a quota only if each of its containers is limited, or the pod itself.
    limits_cpu = not is_best_effort and (
        cgroup_settings.all_have(containers, resources.CPU) or _milli(whole) > 0
    )
    is_limited = _is_limited(limits, _holds_own_cpus(snapshot, of))
    quota = _quota(limits, most) if limits_cpu else None
    limits_memory = not is_best_effort and (
        cgroup_settings.all_have(containers, resources.MEMORY)
        or _amount(whole, resources.MEMORY) > 0
    )
    return CgroupSettings(
        cpus=cpu_set.EMPTY,
        memory_nodes=(),
        cpu_weight=cgroup_settings.weight_of_request(0 if is_best_effort else _milli(requests)),
        cpu_quota_us=quota if is_limited else NO_QUOTA,
        cpu_period_us=limits.period_us,
        memory_max_bytes=(
            _whole(limits, _amount(most, resources.MEMORY)) if limits_memory else None
        ),
        memory_high_bytes=_high_of_pod(limits, of, requests, most) if limits_memory else None,
        memory_min_bytes=_protected(limits, (of,)),
        hugetlb_max_bytes=_huge_pages(limits, requests),
        pids_max=limits.pids_per_pod,
    )


def _is_limited(limits: Limits, holds_exclusive: bool) -> bool:
    return limits.has_quotas and (limits.quota_on_exclusive_cpus or not holds_exclusive)


def _has_own_cpus(snapshot: Snapshot, pod: Pod, spec: Container) -> bool:
    """Return whether no other container uses its CPUs, not even of a pod placed as a whole."""
    if not snapshot.cpu.cpus_of(pod.uid, spec.name):
        return False
    return pod.uid not in snapshot.cpu.pods or counting.has_a_share_of_its_own(spec)


def _holds_own_cpus(snapshot: Snapshot, pod: Pod) -> bool:
    """Return whether the pod's quota would throttle only containers with exclusive CPUs.

    Kubelet: ``PodHasExclusiveCPUs``, v1.33, and v1.36 for a pod that is placed as a whole.
    """
    if pod.uid in snapshot.cpu.pods:
        return all(_has_own_cpus(snapshot, pod, each) for each in pod.containers())
    return bool(snapshot.cpu.exclusive.get(pod.uid))


def _quota(limits: Limits, most: Resources) -> int | None:
    return cgroup_settings.cpu_quota_us(_milli(most), limits.period_us)


def _huge_pages(limits: Limits, amounts: Resources) -> Mapping[int, int]:
    asked = {size: resources.hugepages_name(size // 1024) for size in limits.page_sizes}
    return MappingProxyType(
        {
            size: cgroup_settings.whole_pages(_amount(amounts, name), size)
            for size, name in asked.items()
        }
    )


def _high(limits: Limits, pod: Pod, spec: Container) -> int | None:
    """Return where MemoryQoS begins to throttle a container whose request is not its limit."""
    request, limit = (_amount(each, resources.MEMORY) for each in (spec.requests, spec.limits))
    if limits.throttling_thousandths is None:
        return None
    if request == limit and (request or not limits.throttles_pods):
        return None
    # The cgroup of the pod throttles it, see ``_high_of_pod``.
    if not limit and limits.throttles_pods and _amount(_whole_limits(pod), resources.MEMORY):
        return None
    ceiling = limit or _amount(limits.allocatable, resources.MEMORY)
    return cgroup_settings.memory_high_bytes(
        request, ceiling, limits.throttling_thousandths, limits.page_bytes
    )


def _high_of_pod(limits: Limits, pod: Pod, requests: Resources, most: Resources) -> int | None:
    """Return where MemoryQoS begins to throttle a pod with pod-level resources.

    Kubelet: ``cm.ApplyPodLevelMemoryHigh``, v1.37.
    """
    request, limit = (_amount(each, resources.MEMORY) for each in (requests, most))
    is_whole = pod.pod_level is not None and pod.pod_level.count and limits.throttles_pods
    if limits.throttling_thousandths is None or not is_whole or request == limit:
        return None
    return cgroup_settings.memory_high_bytes(
        request, limit, limits.throttling_thousandths, limits.page_bytes
    )


def _whole_limits(pod: Pod) -> Resources:
    whole = pod.pod_level
    return whole.limits if whole is not None and whole.count else NO_RESOURCES


def _asked_protection(limits: Limits, pod: Pod, spec: Container) -> int | None:
    if pod.qos_class not in limits.classes_with_memory:
        return None
    return _whole(limits, _amount(spec.requests, resources.MEMORY))


def _protected(limits: Limits, pods: Iterable[Pod]) -> int | None:
    """Return ``memory.min`` of a level, which must include the sum of all levels below."""
    kept = (pod for pod in pods if pod.qos_class in limits.classes_with_memory)
    return _whole(limits, _sum_bytes(kept))


def _whole(limits: Limits, size_bytes: int) -> int | None:
    return cgroup_settings.whole_pages(size_bytes, limits.page_bytes) or None


def _sum(pods: Iterable[Pod], resource: str) -> int:
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
