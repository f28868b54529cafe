"""Metrics and probes of a breaker."""

from __future__ import annotations

from collections import Counter as Counted
from collections.abc import Callable, Mapping
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest
from starlette.applications import Starlette

from numalet.cluster.breaker.audit import ActionOutcome
from numalet.shared.web import pages

_PREFIX: Final = "numalet_breaker_"
HELP: Final[Mapping[str, str]] = {
    "up": "Whether the view of the cluster is complete and current.",
    "leader": "Whether this process acts: it holds the lease, or runs without one.",
    "dry_run": "Whether this is a dry run: actions are reported, not performed.",
    "rejections_total": "Pods that kubelets rejected since this process began, by reason.",
    "rejected_pods": "Rejected pods that are there now, by reason.",
    "actions_total": "Actions by verb and result.",
    "tainted_nodes": "Nodes that have the breaker's taint now.",
    "suspended_jobs": "Jobs that are suspended by the breaker now.",
}
"""By name without prefix."""


class BreakerMeter:
    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.up = self._gauge("up")
        self.leader = self._gauge("leader")
        self.dry_run = self._gauge("dry_run")
        self.tainted_nodes = self._gauge("tainted_nodes")
        self.suspended_jobs = self._gauge("suspended_jobs")
        self._rejected_pods = Gauge(
            f"{_PREFIX}rejected_pods",
            HELP["rejected_pods"],
            ["reason"],
            registry=self.registry,
        )
        self._rejections = self._counter("rejections_total", "reason")
        self._actions = self._counter("actions_total", "action", "outcome")

    def rejection(self, reason: str) -> None:
        self._rejections.labels(reason=reason).inc()

    def action(self, verb: str, outcome: ActionOutcome) -> None:
        self._actions.labels(action=verb, outcome=outcome.value).inc()

    def rejected(self, reasons: Counted[str]) -> None:
        self._rejected_pods.clear()
        for reason, count in reasons.items():
            self._rejected_pods.labels(reason=reason).set(count)

    def _gauge(self, name: str) -> Gauge:
        return Gauge(f"{_PREFIX}{name}", HELP[name], registry=self.registry)

    def _counter(self, name: str, *labels: str) -> Counter:
        return Counter(f"{_PREFIX}{name}", HELP[name], labels, registry=self.registry)


def application(
    meter: BreakerMeter, refresh: Callable[[], None], not_ready: Callable[[], str]
) -> Starlette:
    """Serve ``/metrics``, ``/healthz``, ``/readyz``.

    ``refresh`` is called before each scrape; ``not_ready`` returns why it is not ready, or "".
    """

    def page() -> bytes:
        refresh()
        return generate_latest(meter.registry)

    def readiness() -> tuple[bool, str]:
        why_not = not_ready()
        return not why_not, f"{why_not or 'ok'}\n"

    return pages.application(page, readiness)
