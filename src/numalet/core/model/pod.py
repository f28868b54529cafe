"""A pod as the managers need it: containers in order, with exact requests and limits.

The quantities are those the API server hands out: a limit without a request has become the
request, and quantities are in canonical form (Kubernetes v1 defaulting).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
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
    """How a container lives."""

    INIT = "init"
    """Runs to its end before the next container starts."""
    SIDECAR = "sidecar"
    """A restartable init container: starts with the init containers, stays with the pod."""
    APP = "app"


class QosClass(Enum):
    """Kubernetes quality of service class of a pod."""

    GUARANTEED = "Guaranteed"
    BURSTABLE = "Burstable"
    BEST_EFFORT = "BestEffort"


class ContainerKey(NamedTuple):
    """Who a container is, across restarts of the kubelet."""

    pod_uid: str
    container: str


def container_keys(
    records: Mapping[str, Iterable[str]], pod_uid: str | None = None
) -> list[ContainerKey]:
    """The containers of records by pod uid and container name: of one pod, or of all."""
    if pod_uid is None:
        return [ContainerKey(uid, name) for uid, names in records.items() for name in names]
    return [ContainerKey(pod_uid, name) for name in records.get(pod_uid, ())]


class PodClaim(NamedTuple):
    """A claim of a pod: what its containers call it, and the ResourceClaim or the template.

    ``claim`` is empty where only the template is known.
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
    """``spec.resources``: what a pod asks for as a whole, its containers' shares included.

    ``qos_class`` is the pod's class where these count: computed from them alone, or the one that
    ``status.qosClass`` has. ``count`` is whether they do, which admission decides.
    """

    requests: Resources
    limits: Resources
    qos_class: QosClass
    count: bool = False


class StatusResources(Value):
    """What the entries in a pod's status say, by the container's name.

    These are ``allocatedResources``: an entry without the member is there too, with nothing in it.
    ``running`` says of each entry with a ``state`` whether the container runs.
    """

    containers: Mapping[str, Resources]
    """Of ``status.containerStatuses``."""
    init_containers: Mapping[str, Resources]
    """Of ``status.initContainerStatuses``."""
    running: Mapping[str, bool] = MappingProxyType({})


class Pod(Value, dict=True):
    """One pod. ``init_containers`` holds init containers and sidecars in manifest order.

    ``qos_class`` is the one that was computed of the containers or that ``status.qosClass`` has.
    ``priority`` is the number in the manifest, None without one; a *static* pod comes from a file
    of the node. ``constraints`` None means that they are unknown, not that there are none.
    ``claims`` are devices of dynamic resource allocation: the managers do not know of them.
    ``pod_level`` and ``allocated`` are None for a pod without; whether they count is said by the
    release and its feature gates, see ``core.admission.counting``.
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
    allocated: StatusResources | None = None

    @property
    def is_critical(self) -> bool:
        """Whether lack of resources must not keep it out.

        Kubelet: ``kubetypes.IsCriticalPod``, v1.32.
        """
        return self.is_static or (self.priority or 0) >= CRITICAL_PRIORITY

    @property
    def is_one_container(self) -> bool:
        """Whether nothing but a single container asks for anything, as in most pods."""
        return (
            len(self.app_containers) == 1
            and not self.init_containers
            and not self.overhead
            and self.pod_level is None
        )

    def containers(self) -> Iterator[Container]:
        """All containers in the order of allocation: init containers, then app containers."""
        yield from self.init_containers
        yield from self.app_containers

    @cached_property
    def keys(self) -> tuple[ContainerKey, ...]:
        """What all containers are called beside those of other pods."""
        return tuple([ContainerKey(self.uid, each.name) for each in self.containers()])

    @cached_property
    def by_name(self) -> Mapping[str, Container]:
        """Every container by its name."""
        return MappingProxyType({each.name: each for each in self.containers()})

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"
