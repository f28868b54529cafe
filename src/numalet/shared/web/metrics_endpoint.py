"""Serves the metrics of one collector over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.registry import Collector

from numalet.core.model import input_error
from numalet.shared.web import accepting, http_service
from numalet.shared.web.http_service import serving

_LOOPBACK: Final = "127.0.0.1"


@asynccontextmanager
async def served(collector: Collector, address: str) -> AsyncIterator[None]:
    """Serve ``/metrics`` at ``[HOST:]PORT``. Raises ``BadInput`` if the address is unusable."""
    host, _, port = address.rpartition(":")
    registry = CollectorRegistry()
    registry.register(collector)
    try:
        listener = accepting.tcp_listener(host.strip("[]") or _LOOPBACK, int(port))
    except (OSError, ValueError, OverflowError) as error:
        raise input_error.Unavailable(
            f"cannot serve metrics at {address}: {error}",
            expected="a free port, such as 9090 or 0.0.0.0:9090",
        ).bad_input() from None
    app = http_service.pages_application(lambda: generate_latest(registry), path="/{path:path}")
    async with serving(app, listener):
        yield
