"""Which requests of a pod apply: to a release with its feature gates, and to the managers.

    pod from the manifest    containers, spec.resources, status
      -> counted             the QoS class and sums by spec.resources, if the release supports it
      -> for_managers        the requests that the CPU Manager and the Memory Manager use

A pod without ``spec.resources`` and without entries in its status stays unchanged.
"""

from __future__ import annotations

from collections.abc import Callable

from numalet.core.config.releases.release import ReleaseRules
from numalet.core.model import pod_demand, resources
from numalet.core.model.pod import (
    NO_RESOURCES,
    Container,
    ContainerKind,
    Pod,
    PodLevelResources,
    QosClass,
    Resources,
    StatusResources,
)
from numalet.core.model.value import kept, replace


def counted(pod: Pod, rules: ReleaseRules) -> Pod:
    """Return the pod with its QoS class in this release; the same pod if nothing changes."""
    asked = pod.pod_level
    if pod.has_empty_resources:
        return _of_empty_resources(pod, rules)
    if rules.qos_class_is_of_each_container and asked is None:
        return kept(pod, "by container", _by_container, pod)
    if asked is None or asked.count is rules.pod_level_resources_count:
        return pod
    count = rules.pod_level_resources_count
    if count and rules.pod_level_limits_are_filled_in:
        asked = _filled_in(pod, asked)
    qos_class = asked.qos_class if count else _class_by_containers(pod, rules)
    return replace(pod, qos_class=qos_class, pod_level=replace(asked, count=count))


def _class_by_containers(pod: Pod, rules: ReleaseRules) -> QosClass:
    if rules.qos_class_is_of_each_container:
        return pod_demand.class_of_each_container(pod)
    return pod_demand.qos_class(pod.containers())


def _of_empty_resources(pod: Pod, rules: ReleaseRules) -> Pod:
    qos_class = QosClass.BEST_EFFORT
    if not rules.empty_pod_resources_are_best_effort:
        qos_class = _class_by_containers(pod, rules)
    return pod if qos_class is pod.qos_class else replace(pod, qos_class=qos_class)


def _by_container(pod: Pod) -> Pod:
    """Return the pod with the class of its containers, unless its status has another one."""
    before, now = pod_demand.qos_class(pod.containers()), pod_demand.class_of_each_container(pod)
    is_other = before is not now and pod.qos_class is before
    return replace(pod, qos_class=now) if is_other else pod


def _filled_in(pod: Pod, asked: PodLevelResources) -> PodLevelResources:
    """Return pod-level resources as an API server fills them in, or as a static pod has them.

    Kubelet: ``DefaultPodLevelResources`` of the API server, v1.37.
    """
    if asked.written is not None:
        return pod_demand.of_pod_level(*asked.written, None)
    limits = pod_demand.peak_demand(
        pod.init_containers, pod.app_containers, lambda container: container.limits
    )
    missing = {
        name: max(request, limits[name])
        for name, request in asked.requests.items()
        if name not in asked.limits and all(name in each.limits for each in pod.containers())
    }
    computed = pod_demand.of_pod_level(asked.requests, asked.limits, None)
    if not missing or asked.qos_class is not computed.qos_class:
        # A class that differs is that of the pod's status, which stays.
        return asked
    filled = dict(sorted({**asked.limits, **missing}.items()))
    return pod_demand.of_pod_level(asked.requests, filled, None)


def at_first(pod: Pod) -> Pod:
    """Return the pod at its first admission, before a kubelet wrote its status.

    An entry with an amount stays, because the container was resized to it. An entry without amounts
    is dropped: a kubelet v1.33 or v1.34 would read it as zero, but only after a restart.
    """
    status = pod.allocated
    if status is None:
        return pod
    containers = {name: each for name, each in status.containers.items() if each}
    init = {name: each for name, each in status.init_containers.items() if each}
    said = replace(status, containers=containers, init_containers=init)
    return replace(pod, allocated=said if containers or init else None)


def lacks_amounts(pod: Pod) -> bool:
    status = pod.allocated
    if status is None or pod.qos_class is not QosClass.GUARANTEED:
        return False
    return not all((*status.containers.values(), *status.init_containers.values()))


def is_placed_whole(pod: Pod, rules: ReleaseRules) -> bool:
    return pod.pod_level is not None and rules.pod_level_pods_are_placed_whole


def for_managers(pod: Pod, rules: ReleaseRules) -> Pod:
    """Return a counted pod as the CPU Manager and the Memory Manager see it.

    A pod that they ignore gets a QoS class for which they do nothing. If they place it as a whole,
    its containers request only their exclusive resources. Device requests stay unchanged.
    """
    if pod.allocated is not None and rules.allocated_resources_count:
        pod = _with_requests(pod, _of_status(pod.allocated, rules.sidecar_statuses_count))
    if pod.pod_level is None:
        return pod
    # Both managers test for Guaranteed first, so any other class makes them ignore the pod.
    if rules.pod_level_pods_are_passed_over:
        return replace(pod, qos_class=QosClass.BURSTABLE)
    if rules.pod_level_pods_are_placed_whole:
        return _with_requests(pod, _exclusive)
    return pod


def _with_requests(pod: Pod, requested: Callable[[Container], Resources | None]) -> Pod:
    def changed(container: Container) -> Container:
        instead = requested(container)
        if instead is None:
            return container
        kept = {name: each for name, each in container.requests.items() if not _is_managed(name)}
        given = {name: each for name, each in instead.items() if _is_managed(name)}
        return replace(container, requests=dict(sorted({**kept, **given}.items())))

    return replace(
        pod,
        init_containers=tuple(map(changed, pod.init_containers)),
        app_containers=tuple(map(changed, pod.app_containers)),
    )


def _is_managed(name: str) -> bool:
    return resources.is_pod_level(name)


def _of_status(
    allocated: StatusResources, sidecars_count: bool
) -> Callable[[Container], Resources | None]:
    def requested(container: Container) -> Resources | None:
        """Return the amounts of the pod's status; None without an entry for the container.

        Kubelet: ``staticPolicy.guaranteedCPUs``, ``getRequestedResources``, v1.33.
        """
        # The kubelet searches the pod's status by name. Up to v1.32 it searched only
        # ``containerStatuses``, so a sidecar was not found.
        entry = allocated.containers.get(container.name)
        if entry is None and sidecars_count and container.kind is ContainerKind.SIDECAR:
            entry = allocated.init_containers.get(container.name)
        return entry

    return requested


def has_a_share_of_its_own(container: Container) -> bool:
    """Return whether a container of a pod that is placed as a whole gets exclusive CPUs.

    Kubelet: ``GetResourceIsolationLevel`` of the CPU Manager, v1.36.
    """
    cpu = container.requests.get(resources.CPU)
    is_whole = cpu is not None and cpu.value * 1000 == cpu.milli_value
    return is_whole and _exclusive(container) is None


def has_memory_of_its_own(container: Container) -> bool:
    """Return whether a container of such a pod gets memory that the others do not share.

    Kubelet: ``GetResourceIsolationLevel`` of the Memory Manager, v1.36.
    """
    return _exclusive(container) is None


def _exclusive(container: Container) -> Resources | None:
    """Return no resources, unless requests equal limits for CPU and for memory.

    Kubelet: ``qos.IsContainerEquivalentQOSGuaranteed``, v1.36.
    """
    for name in (resources.CPU, resources.MEMORY):
        asked, limit = container.requests.get(name), container.limits.get(name)
        if asked is None or asked.is_zero or limit != asked:
            return NO_RESOURCES
    return None
