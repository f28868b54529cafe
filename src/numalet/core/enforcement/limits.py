"""Settings that hold for all pods of a node, resolved once from configuration and machine."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from numalet.core.config import feature_gates, memory_qos, node_allocatable
from numalet.core.config.behaviour import EXACT, Behaviour
from numalet.core.config.kubelet_config import THROTTLING_FACTOR, KubeletConfig
from numalet.core.config.releases.release import ReleaseRules
from numalet.core.enforcement import cgroup_settings
from numalet.core.model import resources
from numalet.core.model.machine_info import MachineInfo, NumaNodeInfo
from numalet.core.model.pod import QosClass
from numalet.core.model.quantity import Quantity
from numalet.core.model.value import Value

_PIDS: Final = "pid"
_NS_PER_US: Final = 1000
PODS: Final = "pods"
"""The value of ``enforceNodeAllocatable`` that excludes reservations from the pods' total."""


class Limits(Value, kw_only=True):
    """The input of all settings, together with the snapshot.

    ``for_pods`` is the total for all pods, by resource: the capacity without the reservations for
    the system and the kubelet, but with eviction thresholds. ``allocatable`` excludes these too.
    ``page_sizes`` are those of the machine's huge pages, in bytes. ``period_us`` is the period of
    quotas, if CPU limits are quotas at all (``has_quotas``). ``throttling_thousandths`` is
    MemoryQoS's factor, if it throttles, and pods as a whole too if ``throttles_pods``;
    ``classes_with_memory`` are the classes whose requests it protects. ``nodes`` are the machine's.
    """

    capacity_bytes: int
    for_pods: Mapping[str, Quantity]
    allocatable: Mapping[str, Quantity]
    page_sizes: tuple[int, ...] = ()
    page_bytes: int = 4096
    period_us: int = cgroup_settings.PERIOD_US
    has_quotas: bool = True
    pids_per_pod: int | None = None
    pids_for_pods: int | None = None
    oom_group: bool = True
    throttling_thousandths: int | None = None
    throttles_pods: bool = False
    classes_with_memory: frozenset[QosClass] = frozenset()
    quota_on_exclusive_cpus: bool = True
    nodes: tuple[NumaNodeInfo, ...] = ()
    pod_level_pages: bool = False
    """Whether a container without a limit of huge pages gets the pod-level one."""


class KernelLimits(Value, kw_only=True):
    """Values of a running kernel that a machine's description lacks.

    ``page_bytes`` is the size of ordinary pages, ``tasks`` the maximum number of processes and
    threads, if known.
    """

    page_bytes: int = 4096
    tasks: int | None = None


SOME_KERNEL: Final = KernelLimits()


def resolve(
    config: KubeletConfig,
    machine: MachineInfo,
    behaviour: Behaviour = EXACT,
    kernel: KernelLimits = SOME_KERNEL,
) -> Limits:
    """Resolve the limits; the configuration must be one with a successful start.

    Kubelet: ``getNodeAllocatableInternalAbsolute``, ``GetNodeAllocatableAbsolute``, v1.32.
    """
    capacity = dict(node_allocatable.capacity(machine))
    if kernel.tasks is not None:
        capacity[_PIDS] = Quantity(kernel.tasks)
    release = behaviour.release
    gates = feature_gates.with_settings(config.feature_gates, release)
    has_qos, rules = gates.enabled(feature_gates.MEMORY_QOS), release.rules_with(gates.enabled)
    allocatable = node_allocatable.without_eviction(config, capacity, rules)
    for_pods = allocatable if PODS in config.enforce_node_allocatable else capacity
    sizes = (resources.page_bytes(name) for name in capacity if resources.is_hugepages(name))
    return Limits(
        capacity_bytes=max(machine.memory_capacity_bytes, 1),
        for_pods=MappingProxyType(for_pods),
        allocatable=MappingProxyType(allocatable),
        page_sizes=tuple(sorted(size for size in sizes if size is not None)),
        page_bytes=kernel.page_bytes,
        period_us=config.cpu_cfs_quota_period_ns // _NS_PER_US,
        has_quotas=config.cpu_cfs_quota,
        pids_per_pod=config.pod_pids_limit if config.pod_pids_limit > 0 else None,
        pids_for_pods=None if kernel.tasks is None else for_pods[_PIDS].value,
        oom_group=not config.single_process_oom_kill,
        throttling_thousandths=_throttling_thousandths(config, rules) if has_qos else None,
        throttles_pods=rules.whole_pods_are_throttled,
        classes_with_memory=_classes_with_memory(config, rules) if has_qos else frozenset(),
        quota_on_exclusive_cpus=(
            behaviour.exclusive_cpus_have_quota and not rules.exclusive_cpus_have_no_quota
        ),
        nodes=machine.nodes,
        pod_level_pages=rules.containers_have_pod_level_pages,
    )


def _throttling_thousandths(config: KubeletConfig, rules: ReleaseRules) -> int | None:
    factor = config.memory_throttling_factor
    if factor is None and not rules.throttling_has_no_default:
        factor = THROTTLING_FACTOR
    return None if factor is None else round(factor * 1000)


def _classes_with_memory(config: KubeletConfig, rules: ReleaseRules) -> frozenset[QosClass]:
    if not rules.memory_is_kept_by_policy:
        return frozenset(QosClass)
    is_tiered = config.memory_reservation_policy == memory_qos.TIERED
    return frozenset({QosClass.GUARANTEED}) if is_tiered else frozenset()
