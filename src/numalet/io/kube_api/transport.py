"""Connections: TLS, proxies, and detection of dead peers."""

from __future__ import annotations

import contextlib
import socket
import ssl
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

import httpx

from numalet.io.kube_api.credentials import TlsMaterial, tls_context
from numalet.io.kube_api.values import Access, Impersonation

_KEPT_CONNECTIONS: Final = 32


def _keepalive() -> list[tuple[int, int, int]]:
    """With these options the kernel detects a dead peer within 30 s."""
    options = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
    for name, value in (
        ("TCP_KEEPIDLE", 15),
        ("TCP_KEEPINTVL", 5),
        ("TCP_KEEPCNT", 3),
        # For unacknowledged data; keepalive probes only idle connections. In milliseconds.
        ("TCP_USER_TIMEOUT", 30_000),
    ):
        number = getattr(socket, name, None)
        if number is not None:
            options.append((socket.IPPROTO_TCP, number, value))
    return options


class _Transport(httpx.AsyncHTTPTransport):
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        # httpcore leaks the connection of a request that is cancelled during the TLS or proxy
        # handshake. Cancelled just before the request is sent, or after the answer was read, it
        # keeps the connection but never uses it again.
        used = request.extensions["trace"] = _UsedConnection()
        try:
            answer = await super().handle_async_request(request)
        except BaseException:
            await used.close()
            raise
        used.stream = answer.extensions["network_stream"]
        return answer


class _UsedConnection:
    """The connection of a request; httpcore calls this object at each step (trace extension)."""

    def __init__(self) -> None:
        self.stream: Any = None

    async def __call__(self, event: str, info: Mapping[str, Any]) -> None:
        if event.endswith(".connect_tcp.complete"):
            self.stream = info["return_value"]
        elif event.endswith(".response_closed.failed"):
            await self.close()

    async def close(self) -> None:
        if self.stream is not None:
            await self.stream.aclose()


class Connections:
    """HTTP clients by TLS material.

    After a certificate rotation new requests use new connections; old ones close after their last
    request, which may be a watch of five minutes.
    """

    def __init__(self, access: Access, user_agent: str, kept_seconds: float) -> None:
        self._access = access
        self._user_agent = user_agent
        self._kept_seconds = kept_seconds
        self._clients: dict[TlsMaterial, httpx.AsyncClient] = {}
        self._users: dict[TlsMaterial, int] = {}
        self._latest: TlsMaterial | None = None

    def current(self, tls: TlsMaterial) -> httpx.AsyncClient:
        """The client with this material. Raises ``BadInput`` if the material is not usable."""
        client = self._clients.get(tls)
        if client is None:
            client = self._clients[tls] = self._made(tls)
        self._latest = tls
        return client

    @contextlib.asynccontextmanager
    async def using(self, tls: TlsMaterial) -> AsyncIterator[httpx.AsyncClient]:
        client = self.current(tls)
        self._users[tls] = self._users.get(tls, 0) + 1
        try:
            yield client
        finally:
            self._users[tls] -= 1
            await self._close_unused()

    async def close(self) -> None:
        while self._clients:
            _, client = self._clients.popitem()
            await client.aclose()

    async def _close_unused(self) -> None:
        """Close unused clients with outdated material."""
        for tls in [each for each in self._clients if each != self._latest]:
            if not self._users.get(tls):
                await self._clients.pop(tls).aclose()

    def _made(self, tls: TlsMaterial) -> httpx.AsyncClient:
        access = self._access
        context = tls_context(tls, access)
        limits = httpx.Limits(
            max_connections=None,
            max_keepalive_connections=_KEPT_CONNECTIONS,
            keepalive_expiry=self._kept_seconds,
        )
        transport = _Transport(
            verify=context,
            limits=limits,
            proxy=access.proxy_url or None,
            socket_options=_keepalive(),
        )
        return httpx.AsyncClient(
            base_url=access.server,
            headers={"User-Agent": self._user_agent, "Accept": "application/json"},
            transport=transport,
            # The access has the proxy; httpx must not read the environment again.
            trust_env=False,
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
    if isinstance(error, httpx.ConnectTimeout):
        return "no connection in time"
    if isinstance(error, httpx.TimeoutException | TimeoutError):
        return "no answer in time"
    # The messages of httpx are often empty; those of the cause are not.
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"its certificate is not accepted ({cause.verify_message})"
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror
        cause = cause.__cause__ or cause.__context__
    return str(error) or type(error).__name__
