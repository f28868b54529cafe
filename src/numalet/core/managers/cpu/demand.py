"""The number of exclusive CPUs of a container or pod; 0 means that it stays in the shared pool.

Kubelet: ``staticPolicy.guaranteedCPUs``, ``podGuaranteedCPUs``, v1.32.
"""

from __future__ import annotations

from numalet.core.model.pod import Container, ContainerKind, Pod, QosClass
from numalet.core.model.quantity import Quantity

CPU = "cpu"


def of_container(pod: Pod, container: Container) -> int:
    """Return the request if its pod is Guaranteed and the number is whole, else 0.

    Both sides of the comparison round up, so ``1999.5m`` gives 2 CPUs and ``1500m`` gives 0.
    """
    if pod.qos_class is not QosClass.GUARANTEED or CPU not in container.requests:
        return 0
    return _if_whole(container.requests[CPU])


def of_pod(pod: Pod) -> int:
    """Return max(apps + sidecars, each init container + the sidecars before it), in CPUs."""
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
    """Return the whole CPUs of the pod-level request, which includes its containers' CPUs.

    Kubelet: ``staticPolicy.podGuaranteedCPUs``, v1.36.
    """
    asked = pod.pod_level
    if pod.qos_class is not QosClass.GUARANTEED or asked is None or CPU not in asked.requests:
        return 0
    return _if_whole(asked.requests[CPU])


def _if_whole(request: Quantity) -> int:
    whole = request.value
    return whole if whole * 1000 == request.milli_value else 0
