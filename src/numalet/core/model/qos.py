"""The quality of service class of a pod, computed from what its containers ask for.

Only the Guaranteed class gets anything exclusive from the managers, so this small rule decides
most of what follows. It compares sums over the pod, on exact numbers; only cpu and memory
count, neither huge pages nor devices nor the pod's overhead. A class that the API server has
already written into ``status.qosClass`` is used as it is by the reader, not here. Where resources
of the whole pod count, they decide alone.
"""

from __future__ import annotations

from collections.abc import Iterable

from numalet.core.model.pod import Container, PodLevelResources, QosClass, Resources
from numalet.core.model.quantity import Quantity

_COUNTED = ("cpu", "memory")


def qos_class(containers: Iterable[Container]) -> QosClass:
    """The class of a pod with these containers, init containers included.

    Kubelet: ``qos.ComputePodQOS``, v1.32. Zero and negative quantities count as absent.
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
    """Resources of a whole pod, with the class that they make; ``given`` is one from its status.

    Kubelet: ``qos.ComputePodQOS``, v1.34.
    """
    whole = Container("", requests=requests, limits=limits)
    return PodLevelResources(requests, limits, given or qos_class([whole]))


def _add_positive(sums: dict[str, Quantity], resources: Resources) -> int:
    """How many of the counted resources had something to add to the sums."""
    added = 0
    for name in _COUNTED:
        quantity = resources.get(name)
        if quantity is None or quantity.sign <= 0:
            continue
        sums[name] = sums[name] + quantity if name in sums else quantity
        added += 1
    return added
