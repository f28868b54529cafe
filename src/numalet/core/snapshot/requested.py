"""The sum of all active pods' requests on a node, kept up to date.

The kubelet adds up all pods at every admission. Here a query takes the same time with any number of
pods.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TypeAlias

from numalet.core.model import pod_demand
from numalet.core.model.node_constraints import HostPort
from numalet.core.model.pod import Pod
from numalet.core.model.value import Value, without_keys

Ports: TypeAlias = Mapping[tuple[int, str], tuple[HostPort, ...]]
"""Host ports by number and protocol, one entry for each pod's port."""


class Requested(Value):
    """The sums. ``amounts`` are by resource: milli-CPUs for CPU, whole units for the rest.

    ``unknown_ports`` is the number of pods that may have unknown ports.
    """

    pods: int = 0
    amounts: Mapping[str, int] = MappingProxyType({})
    ports: Ports = MappingProxyType({})
    unknown_ports: int = 0

    def plus(self, pod: Pod) -> Requested:
        amounts = dict(self.amounts)
        for name, amount in pod_demand.amounts(pod).items():
            amounts[name] = amounts.get(name, 0) + amount
        ports = self.ports
        for port in _ports(pod):
            key = (port.number, port.protocol)
            ports = {**ports, key: (*ports.get(key, ()), port)}
        unknown = self.unknown_ports + (pod.constraints is None)
        return Requested(self.pods + 1, amounts, ports, unknown)

    def minus(self, pod: Pod) -> Requested:
        amounts = dict(self.amounts)
        for name, amount in pod_demand.amounts(pod).items():
            amounts[name] -= amount
            if not amounts[name]:
                del amounts[name]
        ports = self.ports
        for port in _ports(pod):
            key = (port.number, port.protocol)
            left = list(ports[key])
            left.remove(port)
            ports = without_keys(ports, (key,))
            if left:
                ports[key] = tuple(left)
        unknown = self.unknown_ports - (pod.constraints is None)
        return Requested(self.pods - 1, amounts, ports, unknown)

    def has_free(self, port: HostPort) -> bool:
        """Return whether no pod has a conflicting port."""
        held = self.ports.get((port.number, port.protocol), ())
        return not any(port.conflicts_with(other) for other in held)


NOTHING_REQUESTED = Requested()


def of_pods(pods: Iterable[Pod]) -> Requested:
    sums = NOTHING_REQUESTED
    for pod in pods:
        sums = sums.plus(pod)
    return sums


def _ports(pod: Pod) -> tuple[HostPort, ...]:
    return () if pod.constraints is None else pod.constraints.ports
