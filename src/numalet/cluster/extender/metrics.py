"""Metrics of an extender; the reference documents each of them."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from numalet.core.cluster.cluster import ClusterNode, Origin, UndecidedNode
from numalet.core.model.value import Value
from numalet.insight.scheduling.filtering import Filtered, FilterRules

UNDECIDED: Final = "undecided"

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
PREFIX: Final = "numalet_extender_"
SECONDS_BOUNDS: Final = (
    *(0.001, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.15),
    *(0.25, 0.5, 1.0, 2.0, 4.0, 8.0),
)
HELP: Final[Mapping[str, str]] = {
    "requests_total": "Requests by verb and result.",
    "request_seconds": "Seconds from the head of a request to its answer, by verb.",
    "request_cpu_seconds_total": "CPU seconds spent on answering, by verb.",
    "nodes_total": "Nodes in filter calls, by verdict.",
    "pods_refused_by_all_total": "Pods that all nodes would reject; equal causes count once.",
    "promises": "Pods promised to a node whose objects do not show it yet.",
    "promises_made_total": "Promises made: a node was named for a pod.",
    "promises_late_total": "Promises that ended because their time had passed.",
    "model_mismatch_total": "Rejected pods whose admission was predicted, by the kubelet's reason.",
    "back_offs": "Back-offs: nodes that get no pods of a shape after a model mismatch.",
    "up": "Whether the view of the cluster is current: all is listed and every watch is open.",
    "view_age_seconds": "Seconds since the view was current last; 0 while it is.",
    "ready": "Whether the readiness probe succeeds.",
    "leader": "Whether this replica is the one that answers; 1 without a lease.",
    "cluster_nodes": "Nodes by origin of their state; undecided: insufficient data.",
    "shapes": "Shapes of pods whose verdicts are remembered.",
    "prewarmed_total": "Pod shapes that were computed before the scheduler asked.",
}
"""By name without prefix."""


class OriginChange(Value):
    """A node with another origin; ``is_better``: from the node itself."""

    name: str
    before: str
    now: str
    why: str

    @property
    def is_better(self) -> bool:
        return self.now == Origin.PUBLISHED.value


class NodeOrigins:
    """Counts nodes by origin, updated by single changes."""

    def __init__(self) -> None:
        self._by_name: dict[str, str] = {}
        self._counts: collections.Counter[str] = collections.Counter(
            dict.fromkeys((Origin.PUBLISHED.value, Origin.REBUILT.value, UNDECIDED), 0)
        )

    @property
    def counts(self) -> Mapping[str, int]:
        return self._counts

    def put(self, name: str, node: ClusterNode | UndecidedNode | None) -> OriginChange | None:
        """Count the current node; return the change if its origin differs from a known one."""
        before = self._by_name.pop(name, None)
        if before is not None:
            self._counts[before] -= 1
        if node is None:
            return None
        now = node.origin.value if isinstance(node, ClusterNode) else UNDECIDED
        self._by_name[name] = now
        self._counts[now] += 1
        if before is None or before == now:
            return None
        return OriginChange(name, before, now, _why(node))


def _why(node: ClusterNode | UndecidedNode) -> str:
    if isinstance(node, UndecidedNode):
        return str(node.why)
    return "; ".join(map(str, node.notes))


class CallResult(StrEnum):
    ANSWERED = "answered"
    UNREADABLE = "unreadable"
    NOT_READY = "not-ready"
    TOO_LARGE = "too-large"
    FAILED = "failed"


class NodeVerdictLabel(StrEnum):
    """The verdict on a node; each node of a request has exactly one."""

    PASSED = "passed"
    FAILED = "failed"
    UNRESOLVABLE = "unresolvable"
    UNKNOWN = "unknown"
    NOT_EXAMINED = "not-examined"


class ExtenderMetrics:
    def __init__(self) -> None:
        # A creation time of each counter would be another metric.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry: Final = CollectorRegistry()
        # Process metrics under their usual names.
        ProcessCollector(registry=self.registry)
        self._read_off = _ReadOff()
        self.registry.register(self._read_off)
        self._requests = self._counter("requests_total", "verb", "result")
        self._seconds = Histogram(
            PREFIX + "request_seconds",
            HELP["request_seconds"],
            ("verb",),
            buckets=SECONDS_BOUNDS,
            registry=self.registry,
        )
        self._cpu_seconds = self._counter("request_cpu_seconds_total", "verb")
        self._nodes = self._counter("nodes_total", "verdict")
        for each in NodeVerdictLabel:
            self._nodes.labels(each.value)
        self._refused_by_all = self._counter("pods_refused_by_all_total")
        self._promised = self._counter("promises_made_total")
        self._late = self._counter("promises_late_total")
        self._mismatches = self._counter("model_mismatch_total", "reason")

    def show(self, read: Mapping[str, Callable[[], float]]) -> None:
        """Read these values at every scrape; by name without prefix."""
        self._read_off.by_name.update(read)

    def show_cluster_nodes(self, counts: Callable[[], Mapping[str, int]]) -> None:
        self._read_off.nodes = counts

    def request(
        self, verb: str, result: CallResult, seconds: float, cpu_seconds: float = 0.0
    ) -> None:
        self._requests.labels(verb, result.value).inc()
        self._seconds.labels(verb).observe(seconds)
        self._cpu_seconds.labels(verb).inc(cpu_seconds)

    def filtered(self, answer: Filtered, rules: FilterRules) -> None:
        for verdict, count in _counted(answer, rules).items():
            self._nodes.labels(verdict.value).inc(count)

    def refused_by_all(self) -> None:
        """No node admits a pod, for a new cause."""
        self._refused_by_all.inc()

    def promised(self) -> None:
        self._promised.inc()

    def late(self, promises: int) -> None:
        self._late.inc(promises)

    def mismatch(self, reason: str) -> None:
        """A kubelet rejected a pod that the extender predicted it would admit, for this reason."""
        self._mismatches.labels(reason).inc()

    def page(self) -> bytes:
        return generate_latest(self.registry)

    def _counter(self, name: str, *labels: str) -> Counter:
        return Counter(PREFIX + name, HELP[name], labels, registry=self.registry)


class _ReadOff(Collector):
    def __init__(self) -> None:
        self.by_name: dict[str, Callable[[], float]] = {}
        self.nodes: Callable[[], Mapping[str, int]] = dict

    def collect(self) -> Iterator[Metric]:
        for name, value in self.by_name.items():
            family = CounterMetricFamily if name.endswith("_total") else GaugeMetricFamily
            yield family(PREFIX + name, HELP[name], value=float(value()))
        nodes = GaugeMetricFamily(
            PREFIX + "cluster_nodes", HELP["cluster_nodes"], labels=("origin",)
        )
        for origin, count in sorted(self.nodes().items()):
            nodes.add_metric((origin,), count)
        yield nodes


def _counted(answer: Filtered, rules: FilterRules) -> Mapping[NodeVerdictLabel, int]:
    unknown, late = answer.unknown, answer.unexamined
    # Nodes refused for lack of data are in both lists of failed nodes.
    unknown_refused = 0 if rules.passes_unknown else unknown
    late_refused = 0 if rules.passes_unexamined else late
    undecided_passed = unknown + late - unknown_refused - late_refused
    lasting = len(answer.unresolvable)
    return {
        NodeVerdictLabel.PASSED: len(answer.passed) - undecided_passed,
        NodeVerdictLabel.FAILED: len(answer.failed) - lasting - late_refused,
        NodeVerdictLabel.UNRESOLVABLE: lasting - unknown_refused,
        NodeVerdictLabel.UNKNOWN: unknown,
        NodeVerdictLabel.NOT_EXAMINED: late,
    }
