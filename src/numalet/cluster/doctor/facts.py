"""Facts about an API server and its nodes, as far as they could be read."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from numalet.core.cluster import building
from numalet.core.cluster.building import Classes
from numalet.core.cluster.objects import ClusterObjects
from numalet.core.model.findings import Finding
from numalet.core.model.value import Value, field
from numalet.io.documents.cluster import numa_node, numa_node_class
from numalet.io.kube_api import api_objects
from numalet.io.kube_api.answers import ApiRefused
from numalet.io.kube_api.client import ApiClient
from numalet.shared.kubernetes import node_resource_topology

SETTLE_SECONDS: Final = 5.0
"""A node writes within a second of a change, or two seconds after the write before."""

# Nodes with an impossible published state, judged by the pods bound to them. Collections are listed
# one after the other while the cluster changes, so a NumaNode that is two seconds behind its pods
# seems to contradict them. Contradictory objects are therefore listed again, once every healthy
# node has had time to write; the second result is reported.

Contradictions = Mapping[str, tuple[Finding, ...]]
"""Contradictions in the published state by node; nodes without any are left out."""


async def contradictions(
    api: ApiClient, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
) -> Contradictions | None:
    """Return the contradictions of the cluster, unless a needed list is forbidden.

    Raises ``ApiRefused`` and ``ApiUnreachable`` as the client does.
    """
    try:
        first = contradictions_in(await api_objects.objects(api))
        if not first:
            return first
        await sleep(SETTLE_SECONDS)
        again = contradictions_in(await api_objects.objects(api))
    except ApiRefused as refused:
        if refused.status.is_forbidden:
            return None
        raise
    return {name: again[name] for name in first if name in again}


def contradictions_in(listed: ClusterObjects) -> Contradictions:
    """Return the contradictions in listed objects; only nodes with a known class are judged."""
    known = Classes(listed.classes)
    every = {
        inputs.listed.name: building.contradictions(inputs, known, listed.pods)
        for inputs in building.inputs_of(listed)
    }
    return {name: why for name, why in every.items() if why}


# Permissions of the accounts in ``packaging/kubernetes``. The manifests grant the same; a test
# compares them, and another one removes each verb in turn.

NAMESPACE: Final = "numalet"
NUMALET: Final = numa_node.GROUP
TOPOLOGY: Final = node_resource_topology.GROUP
POLICY: Final = "policy"
CORE: Final = ""


class Permission(Value, order=True):
    """One verb on the objects of one resource, in all namespaces."""

    group: str
    resource: str
    verb: str

    @property
    def resource_name(self) -> str:
        """The resource in kubectl's form: ``numanodes.numalet.dev``."""
        return f"{self.resource}.{self.group}" if self.group else self.resource


def _of(group: str, resources: Iterable[str], verbs: Iterable[str]) -> Iterator[Permission]:
    verbs = tuple(verbs)
    return (Permission(group, each, verb) for each in resources for verb in verbs)


READER: Final = frozenset(
    [
        *_of(CORE, ["nodes", "pods"], ["list", "watch"]),
        *_of(POLICY, ["poddisruptionbudgets"], ["list", "watch"]),
        *_of(NUMALET, [numa_node.PLURAL, numa_node_class.PLURAL], ["list", "watch"]),
        *_of(TOPOLOGY, [node_resource_topology.PLURAL], ["list", "watch"]),
    ]
)
PUBLISHER: Final = frozenset(
    [
        *_of(NUMALET, [numa_node.PLURAL], ["create", "patch"]),
        *_of(NUMALET, [numa_node_class.PLURAL], ["create"]),
        *_of(TOPOLOGY, [node_resource_topology.PLURAL], ["create", "patch"]),
        *_of(CORE, ["nodes"], ["get"]),
    ]
)
WAKER: Final = READER | frozenset(_of(CORE, ["nodes"], ["patch"]))

ACCOUNTS: Final = {
    "numalet-publisher": PUBLISHER,
    "numalet-reader": READER,
    "numalet-waker": WAKER,
}
"""By the name of the ServiceAccount."""


# Facts about the schedulers, extenders and breakers.

DEFAULT_SCHEDULER: Final = "default-scheduler"
DEFAULT_TIMEOUT_SECONDS: Final = 5.0
"""Default of kube-scheduler's ``httpTimeout`` and of ``numalet extender --timeout``."""


class SchedulerConfiguration(Value, kw_only=True):
    """A KubeSchedulerConfiguration, and its source: a file or a ConfigMap."""

    source: str
    document: Mapping[str, Any]

    @property
    def extenders(self) -> tuple[Mapping[str, Any], ...]:
        """Its extenders that are objects."""
        given = self.document.get("extenders")
        listed = given if isinstance(given, list) else []
        return tuple(each for each in listed if isinstance(each, Mapping))

    @property
    def scheduler_names(self) -> frozenset[str]:
        given = self.document.get("profiles")
        names = [
            str(each.get("schedulerName") or DEFAULT_SCHEDULER)
            for each in (given if isinstance(given, list) else [])
            if isinstance(each, Mapping)
        ]
        return frozenset(names or [DEFAULT_SCHEDULER])


class ExtenderProgram(Value, kw_only=True):
    """A ``numalet extender`` in the template of a workload, or in a static pod.

    ``scheduler`` is empty if its pods name their node and need no scheduler.
    """

    name: str
    listens: str
    timeout_seconds: float
    scheduler: str
    replicas: int
    has_lease: bool
    beside_scheduler: bool


class LeaseFacts(Value, kw_only=True):
    """A lease of numalet; ``renewed_seconds`` since 1970, by the clock of its holder."""

    namespace: str
    name: str
    holder: str
    renewed_seconds: float
    duration_seconds: float


class SchedulingFacts(Value, kw_only=True):
    """All facts that the API server returned.

    ``without_configuration`` names pods with an extender and a kube-scheduler without
    configuration; ``traps`` is the end of the breaker's taint by node.
    """

    configurations: tuple[SchedulerConfiguration, ...] = ()
    extenders: tuple[ExtenderProgram, ...] = ()
    without_configuration: tuple[str, ...] = ()
    traps: Mapping[str, float] | None = None
    leases: tuple[LeaseFacts, ...] = ()


class OtherSchedulers(Value, kw_only=True):
    """The objects that KAI or NodeResourceTopologyMatch read; none if neither is in use.

    ``ignored`` are the resources of KAI's ``ignoreList``; None without KAI. ``sharing`` are the
    configurations whose NodeResourceTopologyMatch has a cache that knows running pods alone.
    ``classes`` are the kubelet configurations of classes by name.
    """

    ignored: frozenset[str] | None = None
    sharing: tuple[str, ...] = ()
    topologies: tuple[Mapping[str, Any], ...] = ()
    class_of_node: Mapping[str, str] = field(default_factory=dict)
    classes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    pods: tuple[Mapping[str, Any], ...] = ()


class ClockReading(Value, kw_only=True):
    """The server's clock and this machine's; ``error_seconds`` is the accuracy.

    Both are seconds since 1970, taken in the middle between question and answer.
    """

    server_seconds: float
    own_seconds: float
    error_seconds: float

    @property
    def ahead_seconds(self) -> float:
        """How far the server's clock is ahead; negative if it is behind."""
        return self.server_seconds - self.own_seconds


class ClusterNodeFacts(Value, kw_only=True):
    name: str
    kubelet_version: str
    is_ready: bool


class NumaNodeFacts(Value, kw_only=True):
    """A NumaNode object. Times are seconds since 1970, if known.

    ``published_seconds`` is by the node's clock, ``written_seconds`` by the API server's.
    """

    name: str
    class_name: str
    published_seconds: float | None
    written_seconds: float | None


class ZoneOwners(Value, kw_only=True):
    """A NodeResourceTopology object: the field managers of its zones."""

    name: str
    zone_managers: frozenset[str]


class ClusterFacts(Value, kw_only=True):
    """All facts; None for facts that the API server did not return.

    ``served`` are the relevant resources by group and version, such as ``numalet.dev/v1alpha1``.
    ``may_not`` are missing permissions of the user, ``accounts`` those of the manifests' accounts
    that exist.
    """

    server: str
    version: str
    clock: ClockReading | None = None
    served: Mapping[str, frozenset[str]] = field(default_factory=dict)
    may_not: frozenset[Permission] = frozenset()
    accounts: Mapping[str, frozenset[Permission]] | None = None
    nodes: tuple[ClusterNodeFacts, ...] | None = None
    numa_nodes: tuple[NumaNodeFacts, ...] | None = None
    class_names: frozenset[str] | None = None
    topologies: tuple[ZoneOwners, ...] | None = None
    contradictions: Contradictions | None = None
    scheduling: SchedulingFacts = field(default_factory=SchedulingFacts)
    others: OtherSchedulers = field(default_factory=OtherSchedulers)
