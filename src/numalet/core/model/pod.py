"""A pod for the managers: containers in order, with exact requests and limits.

The quantities are those of the API server after defaulting: a limit without a request sets the
request, and quantities are in canonical form (Kubernetes v1 defaulting).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from functools import cached_property
from types import MappingProxyType
from typing import Final, NamedTuple

from numalet.core.model.node_constraints import NodeConstraints
from numalet.core.model.quantity import Quantity
from numalet.core.model.value import Value

Resources = Mapping[str, Quantity]
NO_RESOURCES: Resources = MappingProxyType({})
CRITICAL_PRIORITY: Final = 2_000_000_000


class ContainerKind(Enum):
    """The lifetime of a container."""

    INIT = "init"
    """Ends before the next container starts."""
    SIDECAR = "sidecar"
    """A restartable init container: starts with the init containers, runs until the pod ends."""
    APP = "app"


class QosClass(Enum):
    """Kubernetes quality of service class of a pod."""

    GUARANTEED = "Guaranteed"
    BURSTABLE = "Burstable"
    BEST_EFFORT = "BestEffort"


class ContainerKey(NamedTuple):
    """The identity of a container, stable across restarts of the kubelet."""

    pod_uid: str
    container: str


def container_keys(
    records: Mapping[str, Iterable[str]], pod_uid: str | None = None
) -> list[ContainerKey]:
    """Return the containers of records by pod uid and container name, of one pod or of all."""
    if pod_uid is None:
        return [ContainerKey(uid, name) for uid, names in records.items() for name in names]
    return [ContainerKey(pod_uid, name) for name in records.get(pod_uid, ())]


class PodClaim(NamedTuple):
    """A claim of a pod: its name in the pod, and the ResourceClaim or the template.

    ``claim`` is empty if only the template is known.
    """

    name: str
    claim: str = ""
    template: str = ""


class ContainerClaim(NamedTuple):
    """A claim of the pod that a container uses, or one request of it."""

    name: str
    request: str = ""


class Container(Value, dict=True):
    """One container: name, kind, requests and limits by resource name, claims that it uses."""

    name: str
    kind: ContainerKind = ContainerKind.APP
    requests: Resources = NO_RESOURCES
    limits: Resources = NO_RESOURCES
    claims: tuple[ContainerClaim, ...] = ()


class PodLevelResources(Value):
    """``spec.resources``: the pod-level requests and limits, including all containers.

    ``qos_class`` is the pod's class if these apply: computed from them alone, or from
    ``status.qosClass``. ``count`` says whether they apply, which admission decides. ``written``
    has requests and limits of a static pod's file as they are, before defaults.
    """

    requests: Resources
    limits: Resources
    qos_class: QosClass
    count: bool = False
    written: tuple[Resources, Resources] | None = None


class StatusResources(Value):
    """``allocatedResources`` in a pod's status, by container name.

    An entry without ``allocatedResources`` is an empty mapping. ``running`` has each entry with a
    ``state``: whether the container runs.
    """

    containers: Mapping[str, Resources]
    """From ``status.containerStatuses``."""
    init_containers: Mapping[str, Resources]
    """From ``status.initContainerStatuses``."""
    running: Mapping[str, bool] = MappingProxyType({})


class Pod(Value, dict=True):
    """One pod. ``init_containers`` holds init containers and sidecars in manifest order.

    ``qos_class`` is computed from the containers or read from ``status.qosClass``. ``priority`` is
    the number in the manifest, if any; a *static* pod is a file of the node. ``constraints`` None
    means unknown, not unconstrained. ``claims`` are dynamic resource allocation, which the managers
    ignore. A pod may lack ``pod_level`` and ``allocated``; ``core.admission.counting`` decides by
    release and feature gates whether they apply.
    """

    uid: str
    name: str
    namespace: str = "default"
    init_containers: tuple[Container, ...] = ()
    app_containers: tuple[Container, ...] = ()
    qos_class: QosClass = QosClass.BEST_EFFORT
    overhead: Resources = NO_RESOURCES
    phase: str = ""
    node_name: str = ""
    labels: Mapping[str, str] = MappingProxyType({})
    priority: int | None = None
    is_static: bool = False
    constraints: NodeConstraints | None = None
    claims: tuple[PodClaim, ...] = ()
    pod_level: PodLevelResources | None = None
    has_empty_resources: bool = False
    """Whether ``spec.resources`` is there without content, and the status has no QoS class."""
    allocated: StatusResources | None = None

    @property
    def is_critical(self) -> bool:
        """Whether the kubelet evicts other pods for it rather than reject it.

        Kubelet: ``kubetypes.IsCriticalPod``, v1.32.
        """
        return self.is_static or (self.priority or 0) >= CRITICAL_PRIORITY

    @property
    def is_one_container(self) -> bool:
        """Whether a single container makes all requests, as in most pods."""
        return (
            len(self.app_containers) == 1
            and not self.init_containers
            and not self.overhead
            and self.pod_level is None
        )

    def containers(self) -> tuple[Container, ...]:
        """Return all containers in allocation order: init containers, then app containers."""
        if not self.init_containers:
            return self.app_containers
        return self.init_containers + self.app_containers

    @cached_property
    def keys(self) -> tuple[ContainerKey, ...]:
        return tuple([ContainerKey(self.uid, each.name) for each in self.containers()])

    @cached_property
    def by_name(self) -> Mapping[str, Container]:
        return MappingProxyType({each.name: each for each in self.containers()})

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"
