"""Serves the metrics of one collector over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.registry import Collector

from numalet.shared.web import addresses, http_service
from numalet.shared.web.http_service import serving

_LOOPBACK: Final = "127.0.0.1"


@asynccontextmanager
async def served(collector: Collector, address: str) -> AsyncIterator[None]:
    """Serve ``/metrics`` at ``[HOST:]PORT``. Raises ``BadInput`` if the address is unusable."""
    listener = addresses.bound(addresses.listen_address("--metrics", address, _LOOPBACK))
    registry = CollectorRegistry()
    registry.register(collector)
    app = http_service.pages_application(lambda: generate_latest(registry), path="/{path:path}")
    async with serving(app, listener):
        yield
