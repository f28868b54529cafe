"""What Prometheus is shown of a fleet: stranded resources, traps, what fits, what publishers say.

CPUs are counted whole or in parts, memory in bytes, devices by number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from numalet.core.cluster import scheduler_sums, shapes
from numalet.core.cluster.cluster import Cluster, ClusterPod
from numalet.core.model import resources
from numalet.insight.fleet.traps import TrapFinder

MOST_COPIES: Final = 1_000
"""A shape is counted up to so many copies: that it fits often enough is all one needs to know."""
MOST_SHAPES: Final = 20
"""So many shapes of the cluster's own pods are shown, those of most pods."""

_PREFIX: Final = "numalet_fleet_"
HELP: Final[Mapping[str, str]] = {
    "up": "Whether the cluster could be listed the last time.",
    "listed_timestamp_seconds": "When the cluster was listed last.",
    "nodes": "Nodes by pool and by where their state comes from; undecided: too little is known.",
    "stranded": "What the sums promise and no pod of the shapes can have.",
    "free": "What is free by the scheduler's sums.",
    "trap_nodes": "Nodes with something stranded.",
    "fits": "So many copies of a shape fit now, counted up to 1000.",
    "waiting_pods": "Pods of a shape that wait for a node.",
    "publisher_age_seconds": "Seconds since the node of a pool changed its object that did so"
    " longest ago.",
}
"""By the name without its prefix."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetMeasures:
    """One moment of a fleet, measured. Amounts are by (pool, resource)."""

    listed_seconds: float
    nodes: Mapping[tuple[str, str], int]
    stranded: Mapping[tuple[str, str], float]
    free: Mapping[tuple[str, str], float]
    trap_nodes: Mapping[str, int]
    fits: Mapping[str, int]
    waiting_pods: Mapping[str, int]
    publisher_age_seconds: Mapping[str, float]


def measured(
    cluster: Cluster,
    asked: Iterable[tuple[str, ClusterPod]],
    published_seconds: Mapping[str, float],
    now_seconds: float,
    finder: TrapFinder,
) -> FleetMeasures:
    """The measures of a cluster, for the shapes of these pods or, without any, of its own.

    ``published_seconds`` is when each node changed its object last, since 1970.
    """
    own = finder.shapes_of(cluster)
    named = tuple(asked) or tuple((str(each.pod.pod), each.pod) for each in own[:MOST_SHAPES])
    answer = finder.find(cluster, [pod for _, pod in named] if named else None)
    waiting = {shapes.key_of(each.pod): each.waiting for each in own}
    nodes: dict[tuple[str, str], int] = {}
    for each in cluster.nodes.values():
        key = (each.pool, each.origin.value)
        nodes[key] = nodes.get(key, 0) + 1
    for unknown in cluster.undecided.values():
        key = (unknown.pool, "undecided")
        nodes[key] = nodes.get(key, 0) + 1
    ages: dict[str, float] = {}
    for name, at in published_seconds.items():
        if name in cluster.nodes:
            pool = cluster.nodes[name].pool
            ages[pool] = max(ages.get(pool, 0.0), now_seconds - at)
    free: dict[tuple[str, str], float] = {}
    for each in cluster.nodes.values():
        for resource, amount in scheduler_sums.free(each.node).items():
            key = (each.pool, resource)
            free[key] = free.get(key, 0.0) + _counted(resource, amount)
    return FleetMeasures(
        listed_seconds=now_seconds,
        nodes=nodes,
        stranded={
            (pool.pool, resource): _counted(resource, pool.stranded.get(resource, 0))
            for pool in answer.pools
            for resource in sorted({name for _, pod in named for name in _asked(pod)})
        },
        free=free,
        trap_nodes={each.pool: each.traps for each in answer.pools},
        fits={name: finder.assessor.count(cluster, pod, MOST_COPIES) for name, pod in named},
        waiting_pods={name: waiting.get(shapes.key_of(pod), 0) for name, pod in named},
        publisher_age_seconds=ages,
    )


def _asked(pod: ClusterPod) -> Iterator[str]:
    for container in pod.pod.containers():
        yield from container.requests


def _counted(resource: str, amount: int) -> float:
    return amount / 1000 if resource == resources.CPU else float(amount)


class FleetCollector(Collector):
    """Shows the measures that it was given last."""

    def __init__(self) -> None:
        self.measures: FleetMeasures | None = None
        self.is_up = False

    def collect(self) -> Iterator[Metric]:
        """Every metric; only ``up`` before the first measures."""
        yield GaugeMetricFamily(f"{_PREFIX}up", HELP["up"], value=float(self.is_up))
        of = self.measures
        if of is None:
            return
        listed = "listed_timestamp_seconds"
        yield GaugeMetricFamily(f"{_PREFIX}{listed}", HELP[listed], value=of.listed_seconds)
        yield _family("nodes", ("pool", "origin"), of.nodes.items())
        yield _family("stranded", ("pool", "resource"), of.stranded.items())
        yield _family("free", ("pool", "resource"), of.free.items())
        yield _family("trap_nodes", ("pool",), _alone(of.trap_nodes))
        yield _family("fits", ("shape",), _alone(of.fits))
        yield _family("waiting_pods", ("shape",), _alone(of.waiting_pods))
        yield _family("publisher_age_seconds", ("pool",), _alone(of.publisher_age_seconds))


def registry(collector: FleetCollector) -> CollectorRegistry:
    """What a page is made of."""
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
