"""Facts about an API server and its nodes, as far as they could be read."""

from __future__ import annotations

from collections.abc import Mapping

from numalet.cluster.doctor.contradictions import Contradictions
from numalet.cluster.doctor.roles import Permission
from numalet.cluster.doctor.scheduler_facts import SchedulingFacts
from numalet.core.model.value import Value, field


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
