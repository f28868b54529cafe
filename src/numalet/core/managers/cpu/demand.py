"""How many exclusive CPUs a container or a pod asks for; 0 means that it stays in the pool.

Kubelet: ``staticPolicy.guaranteedCPUs``, ``podGuaranteedCPUs``, v1.32.
"""

from __future__ import annotations

from numalet.core.model.pod import Container, ContainerKind, Pod, QosClass
from numalet.core.model.quantity import Quantity

CPU = "cpu"
"""Name of the resource."""


def of_container(pod: Pod, container: Container) -> int:
    """Whole CPUs for this container, if its pod is Guaranteed and the number is whole.

    Both sides of the comparison round up, so ``1999.5m`` asks for 2 CPUs and ``1500m`` for none.
    """
    if pod.qos_class is not QosClass.GUARANTEED or CPU not in container.requests:
        return 0
    return _if_whole(container.requests[CPU])


def of_pod(pod: Pod) -> int:
    """Whole CPUs for the pod: max(apps + sidecars, each init container + sidecars before it)."""
    sidecars = init_peak = apps = 0
    for container in pod.containers():
        cpus = of_container(pod, container)
        if container.kind is ContainerKind.SIDECAR:
            sidecars += cpus
        elif container.kind is ContainerKind.INIT:
            init_peak = max(init_peak, sidecars + cpus)
        else:
            apps += cpus
    return max(apps + sidecars, init_peak)


def of_pod_level(pod: Pod) -> int:
    """Whole CPUs that the pod asks for as a whole, its containers' shares included.

    Kubelet: ``staticPolicy.podGuaranteedCPUs``, v1.36.
    """
    asked = pod.pod_level
    if pod.qos_class is not QosClass.GUARANTEED or asked is None or CPU not in asked.requests:
        return 0
    return _if_whole(asked.requests[CPU])


def _if_whole(request: Quantity) -> int:
    whole = request.value
    return whole if whole * 1000 == request.milli_value else 0
