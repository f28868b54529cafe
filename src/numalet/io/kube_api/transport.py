"""Connections: TLS, proxies, and detection of dead peers."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import ssl
import weakref
from collections.abc import AsyncIterator
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import aiohttp
import aiohttp_socks

from numalet.io.kube_api.credentials import TlsMaterial, tls_context
from numalet.io.kube_api.values import Access, Impersonation

ERRORS: Final = (
    aiohttp.ClientError,
    aiohttp_socks.ProxyError,
    aiohttp_socks.ProxyConnectionError,
    aiohttp_socks.ProxyTimeoutError,
    OSError,
)
"""What a request without a complete answer raises. ``TimeoutError`` is an ``OSError``."""
_LONGEST_LINE: Final = 1 << 16
_KEPT_SECONDS: Final = 30.0
"""How long an idle connection stays open."""
_PROXY_PORTS: Final = {"http": 80, "https": 443, "socks5": 1080, "socks5h": 1080}


class _Known:
    """Part of a connector that knows its transports: aiohttp forgets those that it closes.

    A transport with TLS that is closed waits for the server's last word. The end of a client aborts
    those that still wait.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.transports: weakref.WeakSet[asyncio.Transport] = weakref.WeakSet()

    async def _wrap_create_connection(self, *args: Any, **kwargs: Any) -> Any:
        made = await super()._wrap_create_connection(*args, **kwargs)  # type: ignore[misc]
        _detect_dead_peer(made[0].get_extra_info("socket"))
        self.transports.add(made[0])
        return made


class _Direct(_Known, aiohttp.TCPConnector):
    """Connects to the server."""


class _ThroughProxy(_Known, aiohttp_socks.ProxyConnector):
    """Connects to a proxy, and through it to the server."""


def _detect_dead_peer(connected: socket.socket) -> None:
    """With these options the kernel detects a dead peer within 30 s."""
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (
        ("TCP_KEEPIDLE", 15),
        ("TCP_KEEPINTVL", 5),
        ("TCP_KEEPCNT", 3),
        # For unacknowledged data; keepalive probes only idle connections. In milliseconds.
        ("TCP_USER_TIMEOUT", 30_000),
    ):
        if (number := getattr(socket, name, None)) is not None:
            connected.setsockopt(socket.IPPROTO_TCP, number, value)


class Connections:
    """HTTP clients by TLS material.

    After a certificate rotation new requests use new connections; old ones close after their last
    request, which may be a watch of five minutes.
    """

    def __init__(self, access: Access, user_agent: str) -> None:
        self._access = access
        self._user_agent = user_agent
        self._clients: dict[TlsMaterial, aiohttp.ClientSession] = {}
        self._users: dict[TlsMaterial, int] = {}
        self._latest: TlsMaterial | None = None

    def current(self, tls: TlsMaterial) -> aiohttp.ClientSession:
        """The client with this material. Raises ``BadInput`` if the material is not usable."""
        client = self._clients.get(tls)
        if client is None:
            client = self._clients[tls] = self._made(tls)
        self._latest = tls
        return client

    @contextlib.asynccontextmanager
    async def using(self, tls: TlsMaterial) -> AsyncIterator[aiohttp.ClientSession]:
        client = self.current(tls)
        self._users[tls] = self._users.get(tls, 0) + 1
        try:
            yield client
        finally:
            self._users[tls] -= 1
            await self._close_unused()

    async def close(self) -> None:
        while self._clients:
            await self._closed(self._clients.popitem()[1])

    async def _close_unused(self) -> None:
        """Close unused clients with outdated material."""
        for tls in [each for each in self._clients if each != self._latest]:
            if not self._users.get(tls):
                await self._closed(self._clients.pop(tls))

    async def _closed(self, client: aiohttp.ClientSession) -> None:
        connector = client.connector
        assert isinstance(connector, _Known)
        for each in tuple(connector.transports):
            each.abort()
        await client.close()
        # The sockets of aborted transports are closed in the next turn of the event loop.
        await asyncio.sleep(0)

    def _made(self, tls: TlsMaterial) -> aiohttp.ClientSession:
        session = aiohttp.ClientSession(
            connector=_connector(self._access, tls_context(tls, self._access)),
            headers={"User-Agent": self._user_agent, "Accept": "application/json"},
            cookie_jar=aiohttp.DummyCookieJar(),
            # The access has the proxy; aiohttp must not read the environment.
            trust_env=False,
            timeout=aiohttp.ClientTimeout(total=None),
            max_line_size=_LONGEST_LINE,
            max_field_size=_LONGEST_LINE,
        )
        # Otherwise aiohttp sends a DELETE or PUT again whose answer was lost.
        session._retry_connection = False
        return session


def _connector(access: Access, context: ssl.SSLContext) -> aiohttp.TCPConnector:
    if not access.proxy_url:
        return _Direct(ssl=context, limit=0, keepalive_timeout=_KEPT_SECONDS)
    proxy = urlsplit(access.proxy_url)
    kind = aiohttp_socks.ProxyType.SOCKS5
    if proxy.scheme in ("http", "https"):
        kind = aiohttp_socks.ProxyType.HTTP
    return _ThroughProxy(
        proxy.hostname or "",
        proxy.port or _PROXY_PORTS[proxy.scheme],
        kind,
        unquote(proxy.username) if proxy.username else None,
        unquote(proxy.password) if proxy.password else None,
        # The proxy resolves names, as with kubectl, also for socks5.
        rdns=True,
        proxy_ssl=ssl.create_default_context() if proxy.scheme == "https" else None,
        ssl=context,
        limit=0,
        keepalive_timeout=_KEPT_SECONDS,
    )


def impersonation_headers(impersonation: Impersonation) -> list[tuple[str, str]]:
    headers = []
    if impersonation.user:
        headers.append(("Impersonate-User", impersonation.user))
    if impersonation.uid:
        headers.append(("Impersonate-Uid", impersonation.uid))
    headers += [("Impersonate-Group", each) for each in impersonation.groups]
    headers += [
        (f"Impersonate-Extra-{name}", each)
        for name, values in impersonation.extra
        for each in values
    ]
    return headers


def problem(error: BaseException) -> str:
    """The cause of a failure in words."""
    if isinstance(error, aiohttp.ConnectionTimeoutError | aiohttp_socks.ProxyTimeoutError):
        return "no connection in time"
    if isinstance(error, TimeoutError):
        return "no answer in time"
    cause: BaseException | None = error
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        cause = error.certificate_error
    # The cause says more than the message of the client.
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"its certificate is not accepted ({cause.verify_message})"
        if isinstance(cause, OSError) and cause.strerror:
            # asyncio names the address again in place of the cause. Only the kernel's numbers are
            # above 0 and not those of OpenSSL.
            is_kernel = (cause.errno or 0) > 0 and not isinstance(cause, ssl.SSLError)
            return os.strerror(cause.errno or 0) if is_kernel else cause.strerror
        cause = cause.__cause__ or cause.__context__
    return str(error) or type(error).__name__
