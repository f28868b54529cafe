"""What an API server says about itself and the nodes, as far as it was asked and answered."""

from __future__ import annotations

from collections.abc import Mapping

from numalet.cluster.doctor.contradictions import Contradictions
from numalet.cluster.doctor.roles import Permission
from numalet.cluster.doctor.scheduler_facts import SchedulingFacts
from numalet.core.model.value import Value, field


class ClockReading(Value, kw_only=True):
    """The server's clock and this machine's. A difference below ``error_seconds`` is none.

    Both are seconds since 1970, taken in the middle between question and answer.
    """

    server_seconds: float
    own_seconds: float
    error_seconds: float

    @property
    def ahead_seconds(self) -> float:
        """How much the server's clock is ahead; negative if it is behind."""
        return self.server_seconds - self.own_seconds


class ClusterNodeFacts(Value, kw_only=True):
    """A Node object."""

    name: str
    kubelet_version: str
    is_ready: bool


class NumaNodeFacts(Value, kw_only=True):
    """A NumaNode object. Moments are seconds since 1970, None unknown.

    ``published_seconds`` is by the node's clock, ``written_seconds`` by the API server's.
    """

    name: str
    class_name: str
    published_seconds: float | None
    written_seconds: float | None


class ZoneOwners(Value, kw_only=True):
    """A NodeResourceTopology object: who owns its zones."""

    name: str
    zone_managers: frozenset[str]


class ClusterFacts(Value, kw_only=True):
    """Everything; None where the API server did not say.

    ``served`` has the resources by group and version, as ``numalet.dev/v1alpha1``, of the groups
    that concern us. ``may_not`` is what the asking user is not allowed, ``accounts`` the same of
    the accounts of the manifests, of those that there are.
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
