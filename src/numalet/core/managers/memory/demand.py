"""The memory that a container or a pod requests: bytes by memory type.

Only Guaranteed pods have a demand. A type requested with size 0 is part of the demand.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from numalet.core.config.behaviour import EXACT, Behaviour
from numalet.core.hints.provider import WHOLE_POD
from numalet.core.managers.memory.reasons import NotAnInteger
from numalet.core.model import resources
from numalet.core.model.pod import Container, ContainerKind, Pod, QosClass, Resources
from numalet.core.model.value import kept

Demand = Mapping[str, int]
"""Bytes by memory type, types sorted by name."""


def is_guaranteed(pod: Pod) -> bool:
    return pod.qos_class is QosClass.GUARANTEED


def of_container(container: Container, behaviour: Behaviour = EXACT) -> Demand | NotAnInteger:
    """Return the memory types in the requests (``getRequestedResources``, v1.32)."""
    name = "memory in Go's integers" if behaviour.sizes_are_go_integers else "memory"
    return kept(container, name, _memory_of, container.requests, container.name, behaviour)


def of_pod_level(pod: Pod, behaviour: Behaviour = EXACT) -> Demand | NotAnInteger:
    """Return the memory types of the pod-level requests, without types of size 0.

    Kubelet: ``getPodRequestedResources``, v1.36.
    """
    if pod.pod_level is None:
        return {}
    demand = _memory_of(pod.pod_level.requests, WHOLE_POD, behaviour)
    if isinstance(demand, NotAnInteger):
        return demand
    return {name: size for name, size in demand.items() if size > 0}


def _memory_of(
    requests: Resources, container: str, behaviour: Behaviour
) -> dict[str, int] | NotAnInteger:
    demand = {}
    for name in sorted(filter(resources.is_memory_type, requests)):
        asked = requests[name]
        size = asked.as_int64() if behaviour.sizes_are_go_integers else asked.value
        if size is None:
            return NotAnInteger(container, name, str(asked))
        demand[name] = size
    return demand


def of_pod(pod: Pod, behaviour: Behaviour = EXACT) -> Demand | NotAnInteger:
    """Return max(apps + sidecars, each init container + the sidecars before it), by type.

    Kubelet: ``getPodRequestedResources``, v1.32.
    """
    sidecars: dict[str, int] = {}
    init_peak: dict[str, int] = {}
    apps: dict[str, int] = {}
    for container in pod.containers():
        demand = of_container(container, behaviour)
        if isinstance(demand, NotAnInteger):
            return demand
        for name, size in demand.items():
            match container.kind:
                case ContainerKind.SIDECAR:
                    sidecars[name] = sidecars.get(name, 0) + size
                case ContainerKind.INIT:
                    peak = sidecars.get(name, 0) + size
                    init_peak[name] = max(init_peak.get(name, 0), peak)
                case ContainerKind.APP:
                    apps[name] = apps.get(name, 0) + size
                case _:
                    assert_never(container.kind)
    # The kubelet omits types that no app container requests.
    names = {*apps} if behaviour.pod_total_of_app_types else {*apps, *sidecars, *init_peak}
    return {
        name: max(apps.get(name, 0) + sidecars.get(name, 0), init_peak.get(name, 0))
        for name in sorted(names)
    }
