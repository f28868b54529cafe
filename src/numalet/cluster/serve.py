"""``numalet fleet serve``: the measures of a fleet for Prometheus, worked out again and again.

The page is answered by a thread of prometheus-client from the last measures; this procedure lists
the cluster, works out new ones and puts them in their place. A cluster that can not be listed for a
while leaves the page as it is, with ``numalet_fleet_up`` 0.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from prometheus_client import start_http_server

from numalet.cluster import fleet_metrics
from numalet.cluster.fleet_metrics import FleetCollector
from numalet.core.cluster.cluster import ClusterPod
from numalet.core.model.findings import BadInput, Finding
from numalet.insight.fleet.traps import TrapFinder
from numalet.insight.usecases.clusters import OpenedCluster


class FleetAddressUnusable(Finding):
    code = "fleet/address-unusable"
    sentence = "nothing can listen at {address!r}: {problem}"
    address: str
    problem: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetServer:
    """What is listed and shown, and how often.

    ``complain`` is called with the findings of a listing that failed, once for each new text.
    """

    host: str
    port: int
    every_seconds: float
    shapes: Sequence[tuple[str, ClusterPod]]
    listed: Callable[[], OpenedCluster]
    complain: Callable[[Sequence[Finding]], None]
    ready: Callable[[int], None]

    def run(self) -> None:
        """Serve until interrupted; ``ready`` is called with the port once something is shown.

        Raises:
            BadInput: nothing can listen at the address.
        """
        collector = FleetCollector()
        try:
            server, _ = start_http_server(self.port, self.host, fleet_metrics.registry(collector))
        except (OSError, OverflowError) as error:
            problem = getattr(error, "strerror", None) or str(error)
            address = f"{self.host}:{self.port}"
            raise BadInput([FleetAddressUnusable(address=address, problem=problem)]) from None
        finder, said, is_ready = TrapFinder(), "", False
        try:
            while True:
                said = self._once(collector, finder, said)
                if not is_ready:
                    is_ready = True
                    self.ready(server.server_port)
                time.sleep(self.every_seconds)
        finally:
            server.shutdown()
            server.server_close()

    def _once(self, collector: FleetCollector, finder: TrapFinder, said: str) -> str:
        """What was complained of, empty if the cluster could be listed."""
        try:
            fleet = self.listed()
        except BadInput as bad:
            collector.is_up = False
            text = "; ".join(map(str, bad.findings))
            if text != said:
                self.complain(bad.findings)
            return text
        collector.measures = fleet_metrics.measured(
            fleet.cluster, self.shapes, fleet.published_seconds, time.time(), finder
        )
        collector.is_up = True
        return ""
