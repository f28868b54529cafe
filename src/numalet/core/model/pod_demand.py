"""The quality of service class of a pod, and its effective requests and limits.

The managers use the class: only Guaranteed pods get exclusive resources. The requests and limits
are for the general predicates, cgroups, and devices in pod scope; the Memory Manager and the CPU
Manager have narrower rules. Pod-level resources replace the sums of the containers if they apply.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import Enum

from numalet.core.model import resources
from numalet.core.model.pod import (
    Container,
    ContainerKind,
    Pod,
    PodLevelResources,
    QosClass,
    Resources,
)
from numalet.core.model.quantity import ZERO, Quantity
from numalet.core.model.value import kept

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


def class_of_each_container(pod: Pod) -> QosClass:
    """Return the class that each container has by itself, or Burstable if they differ.

    It is ``qos_class`` unless a request is above its limit. Kubelet: ``qos.ComputePodQOS``, v1.37.
    """
    classes = {_class_of(container) for container in pod.containers()}
    if len(classes) > 1:
        return QosClass.BURSTABLE
    return classes.pop() if classes else QosClass.BEST_EFFORT


def _class_of(container: Container) -> QosClass:
    classes = set()
    for name in _COUNTED:
        request, limit = container.requests.get(name, ZERO), container.limits.get(name, ZERO)
        if request != limit:
            return QosClass.BURSTABLE
        classes.add(QosClass.BEST_EFFORT if request.is_zero else QosClass.GUARANTEED)
    return QosClass.BURSTABLE if len(classes) > 1 else classes.pop()


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


class Overhead(Enum):
    """Whether the result includes ``spec.overhead``, the cost of the pod's sandbox."""

    INCLUDED = "included"
    EXCLUDED = "excluded"


def effective_requests(pod: Pod, overhead: Overhead = Overhead.INCLUDED) -> Resources:
    """Return the pod's peak requests, by resource name, names sorted.

    Kubelet: ``resource.PodRequests`` of component-helpers, v1.32 to v1.36.
    """
    demand = peak_demand(
        pod.init_containers, pod.app_containers, lambda container: container.requests
    )
    if pod.pod_level is not None and pod.pod_level.count:
        demand.update(pod.pod_level.requests)
    if overhead is Overhead.INCLUDED:
        _add(demand, pod.overhead)
    return dict(sorted(demand.items()))


def number(resource: str, quantity: Quantity) -> int:
    """Return the amount in a node's units: milli-CPUs for CPU, whole units for the rest."""
    return quantity.milli_value if resource == resources.CPU else quantity.value


def amounts(pod: Pod) -> Mapping[str, int]:
    """Return the pod's peak requests with overhead, in a node's units, without zeros.

    Kubelet: ``calculateResource`` of the scheduler's ``NodeInfo``, v1.32.
    """
    return kept(pod, "amounts", _amounts, pod)


def _amounts(pod: Pod) -> dict[str, int]:
    requests = pod.app_containers[0].requests if pod.is_one_container else effective_requests(pod)
    asked = {}
    for name in sorted(requests):
        amount = number(name, requests[name])
        if amount:
            asked[name] = amount
    return asked


def effective_limits(pod: Pod, overhead: Overhead = Overhead.INCLUDED) -> Resources:
    """Return the pod's peak limits, by resource name, names sorted.

    A resource without a limit stays unlimited: overhead adds only to an existing non-zero limit.
    Kubelet: ``resource.PodLimits`` of component-helpers, v1.32.
    """
    demand = peak_demand(
        pod.init_containers, pod.app_containers, lambda container: container.limits
    )
    if pod.pod_level is not None and pod.pod_level.count:
        demand.update(pod.pod_level.limits)
    if overhead is Overhead.INCLUDED:
        limited = {
            name: quantity
            for name, quantity in pod.overhead.items()
            if name in demand and not demand[name].is_zero
        }
        _add(demand, limited)
    return dict(sorted(demand.items()))


def peak_demand(
    init_containers: Iterable[Container],
    app_containers: Iterable[Container],
    asked: Callable[[Container], Resources],
) -> dict[str, Quantity]:
    """Return, by resource, the larger of the running sum and the peak during initialization.

    Init containers run one after the other before the app containers, so only the largest of them
    counts; sidecars keep running, so they add to everything that starts after them.
    """
    running: dict[str, Quantity] = {}
    for container in app_containers:
        _add(running, asked(container))
    sidecars: dict[str, Quantity] = {}
    peak: dict[str, Quantity] = {}
    for container in init_containers:
        if container.kind is ContainerKind.SIDECAR:
            _add(running, asked(container))
            _add(sidecars, asked(container))
            _raise_to(peak, sidecars)
        else:
            starting = dict(asked(container))
            _add(starting, sidecars)
            _raise_to(peak, starting)
    _raise_to(running, peak)
    return running


def _add(total: dict[str, Quantity], more: Mapping[str, Quantity]) -> None:
    for name, quantity in more.items():
        total[name] = total[name] + quantity if name in total else quantity


def _raise_to(largest: dict[str, Quantity], other: Mapping[str, Quantity]) -> None:
    for name, quantity in other.items():
        if name not in largest or largest[name] < quantity:
            largest[name] = quantity
