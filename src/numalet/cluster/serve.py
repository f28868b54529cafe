"""``numalet fleet serve``: metrics of a fleet for Prometheus, updated after each change.

Pages show the last measures. If following or reading fails they stay unchanged, with
``numalet_fleet_up`` 0 and the age of the view. ``/healthz`` succeeds while this process works,
since a restart does not help if the API server is away; ``/readyz`` succeeds once there are
measures. Every other path is the page of metrics.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

from prometheus_client import generate_latest

from numalet.cluster import fleet_metrics, following
from numalet.cluster.fleet_metrics import FleetCollector, FleetMeter
from numalet.cluster.following import FollowedClasses, FollowedView
from numalet.cluster.programs import until_signal
from numalet.core.cluster.cluster import Cluster, ClusterPod
from numalet.core.model import input_error
from numalet.core.model.findings import BadInput, Finding
from numalet.core.model.value import Mutable, Value, field
from numalet.insight.usecases.clusters import OpenedCluster
from numalet.io.kube_api.values import Access
from numalet.shared.web import accepting, http_service
from numalet.shared.web.http_service import LoopLog, serving


class FleetServer(Value, kw_only=True):
    """The source and the address of a fleet server.

    ``complain`` is called with findings when the measures are not current, once for each new text;
    ``ready`` with the port, once it is known whether there is a cluster; ``log`` with lines of the
    server itself.
    """

    host: str
    port: int
    shapes: Sequence[tuple[str, ClusterPod]]
    complain: Callable[[Sequence[Finding]], None]
    ready: Callable[[int], None]
    log: Callable[[str, Mapping[str, Any]], None] = field(default=lambda message, keys: None)

    def follow(self, access: Access, classes: FollowedClasses) -> None:
        """Serve the measures of a followed cluster, until SIGINT or SIGTERM.

        Raises ``BadInput`` if the address or the credentials cannot be used.
        """
        asyncio.run(
            until_signal(
                self._serve(lambda shown: following.follow(access, classes, shown.receive))
            )
        )

    def read_again(self, every_seconds: float, read: Callable[[], OpenedCluster]) -> None:
        """Serve the measures of a source that is read regularly, until SIGINT or SIGTERM.

        Raises ``BadInput`` if the address cannot be used.
        """

        async def reading(shown: _Shown) -> None:
            while True:
                await asyncio.to_thread(shown.read, read)
                await asyncio.sleep(every_seconds)

        asyncio.run(until_signal(self._serve(reading)))

    async def _serve(self, work: Callable[[_Shown], Coroutine[Any, Any, None]]) -> None:
        asyncio.get_running_loop().set_exception_handler(LoopLog(self.log).handle)
        collector = FleetCollector()
        registry = fleet_metrics.registry(collector)
        try:
            listener = accepting.tcp_listener(self.host, self.port)
        except (OSError, OverflowError) as error:
            problem = getattr(error, "strerror", None) or str(error)
            address = f"{self.host}:{self.port}"
            raise input_error.Unavailable(
                f"cannot listen on {address!r}: {problem}"
            ).bad_input() from None

        def readiness() -> tuple[bool, str]:
            if collector.measures is None:
                return False, "nothing is measured yet\n"
            return True, "ok\n" if collector.is_up else f"ok, {collector.age_seconds:.0f} s old\n"

        app = http_service.pages_application(
            lambda: generate_latest(registry), readiness, path="/{path:path}", in_thread=True
        )
        port = listener.getsockname()[1]
        async with serving(app, listener):
            await work(_Shown(self, port, collector, FleetMeter(self.shapes)))


class _Shown(Mutable):
    server: FleetServer
    port: int
    collector: FleetCollector
    meter: FleetMeter
    cluster: Cluster | None = None
    said: str = ""
    is_ready: bool = False

    async def receive(self, view: FollowedView) -> None:
        """Show a view of a followed cluster; it is measured while the next ones arrive."""
        self._complain(view.problems)
        if view.opened is None:
            if view.problems:
                self._ready()
            return
        if view.age_seconds:
            self.collector.current_until = time.monotonic() - view.age_seconds
        if view.opened.cluster is not self.cluster:
            await asyncio.to_thread(self._measure, view.opened)
        if not view.age_seconds:
            self.collector.current_until = None
        self._ready()

    def read(self, read: Callable[[], OpenedCluster]) -> None:
        """Read the source and show it, or why it cannot be read."""
        try:
            opened = read()
        except BadInput as bad:
            if self.collector.is_up:
                self.collector.current_until = time.monotonic()
            self._complain(bad.findings)
        else:
            self._complain(())
            self._measure(opened)
            self.collector.current_until = None
        self._ready()

    def _measure(self, opened: OpenedCluster) -> None:
        self.collector.measures = self.meter.measured(opened.cluster, opened.published_seconds)
        self.cluster = opened.cluster

    def _complain(self, findings: Sequence[Finding]) -> None:
        text = "; ".join(map(str, findings))
        if text and text != self.said:
            self.server.complain(findings)
        self.said = text

    def _ready(self) -> None:
        if not self.is_ready:
            self.is_ready = True
            self.server.ready(self.port)
