"""Metrics of the plugin, and the gauges of an agent about its node."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from numalet.agent.nri import plan
from numalet.agent.nri.choices import PinningCounts
from numalet.agent.nri.plugin import PinningPlugin
from numalet.agent.servers.door import AgentView
from numalet.agent.servers.metrics import ViewCollector
from numalet.agent.telemetry.metrics import Counts


class PinningMetrics(Collector):
    def __init__(self, plugin: PinningPlugin, view: Callable[[], AgentView]) -> None:
        self.plugin = plugin
        self._view = view

    def collect(self) -> Iterator[Metric]:
        plugin, counts = self.plugin, self.plugin.counts
        yield from _by_label(counts)
        yield CounterMetricFamily(
            "numalet_nri_repairs",
            "Containers that were given their settings later.",
            value=counts.repaired,
        )
        yield CounterMetricFamily(
            "numalet_nri_misplaced_containers",
            "Containers that were found with memory on other NUMA nodes than planned.",
            value=counts.misplaced,
        )
        yield CounterMetricFamily("numalet_nri_calls", "Calls of the runtime.", value=counts.calls)
        yield CounterMetricFamily(
            "numalet_nri_call_seconds", "Time of all answers.", value=counts.call_seconds
        )
        yield CounterMetricFamily(
            "numalet_nri_unknown_devices",
            "Decisions on pods whose devices the kubelet had not named in time.",
            value=counts.unknown_devices,
        )
        for name, text, value in (
            ("connected", "Whether the runtime calls the plugin.", plugin.is_synchronized),
            ("enforcing", "Whether the plugin changes containers.", plugin.enforces),
            (
                "longest_call_seconds",
                "The longest answer; the runtime skips the plugin after its time limit.",
                counts.longest_call_seconds,
            ),
            (
                "misplaced_bytes",
                "Memory of containers that stays on other NUMA nodes than planned.",
                plugin.misplaced_bytes,
            ),
            (
                "differing_containers",
                "Containers with other settings than in the plan.",
                len(plan.updates(plugin.plan)),
            ),
            (
                "overridden_containers",
                "Containers that are left to another program, which set their CPUs or NUMA nodes.",
                len(plan.left(plugin.plan)),
            ),
        ):
            yield GaugeMetricFamily(f"numalet_nri_{name}", text, value=float(value))
        # The counters of an agent are about its own admissions.
        of_node = ViewCollector(self._view(), Counts()).collect()
        yield from (each for each in of_node if each.type == "gauge")


def _by_label(counts: PinningCounts) -> Iterator[Metric]:
    for name, text, label, found in (
        (
            "containers",
            "Containers that the runtime asked about, by outcome.",
            "outcome",
            counts.containers,
        ),
        (
            "unpinned_starts",
            "Containers that started without the settings of the plan, by cause.",
            "cause",
            counts.unpinned_starts,
        ),
        (
            "failures",
            "Calls of the runtime, and rounds of the audit, that failed in the plugin.",
            "in",
            counts.failures,
        ),
    ):
        family = CounterMetricFamily(f"numalet_nri_{name}", text, labels=(label,))
        for of, count in found.items():
            family.add_metric((of,), count)
        yield family
