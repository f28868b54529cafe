"""Prometheus metrics of ``numalet publish``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from numalet.agent.publish.publisher import NodePublisher
from numalet.core.model import input_error
from numalet.shared.web import accepting, pages
from numalet.shared.web.serving import serving

_LOOPBACK: Final = "127.0.0.1"


@dataclass(frozen=True, eq=False)
class PublishMetrics(Collector):
    writers: NodePublisher

    def collect(self) -> Iterator[Metric]:
        writes = CounterMetricFamily(
            "numalet_publish_writes",
            "Writes of objects of this node to the API server, by result.",
            labels=("kind", "result"),
        )
        current = GaugeMetricFamily(
            "numalet_publish_current",
            "Whether the stored object matches the node.",
            labels=("kind",),
        )
        for kind, each in self.writers.writers:
            counts = each.counts
            writes.add_metric((kind, "written"), counts.written)
            writes.add_metric((kind, "put-off"), counts.put_off)
            writes.add_metric((kind, "failed"), counts.failed - counts.put_off)
            current.add_metric((kind,), each.is_current)
        yield writes
        yield current

    @asynccontextmanager
    async def served(self, address: str) -> AsyncIterator[None]:
        """Serve ``/metrics`` at ``[HOST:]PORT``.

        Raises ``BadInput`` if the address cannot be used.
        """
        host, _, port = address.rpartition(":")
        registry = CollectorRegistry()
        registry.register(self)
        try:
            listener = accepting.tcp_listener(host.strip("[]") or _LOOPBACK, int(port))
        except (OSError, ValueError, OverflowError) as error:
            raise input_error.Unavailable(
                f"cannot serve metrics at {address}: {error}",
                expected="a free port, such as 9090 or 0.0.0.0:9090",
            ).bad_input() from None
        app = pages.application(lambda: generate_latest(registry), path="/{path:path}")
        async with serving(app, listener):
            yield
