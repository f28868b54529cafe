"""The quality of service class of a pod, computed from its containers.

Only Guaranteed pods get exclusive resources. The rule compares exact sums over the pod, of cpu and
memory only. Pod-level resources that apply decide alone.
"""

from __future__ import annotations

from collections.abc import Iterable

from numalet.core.model.pod import Container, PodLevelResources, QosClass, Resources
from numalet.core.model.quantity import Quantity

_COUNTED = ("cpu", "memory")


def qos_class(containers: Iterable[Container]) -> QosClass:
    """Return the class of a pod with these containers, including init containers.

    Kubelet: ``qos.ComputePodQOS``, v1.32. Zero and negative quantities are ignored.
    """
    requests: dict[str, Quantity] = {}
    limits: dict[str, Quantity] = {}
    all_limited = True
    for container in containers:
        _add_positive(requests, container.requests)
        limited = _add_positive(limits, container.limits)
        all_limited = all_limited and limited == len(_COUNTED)
    if not requests and not limits:
        return QosClass.BEST_EFFORT
    if all_limited and requests == limits:
        return QosClass.GUARANTEED
    return QosClass.BURSTABLE


def of_pod_level(
    requests: Resources, limits: Resources, given: QosClass | None
) -> PodLevelResources:
    """Return pod-level resources with their QoS class; ``given`` is the status's class.

    Kubelet: ``qos.ComputePodQOS``, v1.34.
    """
    whole = Container("", requests=requests, limits=limits)
    return PodLevelResources(requests, limits, given or qos_class([whole]))


def _add_positive(sums: dict[str, Quantity], resources: Resources) -> int:
    """Add cpu and memory to the sums; return how many of the two were positive."""
    added = 0
    for name in _COUNTED:
        quantity = resources.get(name)
        if quantity is None or quantity.sign <= 0:
            continue
        sums[name] = sums[name] + quantity if name in sums else quantity
        added += 1
    return added
