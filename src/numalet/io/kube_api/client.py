"""Sends requests to an API server: reads, changes, and streams of events.

A request that the server wants repeated later (429, or 5xx with Retry-After) is repeated within
``patience_seconds``. After 401, the credentials are read again once.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from enum import Enum
from typing import Any, Final, TypeVar
from urllib.parse import urlencode

import aiohttp
import msgspec
import yarl

from numalet.core.model.value import Value
from numalet.io.kube_api import answers, transport
from numalet.io.kube_api.answers import ApiRefused, ApiUnreachable, status_of
from numalet.io.kube_api.credentials import ApiCredentials, Identity
from numalet.io.kube_api.pace import Clock, Fraction, LoopClock, chance
from numalet.io.kube_api.transport import Connections
from numalet.io.kube_api.values import Access

__all__ = [
    "ApiClient",
    "ApiRefused",
    "ApiUnreachable",
    "PatchKind",
    "opened",
]

Query = Mapping[str, str | int | bool | None]
Body = bytes | Mapping[str, Any] | list[Any] | msgspec.Struct
_Answer = tuple[bytes, Mapping[str, str]]
"""The content, and the headers."""
T = TypeVar("T")

_JSON: Final = "application/json"
_SUCCESS: Final = range(200, 300)
_LARGEST_REFUSAL_BYTES: Final = 1 << 16
_CONNECT_SECONDS: Final = 10.0


class PatchKind(Enum):
    MERGE = "application/merge-patch+json"
    JSON = "application/json-patch+json"
    STRATEGIC_MERGE = "application/strategic-merge-patch+json"


_APPLY: Final = "application/apply-patch+yaml"
_REPEATABLE: Final = frozenset({_APPLY, PatchKind.MERGE.value})
"""Requests with these bodies may arrive twice without further effect."""
_BROKEN: Final = (
    aiohttp.ServerDisconnectedError,
    aiohttp.ClientOSError,
    aiohttp.ClientPayloadError,
)


class RequestLimits(Value):
    """Time limits, and the number of parallel requests.

    ``request_seconds`` limits one request. ``patience_seconds`` limits the total delay that the
    server may request; 0 for callers with their own backoff, which get the first 429.
    """

    request_seconds: float = 90.0
    patience_seconds: float = 30.0
    requests_at_once: int = 32


@contextlib.asynccontextmanager
async def opened(
    access: Access,
    user_agent: str = "numalet",
    *,
    limits: RequestLimits = RequestLimits(),
    clock: Clock | None = None,
    fraction: Fraction = chance,
) -> AsyncIterator[ApiClient]:
    """Closes the connections at the end. Raises ``BadInput`` for unusable credentials."""
    clock = clock or LoopClock()
    credentials = ApiCredentials(access, clock)
    connections = Connections(access, user_agent)
    try:
        connections.current((await credentials.current()).tls)
        yield ApiClient(access, credentials, connections, limits, clock, fraction)
    finally:
        await connections.close()


class ApiClient:
    """Paths are those of the API, such as ``/api/v1/nodes``; bodies are bytes, or values for JSON.

    Methods return the object as JSON. They raise ``ApiRefused`` if the server answers with an
    error, and ``ApiUnreachable`` without a complete answer.
    """

    def __init__(
        self,
        access: Access,
        credentials: ApiCredentials,
        connections: Connections,
        limits: RequestLimits,
        clock: Clock,
        fraction: Fraction,
    ) -> None:
        self.access = access
        self._credentials = credentials
        self._connections = connections
        self._limits = limits
        self._clock = clock
        self._fraction = fraction
        self._places = asyncio.Semaphore(limits.requests_at_once)

    async def get(self, path: str, query: Query | None = None) -> bytes:
        return await self._ask("GET", path, query)

    async def get_dated(self, path: str) -> tuple[bytes, datetime | None]:
        """The object, and the server's time from the Date header, if it has one."""
        content, headers = await self._answer("GET", path, None, None, _JSON)
        return content, _date(headers.get("date", ""))

    async def create(self, path: str, body: Body, query: Query | None = None) -> bytes:
        """The created object; ``path`` is that of its collection."""
        return await self._ask("POST", path, query, body)

    async def replace(self, path: str, body: Body, query: Query | None = None) -> bytes:
        return await self._ask("PUT", path, query, body)

    async def apply(
        self,
        path: str,
        body: Body,
        manager: str,
        force: bool = False,
        query: Query | None = None,
    ) -> bytes:
        """Server-side apply. Raises ``ApiRefused`` for conflicts, too, unless ``force`` is set."""
        asked = {"fieldManager": manager, "force": force, **(query or {})}
        try:
            return await self._ask("PATCH", path, asked, body, _APPLY)
        except ApiRefused as refused:
            raise answers.of_apply(refused, path) from None

    async def patch(
        self, path: str, body: Body, kind: PatchKind = PatchKind.MERGE, query: Query | None = None
    ) -> bytes:
        return await self._ask("PATCH", path, query, body, kind.value)

    async def delete(
        self, path: str, body: Body | None = None, query: Query | None = None
    ) -> bytes:
        """The object, or a status; ``body`` is DeleteOptions."""
        return await self._ask("DELETE", path, query, body)

    @contextlib.asynccontextmanager
    async def stream(
        self, path: str, query: Query | None, silence_seconds: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """The chunks of a long answer; the context is entered once the server accepts the request.

        They end with the answer. ``ApiUnreachable`` is raised if it breaks, or after
        ``silence_seconds`` without data.
        """
        sent = _Sent("GET", path, _url(path, query))
        answer = await self._known(lambda identity: self._granted(identity, sent, silence_seconds))
        async with answer.resources:
            yield self._pieces(answer.response)

    async def _granted(self, identity: Identity, sent: _Sent, silence_seconds: float) -> _Granted:
        """Open a stream; on failure nothing stays open."""
        async with contextlib.AsyncExitStack() as stack:
            connected = await stack.enter_async_context(self._connections.using(identity.tls))
            limits = aiohttp.ClientTimeout(sock_connect=_CONNECT_SECONDS, sock_read=silence_seconds)
            with self._translated():
                # A compressor would hold events back.
                response = await self._sent(
                    connected, identity, sent, limits, ("Accept-Encoding", "identity")
                )
                stack.callback(response.close)
                if response.status not in _SUCCESS:
                    async with asyncio.timeout(_CONNECT_SECONDS):
                        raise await self._refusal(response, sent)
            # From here on the caller closes the stream; until here any error closes it.
            return _Granted(response, stack.pop_all())

    async def _pieces(self, response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
        with self._translated():
            async for piece in response.content.iter_any():
                yield piece

    async def _ask(
        self,
        method: str,
        path: str,
        query: Query | None,
        body: Body | None = None,
        content_type: str = _JSON,
    ) -> bytes:
        return (await self._answer(method, path, query, body, content_type))[0]

    async def _answer(
        self, method: str, path: str, query: Query | None, body: Body | None, content_type: str
    ) -> _Answer:
        content = body if isinstance(body, bytes) or body is None else msgspec.json.encode(body)
        sent = _Sent(method, path, _url(path, query), content, content_type)
        # The server may have carried out a request whose answer was lost. Only requests that change
        # nothing, or the same thing again, may be sent twice.
        may_break = method == "GET" or content_type in _REPEATABLE
        began = self._clock.now_seconds()
        while True:
            try:
                async with self._places:
                    return await self._known(lambda identity: self._once(identity, sent))
            except ApiUnreachable as broken:
                # An idle connection may be closed just when it is used again.
                is_made = not isinstance(broken.__cause__, aiohttp.ClientConnectorError)
                if not (may_break and is_made and isinstance(broken.__cause__, _BROKEN)):
                    raise
                may_break = False
                continue
            except ApiRefused as refused:
                wait_seconds = refused.status.retry_after_seconds
                if wait_seconds is None or not refused.status.is_temporary:
                    raise
                # At least the requested delay, and random beyond it so that clients spread out.
                wait_seconds += min(1.0, max(wait_seconds, 0.1)) * 0.5 * self._fraction()
                waited = self._clock.now_seconds() - began
                if waited + wait_seconds > self._limits.patience_seconds:
                    raise
            await self._clock.sleep(wait_seconds)

    async def _known(self, attempt: Callable[[Identity], Awaitable[T]]) -> T:
        identity = await self._credentials.current()
        try:
            return await attempt(identity)
        except ApiRefused as refused:
            if not refused.status.is_unauthorized:
                raise
            # A service account token is rotated while the old one is cached.
            renewed = await self._credentials.renewed(identity)
            if renewed == identity:
                raise
            return await attempt(renewed)

    async def _once(self, identity: Identity, sent: _Sent) -> _Answer:
        total_seconds = self._limits.request_seconds
        # Shorter than the total limit, so that the error names the connection.
        connect_seconds = min(_CONNECT_SECONDS, total_seconds / 2)
        limits = aiohttp.ClientTimeout(sock_connect=connect_seconds)
        async with self._connections.using(identity.tls) as connected:
            with self._translated():
                async with (
                    asyncio.timeout(total_seconds),
                    await self._sent(connected, identity, sent, limits) as response,
                ):
                    if response.status in _SUCCESS:
                        return await response.read(), response.headers
                    raise await self._refusal(response, sent)

    async def _sent(
        self,
        connected: aiohttp.ClientSession,
        identity: Identity,
        sent: _Sent,
        limits: aiohttp.ClientTimeout,
        *more: tuple[str, str],
    ) -> aiohttp.ClientResponse:
        headers = [*transport.impersonation_headers(self.access.impersonation), *more]
        if identity.authorization:
            headers.append(("Authorization", identity.authorization))
        if sent.content is not None:
            headers.append(("Content-Type", sent.content_type))
        # The path is encoded already.
        url = yarl.URL(self.access.server.rstrip("/") + sent.url, encoded=True)
        return await connected.request(
            sent.method, url, data=sent.content, headers=headers, timeout=limits,
            allow_redirects=False,
        )  # fmt: skip

    async def _refusal(self, response: aiohttp.ClientResponse, sent: _Sent) -> ApiRefused:
        content = bytearray()
        async for piece in response.content.iter_any():
            # The message is in the first bytes. A proxy may answer with a page of any size.
            content += piece[: _LARGEST_REFUSAL_BYTES - len(content)]
            if len(content) >= _LARGEST_REFUSAL_BYTES:
                break
        return ApiRefused(
            status_of(response.status, response.headers, bytes(content)),
            f"{sent.method} {sent.path}",
        )

    @contextlib.contextmanager
    def _translated(self) -> Any:
        try:
            yield
        except transport.ERRORS as error:
            problem = transport.problem(error)
            raise ApiUnreachable(problem, self.access.server) from error


class _Sent(Value):
    """A request before authentication."""

    method: str
    path: str
    url: str
    content: bytes | None = None
    content_type: str = _JSON


class _Granted(Value):
    """A stream, and the resources to close after it."""

    response: aiohttp.ClientResponse
    resources: contextlib.AsyncExitStack


def _date(header: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(header)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None


def _url(path: str, query: Query | None) -> str:
    parts = {
        name: str(value).lower() if isinstance(value, bool) else value
        for name, value in (query or {}).items()
        if value is not None
    }
    if not parts:
        return path
    return f"{path}{'&' if '?' in path else '?'}{urlencode(parts)}"
