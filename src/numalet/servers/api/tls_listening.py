"""Serves the API over TLS on a TCP port, for kubectl and whoever else knows the token.

Every user of the machine can connect to its loopback addresses, so what a connection costs is
bounded before it has said who it is: at most ``MOST_CONNECTIONS`` are taken, those in the middle of
their handshake included, and one more is closed at once.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import weakref
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, Final

from numalet.model.findings import BadInput, Finding, Location
from numalet.servers.api import listening
from numalet.servers.api.application import application
from numalet.servers.api.guard import Guard
from numalet.servers.door import Door
from numalet.servers.reach import Address

MOST_CONNECTIONS: Final = 256
_CIPHERS: Final = "ECDHE+AESGCM:ECDHE+CHACHA20"


class _Counted(socket.socket):
    """A listening socket that keeps count of the connections that it took."""

    _taken: weakref.WeakSet[socket.socket]

    def accept(self) -> tuple[socket.socket, Any]:
        """Take a connection, or close it where there are enough, and say that none waits."""
        connection, peer = super().accept()
        open_now = sum(each.fileno() >= 0 for each in self._taken)
        if open_now >= MOST_CONNECTIONS:
            connection.close()
            raise BlockingIOError
        self._taken.add(connection)
        return connection, peer


def bound(address: Address) -> tuple[socket.socket, Address]:
    """A listening socket, and where it is. Raises ``BadInput`` if it can not be had."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    # With its protocol named, connections do not hold back what is small: asyncio asks for it.
    listener = _Counted(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener._taken = weakref.WeakSet()
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address.host, address.port))
        listener.listen(listening.BACKLOG)
    except OSError as error:
        listener.close()
        fields = {"host": address.host, "port": address.port, "problem": error.strerror}
        raise BadInput([Finding("kube-api/listen", fields, Location("--kube-api"))]) from None
    return listener, Address(address.host, listener.getsockname()[1])


def context(certificate: Path, key: Path) -> ssl.SSLContext:
    """TLS 1.2 and later, with this certificate. Raises ``BadInput`` if it can not be used."""
    found = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    found.minimum_version = ssl.TLSVersion.TLSv1_2
    found.set_ciphers(_CIPHERS)
    try:
        found.load_cert_chain(certificate, key, password="")
    except (OSError, ValueError) as error:
        problem = getattr(error, "reason", None) or getattr(error, "strerror", None) or str(error)
        where = Location(str(certificate))
        raise BadInput([Finding("kube-api/certificate", {"problem": problem}, where)]) from None
    return found


@contextlib.asynccontextmanager
async def opened(
    door: Door,
    listener: socket.socket,
    tls: ssl.SSLContext,
    token: str,
    report_bug: Callable[[Exception], None] = lambda bug: None,
) -> AsyncIterator[None]:
    """Serve until the end of the block; the listener is closed then."""
    guarded = Guard(application(door, report_bug), token)
    async with listening.serving(guarded, listener, tls):
        yield
