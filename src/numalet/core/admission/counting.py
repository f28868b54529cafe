"""What of a pod counts: in a release with its feature gates, and for its CPU and Memory Manager.

    pod as it was read       containers, spec.resources, status
      -> counted             the QoS class and the sums by spec.resources, where these count
      -> for_managers        what the CPU Manager and the Memory Manager go by

A pod without ``spec.resources`` and without entries in its status is the same pod all the way.
"""

from __future__ import annotations

from collections.abc import Callable

from numalet.core.config.releases.release import ReleaseRules
from numalet.core.model import qos, resources
from numalet.core.model.pod import (
    NO_RESOURCES,
    Container,
    ContainerKind,
    Pod,
    QosClass,
    Resources,
    StatusResources,
)
from numalet.core.model.value import replace


def counted(pod: Pod, rules: ReleaseRules) -> Pod:
    """The pod with the QoS class that it has in this release; the same one if nothing changes."""
    asked = pod.pod_level
    if asked is None or asked.count is rules.pod_level_resources_count:
        return pod
    count = rules.pod_level_resources_count
    qos_class = asked.qos_class if count else qos.qos_class(pod.containers())
    return replace(pod, qos_class=qos_class, pod_level=replace(asked, count=count))


def at_first(pod: Pod) -> Pod:
    """The pod as it came to its node first, before its status had entries.

    An entry that says an amount counts: the container was resized to it. One that says none is left
    out: a kubelet v1.33 or v1.34 would take it for nothing, but only when it starts again.
    """
    status = pod.allocated
    if status is None:
        return pod
    containers = {name: each for name, each in status.containers.items() if each}
    init = {name: each for name, each in status.init_containers.items() if each}
    said = replace(status, containers=containers, init_containers=init)
    return replace(pod, allocated=said if containers or init else None)


def lacks_amounts(pod: Pod) -> bool:
    """Whether entries of the status of a Guaranteed pod say no amount."""
    status = pod.allocated
    if status is None or pod.qos_class is not QosClass.GUARANTEED:
        return False
    return not all((*status.containers.values(), *status.init_containers.values()))


def is_placed_whole(pod: Pod, rules: ReleaseRules) -> bool:
    """Whether the managers know what the pod asks for as a whole."""
    return pod.pod_level is not None and rules.pod_level_pods_are_placed_whole


def for_managers(pod: Pod, rules: ReleaseRules) -> Pod:
    """A counted pod as the CPU Manager and the Memory Manager see it.

    A pod that they pass over has a QoS class for which they do nothing. Of one that they place as
    a whole the containers ask only for what is to be theirs alone. Devices are asked for as ever.
    """
    if pod.allocated is not None and rules.allocated_resources_count:
        pod = _with_requests(pod, _of_status(pod.allocated, rules.sidecar_statuses_count))
    if pod.pod_level is None:
        return pod
    if rules.pod_level_pods_are_passed_over:
        return replace(pod, qos_class=QosClass.BURSTABLE)
    if rules.pod_level_pods_are_placed_whole:
        return _with_requests(pod, _exclusive)
    return pod


def _with_requests(pod: Pod, requested: Callable[[Container], Resources | None]) -> Pod:
    """The pod in which containers request other CPUs and memory; None leaves them as they are."""

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
        """What the pod's status says; None if it has no entry for the container.

        Kubelet: ``staticPolicy.guaranteedCPUs``, ``getRequestedResources``, v1.33.
        """
        entry = allocated.containers.get(container.name)
        if entry is None and sidecars_count and container.kind is ContainerKind.SIDECAR:
            entry = allocated.init_containers.get(container.name)
        return entry

    return requested


def has_a_share_of_its_own(container: Container) -> bool:
    """Whether a container of a pod that is placed as a whole has its CPUs to itself.

    Kubelet: ``GetResourceIsolationLevel`` of the CPU Manager, v1.36.
    """
    cpu = container.requests.get(resources.CPU)
    is_whole = cpu is not None and cpu.value * 1000 == cpu.milli_value
    return is_whole and _exclusive(container) is None


def _exclusive(container: Container) -> Resources | None:
    """Nothing, unless requests are equal to limits, for CPU and for memory.

    Kubelet: ``qos.IsContainerEquivalentQOSGuaranteed``, v1.36.
    """
    for name in (resources.CPU, resources.MEMORY):
        asked, limit = container.requests.get(name), container.limits.get(name)
        if asked is None or asked.is_zero or limit != asked:
            return NO_RESOURCES
    return None
