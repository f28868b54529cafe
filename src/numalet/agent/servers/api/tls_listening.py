"""Serves the API over TLS on a TCP port, for kubectl and other clients that have the token.

Every user of the machine can connect to its loopback addresses, so what a connection costs is
bounded before it has said who it is: at most ``MOST_UNKNOWN`` are kept of which no request with the
token came, those in the middle of their handshake included. One more is accepted in place of the
oldest of them, so that silent connections do not keep out those with a request; those
on which not a byte has come stay with the kernel.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import weakref
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, Final

from starlette.types import ASGIApp

from numalet.agent.findings.servers import KubeApiCertificate, KubeApiListen
from numalet.agent.servers.api import listening
from numalet.agent.servers.api.application import application
from numalet.agent.servers.api.dashboard_beside import BesideApi
from numalet.agent.servers.api.guard import Guard, Peer
from numalet.agent.servers.dashboard import DashboardLinks
from numalet.agent.servers.door import Door
from numalet.agent.servers.endpoints import Address
from numalet.core.model.findings import BadInput, Location
from numalet.dashboard.served import ServedDashboard

MOST_UNKNOWN: Final = 1024
"""Each takes up to 300 kB; of a thousand that come at one moment most wait for their handshake."""

_SILENT_SECONDS: Final = 30
"""So long the kernel keeps a connection to itself on which nothing has come."""
_CIPHERS: Final = "ECDHE+AESGCM:ECDHE+CHACHA20"


class Guarded(listening.ListeningSocket):
    """A listening socket that knows which of its connections are of clients that were let in."""

    _unknown: OrderedDict[Peer, weakref.ref[socket.socket]]

    def accept(self) -> tuple[socket.socket, Any]:
        """Take a connection; where there are enough unknown ones, the oldest of these goes."""
        connection, peer = super().accept()
        # One that comes from the port of one that is gone takes its place at the end.
        self._unknown.pop(peer[:2], None)
        self._unknown[peer[:2]] = weakref.ref(connection)
        while len(self._unknown) > MOST_UNKNOWN:
            _, oldest = self._unknown.popitem(last=False)
            gone = oldest()
            if gone is not None:
                # Its transport, whatever it is about to do, learns that nothing more comes.
                with contextlib.suppress(OSError):
                    gone.shutdown(socket.SHUT_RDWR)
        return connection, peer

    def known(self, peer: Peer) -> None:
        """The client at this address was let in: its connection may stay."""
        self._unknown.pop(peer, None)


def bound(address: Address) -> tuple[Guarded, Address]:
    """A listening socket, and where it is. Raises ``BadInput`` if it can not be had."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    # With its protocol named, connections do not hold back what is small: asyncio asks for it.
    listener = Guarded(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener._unknown = OrderedDict()
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, _SILENT_SECONDS)
        listener.bind((address.host, address.port))
        listener.listen()
    except OSError as error:
        listener.close()
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
    """TLS 1.2 and later, with this certificate. Raises ``BadInput`` if it can not be used."""
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
    listener: Guarded,
    tls: ssl.SSLContext,
    token: str,
    report_bug: Callable[[Exception], None] = lambda bug: None,
    dashboard: ServedDashboard | None = None,
    links: DashboardLinks | None = None,
) -> AsyncIterator[None]:
    """Serve until the end of the block; the listener is closed then."""
    app: ASGIApp = Guard(application(door, report_bug, links), token, listener.known)
    if dashboard is not None:
        app = BesideApi(dashboard.app, app)
    async with listening.serving(app, listener, tls):
        yield
