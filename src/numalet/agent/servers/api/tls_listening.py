"""Serves the API over TLS on a TCP port, for kubectl and other clients that have the token.

Every user of the machine can connect to its loopback addresses, so what a connection costs is
bounded before it has said who it is (``shared.web``).
"""

from __future__ import annotations

import contextlib
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Final

from starlette.types import ASGIApp

from numalet.agent.findings.servers import KubeApiCertificate, KubeApiListen
from numalet.agent.servers.api.application import application
from numalet.agent.servers.api.dashboard_beside import BesideApi
from numalet.agent.servers.api.guard import Guard
from numalet.agent.servers.dashboard import DashboardLinks
from numalet.agent.servers.door import Door
from numalet.agent.servers.endpoints import Address
from numalet.core.model.findings import BadInput, Location
from numalet.dashboard.served import ServedDashboard
from numalet.shared.web import accepting
from numalet.shared.web.serving import serving

_CIPHERS: Final = "ECDHE+AESGCM:ECDHE+CHACHA20"


def bound(address: Address) -> tuple[socket.socket, Address]:
    """A listening socket and its address. Raises ``BadInput``."""
    try:
        listener = accepting.tcp_listener(address.host, address.port)
    except OSError as error:
        raise BadInput(
            [
                KubeApiListen(
                    host=address.host,
                    port=address.port,
                    problem=error.strerror,
                    where=Location("--kube-api"),
                )
            ]
        ) from None
    return listener, Address(address.host, listener.getsockname()[1])


def context(certificate: Path, key: Path) -> ssl.SSLContext:
    """TLS 1.2 and later with this certificate. Raises ``BadInput``."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(_CIPHERS)
    try:
        context.load_cert_chain(certificate, key, password="")
    except (OSError, ValueError) as error:
        problem = getattr(error, "reason", None) or getattr(error, "strerror", None) or str(error)
        where = Location(str(certificate))
        raise BadInput([KubeApiCertificate(problem=problem, where=where)]) from None
    return context


@contextlib.asynccontextmanager
async def opened(
    door: Door,
    listener: socket.socket,
    tls: ssl.SSLContext,
    token: str,
    report_bug: Callable[[Exception], None] = lambda bug: None,
    dashboard: ServedDashboard | None = None,
    links: DashboardLinks | None = None,
) -> AsyncIterator[None]:
    """Serve until the end of the block; the listener is closed then."""
    app: ASGIApp = Guard(application(door, report_bug, links), token)
    if dashboard is not None:
        app = BesideApi(dashboard.app, app)
    async with serving(app, listener, tls):
        yield
