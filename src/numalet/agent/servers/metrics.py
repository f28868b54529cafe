"""The agent's metrics in the Prometheus text format.

Collected at each scrape: counters from the view, gauges from its state.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator
from typing import Final

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

import numalet
from numalet.agent.servers.door import AgentView, OwnershipMode
from numalet.agent.telemetry import admission_counts, gauges, metrics
from numalet.agent.telemetry.gauges import Gauges, NamedPod
from numalet.agent.telemetry.metrics import DEFINITIONS, Counts, Definition, Labels, MetricKind
from numalet.wording.metric_help import HELP

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

_TOTAL: Final = "_total"


class ViewCollector(Collector):
    def __init__(self, view: AgentView, counts: Counts) -> None:
        self._view = view
        self._counts = admission_counts.at_start(view.node.rules).and_also([counts])

    def collect(self) -> Iterator[Metric]:
        view = self._view
        pods: dict[str, NamedPod] = {uid: each.workload.pod for uid, each in view.records.items()}
        if view.kubelet is not None:
            pods |= view.kubelet.evidence.pods
        measured = gauges.gauges(
            view.node,
            view.level,
            pods,
            view.audits,
            view.kubelet,
            unpromised=sum(bool(each.run.causes) for each in view.records.values()),
            moved=view.cpu_gauges,
        )
        measured = {**measured, metrics.BUILD_INFO: (_build(view),)}
        is_observing = view.standing is OwnershipMode.OBSERVING
        for definition in metrics.shown(view.node.rules, is_observing=is_observing):
            match definition.kind:
                case MetricKind.COUNTER:
                    yield _counter(definition, self._counts)
                case MetricKind.GAUGE:
                    yield _gauge(definition, measured)
                case MetricKind.HISTOGRAM:
                    yield _histogram(definition, self._counts)


def _build(view: AgentView) -> tuple[Labels, float]:
    values = {
        "version": numalet.__version__,
        "python_version": platform.python_version(),
        "kubernetes_release": view.node.rules.release.name,
    }
    return tuple(values.items()), 1.0


def text(view: AgentView, counts: Counts | None = None) -> bytes:
    """Render ``/metrics``; without ``counts``, with the view's own."""
    registry = CollectorRegistry()
    # CPU, memory and descriptors of the process, under the usual names.
    ProcessCollector(registry=registry)
    registry.register(ViewCollector(view, view.counts if counts is None else counts))
    page = generate_latest(registry)
    for name in _WITHOUT_TOTAL:
        # The library appends "_total" to counters, but one kubelet counter has no such suffix.
        page = page.replace(
            f"# TYPE {name} untyped\n".encode(), f"# TYPE {name} counter\n".encode()
        )
    return page


_WITHOUT_TOTAL: Final = tuple(
    each.name
    for each in DEFINITIONS
    if each.kind is MetricKind.COUNTER and not each.name.endswith(_TOTAL)
)


def _counter(definition: Definition, counts: Counts) -> Metric:
    name = definition.name
    if name in _WITHOUT_TOTAL:
        shown = Metric(name, HELP[name], "unknown")
    else:
        shown = Metric(name.removesuffix(_TOTAL), HELP[name], "counter")
    if not definition.labels:
        shown.add_sample(name, {}, counts.of(name))
    for (counted, labels), value in sorted(counts.values.items()):
        if counted == name and definition.labels:
            shown.add_sample(name, dict(labels), value)
    return shown


def _gauge(definition: Definition, measured: Gauges) -> Metric:
    shown = Metric(definition.name, HELP[definition.name], "gauge")
    for labels, value in measured[definition.name]:
        shown.add_sample(definition.name, dict(labels), value)
    return shown


def _histogram(definition: Definition, counts: Counts) -> Metric:
    name = definition.name
    shown = Metric(name, HELP[name], "histogram")
    series = {labels for counted, labels in counts.values if counted == name + metrics.COUNT}
    for labels in sorted(series) if definition.labels else [()]:
        _add_series(shown, definition, counts, labels)
    return shown


def _add_series(shown: Metric, of: Definition, counts: Counts, labels: Labels) -> None:
    # Prometheus buckets are cumulative.
    so_far = 0.0
    for bound in [*map(metrics.bound_text, of.bounds), metrics.ABOVE_ALL]:
        so_far += counts.of(of.name + metrics.BUCKET, (*labels, ("le", bound)))
        shown.add_sample(of.name + metrics.BUCKET, {**dict(labels), "le": bound}, so_far)
    shown.add_sample(of.name + metrics.SUM, dict(labels), counts.of(of.name + metrics.SUM, labels))
    shown.add_sample(
        of.name + metrics.COUNT, dict(labels), counts.of(of.name + metrics.COUNT, labels)
    )
