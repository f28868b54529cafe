"""The largest request that a node admits, found by trial admissions.

*Alone* means a pod of one container that requests one resource, and a byte of memory. Requests are
in *units*: bytes of memory, pages, whole CPUs, whole cores if the policy requires those, devices.
The search bisects an interval with one admitted and one rejected end: its result is admitted, and
one unit more is not.
"""

from __future__ import annotations

from collections.abc import Callable

from numalet.core.config.rules import CpuPolicy, NodeRules
from numalet.core.model import resources
from numalet.core.model.go_text import QuantityError
from numalet.core.model.pod import Container, ContainerKind, Pod, Resources
from numalet.core.model.quantity import Quantity
from numalet.core.model.value import Mutable, field, replace
from numalet.core.node.node import Node


def admits(node: Node, pod: Pod) -> bool:
    return node.admit(pod)[1].admitted


def unit_of(rules: NodeRules, resource: str) -> int:
    """Return the bytes, CPUs or devices of one unit of a request."""
    if resources.is_hugepages(resource):
        try:
            return max(Quantity.parse(resource.removeprefix(resources.HUGEPAGES_PREFIX)).value, 1)
        except QuantityError:
            return 1
    cpu = rules.cpu
    if resource == resources.CPU and cpu.policy is CpuPolicy.STATIC and cpu.full_pcpus_only:
        cores = [core.threads for node in rules.machine.nodes for core in node.cores]
        return max(len(rules.machine.cpu_ids) // max(len(cores), 1), 1)
    return 1


def quantity(resource: str, number: int) -> Quantity:
    if resources.is_memory_type(resource):
        return Quantity.from_bytes(number)
    return Quantity.from_int(number)


def asking(pod: Pod, container: str, resource: str, amount: Quantity | None) -> Pod:
    def changed(each: Container) -> Container:
        if each.name != container:
            return each
        return replace(
            each,
            requests=_with(each.requests, resource, amount),
            limits=_with(each.limits, resource, amount),
        )

    return replace(
        pod,
        init_containers=tuple(map(changed, pod.init_containers)),
        app_containers=tuple(map(changed, pod.app_containers)),
    )


def alone(pod: Pod, container: Container, resource: str, amount: Quantity) -> Pod:
    """Return the pod reduced to one container with a request for one resource.

    A Guaranteed container always requests memory, so one byte of it stays.
    """
    least = Quantity.from_bytes(1)
    wanted = {name: least for name in container.requests if name == resources.MEMORY}
    wanted[resource] = amount
    only = replace(container, requests=wanted, limits=wanted)
    is_app = container.kind is ContainerKind.APP
    return replace(
        pod,
        init_containers=() if is_app else (only,),
        app_containers=(only,) if is_app else (),
    )


def _with(requests: Resources, resource: str, amount: Quantity | None) -> Resources:
    kept = {name: asked for name, asked in requests.items() if name != resource}
    return kept if amount is None else {**kept, resource: amount}


class LargestRequestSearch(Mutable):
    """Searches on one node; results for a resource alone are cached for the next pod."""

    node: Node
    _alone: dict[tuple[str, ContainerKind], Quantity] = field(default_factory=dict)

    def alone(self, pod: Pod, container: Container, resource: str) -> Quantity | None:
        """Return the largest amount admitted alone, unless the request itself is.

        The result exceeds the request only if the request is not a whole number of units.
        """
        asked = container.requests[resource]
        if admits(self.node, alone(pod, container, resource, asked)):
            return None

        def search() -> Quantity:
            largest = self._largest(
                resource, asked, lambda amount: alone(pod, container, resource, amount)
            )
            return quantity(resource, 0) if largest is None else largest

        if asked.value % unit_of(self.node.rules, resource):
            return search()  # Do not cache: the result may be the next whole number.
        key = (resource, container.kind)
        if key not in self._alone or self._alone[key] >= asked:
            self._alone[key] = search()
        return self._alone[key]

    def together(self, pod: Pod, container: Container, resource: str) -> Quantity | None:
        """Return the largest amount with which the node admits the whole pod, if any."""
        return self._largest(
            resource,
            container.requests[resource],
            lambda amount: asking(pod, container.name, resource, amount),
        )

    def _largest(
        self, resource: str, asked: Quantity, pod_with: Callable[[Quantity], Pod]
    ) -> Quantity | None:
        """Return the largest admitted amount below ``asked``, which is rejected itself.

        If ``asked`` is not a whole number of units, also try the next whole number.
        """
        unit = unit_of(self.node.rules, resource)

        def is_admitted(units: int) -> bool:
            return admits(self.node, pod_with(quantity(resource, units * unit)))

        high = -(-asked.value // unit)
        low = high
        if asked.value % unit and is_admitted(high):
            return quantity(resource, high * unit)
        # Admission is not monotonic: a smaller request may fit one node and be rejected where a
        # larger one needs a group. So probe eighths downwards before bisecting.
        for eighths in range(7, -1, -1):
            high, low = low, asked.value * eighths // 8 // unit
            if is_admitted(low):
                break
        else:
            return None
        while high - low > 1:
            middle = (low + high) // 2
            if is_admitted(middle):
                low = middle
            else:
                high = middle
        return quantity(resource, low * unit)
