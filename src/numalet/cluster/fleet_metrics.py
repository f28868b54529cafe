"""Metrics of a fleet: stranded resources, traps, fitting pods, state of publishers.

CPUs are whole or fractional numbers, memory is in bytes, devices are counted.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from numalet.core.cluster import shapes
from numalet.core.cluster.cluster import Cluster, ClusterNode, ClusterPod
from numalet.core.model import resources
from numalet.core.model.value import Value
from numalet.insight.fleet.assessing import Assessor
from numalet.insight.fleet.traps import TrapFinder

MOST_COPIES: Final = 1_000
"""Limit of counted copies of a shape: larger numbers have no use."""
MOST_SHAPES: Final = 20
"""Limit of shown shapes of the cluster's own pods, by descending number of pods."""

Amounts: TypeAlias = Mapping[tuple[str, str], int]
"""By pool and resource or origin."""

_PREFIX: Final = "numalet_fleet_"
HELP: Final[Mapping[str, str]] = {
    "up": "Whether the metrics are current: the cluster is followed, or the last read succeeded.",
    "view_age_seconds": "Seconds since the metrics were last current; 0 while they are.",
    "nodes": "Nodes by pool and origin of their state; undecided: insufficient data.",
    "stranded": "Stranded resources: free by the sums, but unusable for all shapes.",
    "free": "Free resources by the scheduler's sums, on nodes that get new pods.",
    "trap_nodes": "Nodes with something stranded.",
    "fits": "Copies of a shape that fit now, counted up to 1000.",
    "waiting_pods": "Pods of a shape that wait for a node.",
    "publisher_age_seconds": "Seconds since the node of a pool changed its object that did so"
    " longest ago.",
}
"""By name without prefix."""


class FleetMeasures(Value, kw_only=True):
    """The measures of a fleet at one time. Amounts are by (pool, resource).

    ``published_seconds`` is the oldest last change of a node's object in a pool, since 1970.
    """

    nodes: Mapping[tuple[str, str], int]
    stranded: Mapping[tuple[str, str], float]
    free: Mapping[tuple[str, str], float]
    trap_nodes: Mapping[str, int]
    fits: Mapping[str, int]
    waiting_pods: Mapping[str, int]
    published_seconds: Mapping[str, float]


class FleetMeter:
    """Measures one cluster after another; decides on each node object once.

    ``shapes`` are shown; the default are those of the cluster's own pods.
    """

    def __init__(self, shapes: Iterable[tuple[str, ClusterPod]] = ()) -> None:
        self.finder = TrapFinder()
        self._totals = _PoolTotals(self.finder.assessor)
        self._shapes = tuple(shapes)

    def measured(
        self, cluster: Cluster, published_seconds: Mapping[str, float] = MappingProxyType({})
    ) -> FleetMeasures:
        """``published_seconds`` is when each node last changed its object, since 1970."""
        own = self.finder.shapes_of(cluster)
        named = self._shapes or [(str(each.pod.pod), each.pod) for each in own[:MOST_SHAPES]]
        answer = self.finder.find(cluster, [pod for _, pod in named] if self._shapes else None)
        waiting = {shapes.key_of(each.pod): each.waiting for each in own}
        assessor = self.finder.assessor
        nodes, free = self._totals.of(cluster)
        asked = sorted({name for _, pod in named for name in _asked(pod)})
        return FleetMeasures(
            nodes=nodes,
            stranded={
                (pool.pool, resource): _counted(resource, pool.stranded.get(resource, 0))
                for pool in answer.pools
                for resource in asked
            },
            free={key: _counted(key[1], amount) for key, amount in free.items()},
            trap_nodes={each.pool: each.traps for each in answer.pools},
            fits={name: assessor.count(cluster, pod, MOST_COPIES) for name, pod in named},
            waiting_pods={name: waiting.get(shapes.key_of(pod), 0) for name, pod in named},
            published_seconds=_oldest(cluster, published_seconds),
        )


class _PoolTotals:
    """Nodes and free amounts by pool, updated only for changed nodes."""

    def __init__(self, assessor: Assessor) -> None:
        self._assessor = assessor
        self._seen: Mapping[str, ClusterNode] = MappingProxyType({})
        self._seen_free: Mapping[str, Mapping[str, int]] = MappingProxyType({})
        self._nodes: Counter[tuple[str, str]] = Counter()
        self._free: dict[tuple[str, str], int] = {}
        self._sharing: Counter[tuple[str, str]] = Counter()
        """Number of nodes of a pool with a resource."""

    def of(self, cluster: Cluster) -> tuple[Amounts, Amounts]:
        """Return nodes by pool and origin, and free amounts by pool and resource."""
        free = self._assessor.free(cluster)
        different = self._assessor.differences.between(self._seen, cluster.nodes)
        for name in (*different.gone, *different.changed):
            if name in self._seen:
                self._add(self._seen[name], self._seen_free[name], -1)
        for name, node in different.changed.items():
            self._add(node, free[name], 1)
        self._seen, self._seen_free = cluster.nodes, free
        nodes = self._nodes.copy()
        nodes.update((each.pool, "undecided") for each in cluster.undecided.values())
        return nodes, self._free

    def _add(self, node: ClusterNode, free: Mapping[str, int], times: int) -> None:
        _count(self._nodes, (node.pool, node.origin.value), times)
        for resource, amount in free.items():
            key = (node.pool, resource)
            # A node without new pods has no usable resources.
            given = amount if node.is_open else 0
            self._free[key] = self._free.get(key, 0) + times * given
            if not _count(self._sharing, key, times):
                del self._free[key]


def _count(counts: Counter[tuple[str, str]], key: tuple[str, str], times: int) -> int:
    counts[key] += times
    return counts[key] or counts.pop(key)


def _oldest(cluster: Cluster, published_seconds: Mapping[str, float]) -> dict[str, float]:
    oldest: dict[str, float] = {}
    for name, at in published_seconds.items():
        node = cluster.nodes.get(name)
        if node is not None and at < oldest.get(node.pool, math.inf):
            oldest[node.pool] = at
    return oldest


def _asked(pod: ClusterPod) -> Iterator[str]:
    for container in pod.pod.containers():
        yield from container.requests


def _counted(resource: str, amount: int) -> float:
    return amount / 1000 if resource == resources.CPU else float(amount)


class FleetCollector(Collector):
    """Shows the last measures.

    ``current_until`` is the last time, by the monotonic clock in seconds, at which the view was
    current; unset while it is current.
    """

    def __init__(self) -> None:
        self.measures: FleetMeasures | None = None
        self.current_until: float | None = time.monotonic()

    @property
    def is_up(self) -> bool:
        return self.current_until is None

    @property
    def age_seconds(self) -> float:
        """How long the view has not been current."""
        until = self.current_until
        return 0.0 if until is None else max(0.0, time.monotonic() - until)

    def collect(self) -> Iterator[Metric]:
        """Yield every metric; before the first measures only those of the view."""
        yield GaugeMetricFamily(f"{_PREFIX}up", HELP["up"], value=float(self.is_up))
        age = "view_age_seconds"
        yield GaugeMetricFamily(f"{_PREFIX}{age}", HELP[age], value=self.age_seconds)
        of = self.measures
        if of is None:
            return
        yield _family("nodes", ("pool", "origin"), of.nodes.items())
        yield _family("stranded", ("pool", "resource"), of.stranded.items())
        yield _family("free", ("pool", "resource"), of.free.items())
        yield _family("trap_nodes", ("pool",), _alone(of.trap_nodes))
        yield _family("fits", ("shape",), _alone(of.fits))
        yield _family("waiting_pods", ("shape",), _alone(of.waiting_pods))
        now = time.time()
        ages = {pool: max(0.0, now - at) for pool, at in of.published_seconds.items()}
        yield _family("publisher_age_seconds", ("pool",), _alone(ages))


def registry(collector: FleetCollector) -> CollectorRegistry:
    made = CollectorRegistry()
    made.register(collector)
    return made


def _alone(values: Mapping[str, float]) -> Iterable[tuple[tuple[str, ...], float]]:
    return (((name,), value) for name, value in values.items())


def _family(
    name: str, labels: tuple[str, ...], values: Iterable[tuple[tuple[str, ...], float]]
) -> GaugeMetricFamily:
    family = GaugeMetricFamily(f"{_PREFIX}{name}", HELP[name], labels=labels)
    for key, value in sorted(values):
        family.add_metric(key, value)
    return family
