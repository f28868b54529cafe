"""An API server on loopback whose connections end in every way that real ones do, when asked to.

It speaks HTTP/1.1 on real sockets, in the event loop of the test, and does what a client needs
an API server to do: create, replace, merge patches, apply, delete, lists in pages, watches with
bookmarks, selectors, preconditions. What it does not do: schemas, who owns which field.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import json
import ssl
from collections import deque
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from numalet.core.model.findings import Location
from numalet.io.kube_api.values import Access
from numalet.io.tasks import beside
from running import tcp_server
from running.fake_api_selectors import Selectors
from running.fake_api_store import Plain, StatusAnswer, Store, StoredEvent, Target, gone, line
from running.tcp_server import TcpServer

_PATIENCE_SECONDS: Final = 200.0
_WATCH_HEAD: Final = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
    b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
)


class Ending(Enum):
    """What may become of the watches that are open."""

    CLEAN_CLOSE = "the answer ends as it should"
    GONE_EVENT = "an ERROR event with the code 410, then the answer ends"
    ERROR_EVENT = "an ERROR event with the code 500, then the answer ends"
    RESET = "the connection is reset"
    RESET_IN_LINE = "half of an event, then the connection is reset"
    END_IN_LINE = "half of an event, then the answer ends as it should"
    NO_JSON = "a line that is no JSON, then the answer ends"
    HALF_OPEN = "the connection stays open, and nothing comes any more"
    BOOKMARK = "a bookmark, and the watch goes on"
    FORGOTTEN = "the connection is reset, and what happened is forgotten, so that 410 is next"
    RESTART = "every connection is reset, nobody listens for a moment, history is forgotten"


@dataclass(eq=False)
class _Watch:
    """A watch that is open: what is still to be sent; None ends it."""

    target: Target
    connection: _Connection
    selectors: Selectors = field(default_factory=Selectors)
    lines: asyncio.Queue[bytes | None] = field(default_factory=asyncio.Queue)
    is_mute: bool = False
    goes: asyncio.Event = field(default_factory=asyncio.Event)
    """Whether what happens is sent at once."""

    def send(self, event: StoredEvent) -> None:
        """Send what this watch sees of an event, if anything."""
        seen = event.for_watch(self.selectors)
        if seen is not None:
            self.lines.put_nowait(line(*seen))


@dataclass(frozen=True)
class Received:
    """A request as it came."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes

    @property
    def is_watch(self) -> bool:
        return self.query.get("watch") in ("true", "1")


@dataclass(frozen=True)
class Scripted:
    """An answer to the next request; a watch or not, None for any."""

    code: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    for_watch: bool | None = None
    is_reset: bool = False


class _Connection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def reset(self) -> None:
        tcp_server.reset(self.writer)


class FakeApiServer:
    """A server; ``scripted`` has what is answered to the next requests instead of the truth."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.store = Store()
        self.requests: list[Received] = []
        self.scripted: deque[Scripted] = deque()
        self.accepts_tokens: set[str] | None = None
        self.refused: dict[str, int] = {}
        """Paths that are answered by these codes."""
        self.documents: dict[str, Any] = {}
        """What is answered to a GET of these paths, which are no objects."""
        self.withheld: set[str] = set()
        """Paths that are answered by nothing, for as long as the client waits."""
        self.page_hook: list[Any] = []
        """What is called once before the second page of a list."""
        self.most_connections = 0
        """So many there were at once."""
        self._tls = tls
        self._port = 0
        self._server = TcpServer(self._serve)
        self._connections: set[_Connection] = set()
        self._watches: list[_Watch] = []
        self._changed = asyncio.Condition()

    @property
    def connections(self) -> int:
        """How many there are now."""
        return len(self._connections)

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self._port}"

    def access(self, port: int | None = None, **given: Any) -> Access:
        """How a client comes here; by another port, where a proxy listens."""
        server = self.url if port is None else f"http://127.0.0.1:{port}"
        return Access(server=server, origin=Location("fake"), **given)

    def write_kubeconfig(self, path: Path) -> Path:
        """The same as a file."""
        document = {
            "apiVersion": "v1", "kind": "Config", "current-context": "fake",
            "contexts": [{"name": "fake", "context": {"cluster": "fake"}}],
            "clusters": [{"name": "fake", "cluster": {"server": self.url}}],
        }  # fmt: skip
        path.write_text(json.dumps(document))
        return path

    async def start(self) -> None:
        """Listen; at the same port as before, if there was one."""
        self._port = await self._server.start(self._port, self._tls)

    async def stop(self) -> None:
        """Reset every connection and listen no more."""
        await self._server.stop()

    async def watched(self, path: str, count: int = 1) -> None:
        """Wait until so many watches of this collection are open."""
        target = Target.of(path)
        await self._wait(
            lambda: len([each for each in self._watches if each.target == target]) >= count
        )

    async def unwatched(self) -> None:
        """Wait until no watch is open."""
        await self._wait(lambda: not self._watches)

    async def unused(self) -> None:
        """Wait until no client is connected."""
        await self._server.unused()

    async def asked(self, count: int) -> None:
        """Wait until so many requests have come."""
        await self._wait(lambda: len(self.requests) >= count)

    # What tests do to it.

    def put(self, path: str, value: Mapping[str, Any]) -> Plain:
        """Store an object, as another client does; ``path`` is its own."""
        return self._after(self.store.put(Target.of(path), value, is_new=False))

    def remove(self, path: str) -> Plain:
        """Remove an object, as another client does."""
        return self._after(self.store.remove(Target.of(path)))

    def send(self, path: str, pieces: Iterable[bytes]) -> None:
        """Send these bytes, whatever they are, to who watches this collection."""
        for watch in self._watches:
            if watch.target == Target.of(path):
                for piece in pieces:
                    watch.lines.put_nowait(piece)

    def hold(self, path: str) -> None:
        """Keep back what happens in this collection from those that watch it now."""
        for watch in self._watches:
            if watch.target == Target.of(path):
                watch.goes.clear()

    def let_go(self) -> None:
        """Send all that was kept back."""
        for watch in self._watches:
            watch.goes.set()

    async def strike(self, ending: Ending) -> None:
        """Let this become of every watch that is open."""
        if ending is Ending.RESTART:
            await self.stop()
            self.store.forget()
            await self.start()
            return
        if ending is Ending.FORGOTTEN:
            # Another kind's change, so that what was seen last is older than what is remembered.
            self.store.version += 1
            self.store.forget()
        for watch in list(self._watches):
            self._strike(watch, ending)

    def restore(self, backup: Store) -> None:
        """Go back to what was stored once; versions go back with it."""
        self.store = copy.deepcopy(backup)
        self.store.forget()

    def _strike(self, watch: _Watch, ending: Ending) -> None:
        half = line("MODIFIED", {"metadata": {"name": "half", "resourceVersion": "9"}})[:-20]
        match ending:
            case Ending.BOOKMARK:
                bookmark = {"metadata": {"resourceVersion": str(self.store.version)}}
                watch.lines.put_nowait(line("BOOKMARK", bookmark))
                return
            case Ending.HALF_OPEN:
                watch.is_mute = True
            case Ending.GONE_EVENT:
                watch.lines.put_nowait(line("ERROR", gone().status))
            case Ending.ERROR_EVENT:
                status = StatusAnswer(500, "InternalError", "etcd has no leader").status
                watch.lines.put_nowait(line("ERROR", status))
            case Ending.NO_JSON:
                watch.lines.put_nowait(b"<html>502 Bad Gateway</html>\n")
            case Ending.RESET_IN_LINE | Ending.END_IN_LINE:
                watch.lines.put_nowait(half)
            case _:
                pass
        self._watches.remove(watch)
        if ending in (Ending.RESET, Ending.FORGOTTEN):
            watch.connection.reset()
        elif ending is Ending.RESET_IN_LINE:
            asyncio.get_running_loop().call_soon(watch.connection.reset)
        elif ending is not Ending.HALF_OPEN:
            watch.lines.put_nowait(None)

    def _after(self, stored: Plain) -> Plain:
        event = self.store.events[-1]
        for watch in self._watches:
            if watch.target.kind == event.kind and watch.target.has(event.names):
                watch.send(event)
        return stored

    # HTTP.

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = _Connection(reader, writer)
        self._connections.add(connection)
        self.most_connections = max(self.most_connections, len(self._connections))
        try:
            while (request := await _received(reader)) is not None:
                await self._note(request)
                await self._answer(connection, request)
        except (OSError, asyncio.IncompleteReadError):
            pass  # The client, or a test, ended it.
        finally:
            self._connections.discard(connection)
            self._watches = [each for each in self._watches if each.connection is not connection]
            writer.transport.abort()
            await self._note(None)

    async def _answer(self, connection: _Connection, request: Received) -> None:
        if request.path in self.withheld:
            await connection.reader.read()
            raise ConnectionResetError
        scripted = self._script(request)
        if scripted is not None:
            if scripted.is_reset:
                connection.reset()
                raise ConnectionResetError
            _write(connection, scripted.code, scripted.body, scripted.headers)
            return
        try:
            self._check_token(request)
            if request.path in self.refused:
                raise StatusAnswer(self.refused[request.path], "Refused", request.path)
            if request.method == "GET" and request.path in self.documents:
                _write(connection, 200, json.dumps(self.documents[request.path]).encode())
                return
            target = Target.of(request.path)
            if request.method == "GET" and request.is_watch:
                await self._watch(connection, target, request)
                return
            code, value = await self._done(request, target)
        except StatusAnswer as refused:
            code, value = refused.code, refused.status
        _write(connection, code, json.dumps(value).encode())
        await connection.writer.drain()

    def _script(self, request: Received) -> Scripted | None:
        for each in self.scripted:
            if each.for_watch in (None, request.is_watch):
                self.scripted.remove(each)
                return each
        return None

    def _check_token(self, request: Received) -> None:
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        if self.accepts_tokens is not None and token not in self.accepts_tokens:
            raise StatusAnswer(401, "Unauthorized", "Unauthorized")

    async def _done(self, request: Received, target: Target) -> tuple[int, Plain]:
        body = json.loads(request.body) if request.body else {}
        if request.method in ("PUT", "PATCH"):
            self.store.expect(target, body.get("metadata"))
        if request.method == "DELETE":
            self.store.expect(target, body.get("preconditions"))
        match request.method:
            case "GET" if target.name:
                return 200, self.store.one(target)
            case "GET":
                token = request.query.get("continue", "")
                if token and self.page_hook:
                    self.page_hook.pop(0)()
                limit, chosen = int(request.query.get("limit", 0)), Selectors.of(request.query)
                return 200, self.store.page(target, limit, token, chosen)
            case "POST" if request.path.endswith("/binding"):
                self._after(self.store.bind(target, body))
                return 201, {"kind": "Status", "status": "Success"}
            case "POST":
                return 201, self._after(self.store.put(target, body, is_new=True))
            case "PUT":
                return 200, self._after(self.store.put(target, body, is_new=False))
            case "PATCH" if "apply" in request.headers["content-type"]:
                return 200, self._after(self.store.apply(target, body))
            case "PATCH":
                return 200, self._after(self.store.merge(target, body))
            case "DELETE":
                return 200, self._after(self.store.remove(target))
            case _:
                raise StatusAnswer(405, "MethodNotAllowed", request.method)

    async def _watch(self, connection: _Connection, target: Target, request: Received) -> None:
        watch = _Watch(target, connection, Selectors.of(request.query))
        watch.goes.set()
        for event in self.store.since(target, int(request.query["resourceVersion"])):
            watch.send(event)
        self._watches.append(watch)
        connection.writer.write(_WATCH_HEAD)
        await connection.writer.drain()
        await self._note(None)
        async with beside(connection.reader.read()) as closed:
            while (sent := await _first(watch.lines, closed)) is not None:
                await watch.goes.wait()
                if not watch.is_mute:
                    connection.writer.write(f"{len(sent):x}\r\n".encode() + sent + b"\r\n")
                    await connection.writer.drain()
        if watch in self._watches:
            self._watches.remove(watch)
        connection.writer.write(b"0\r\n\r\n")
        await connection.writer.drain()
        connection.writer.close()
        await connection.writer.wait_closed()
        raise ConnectionResetError

    async def _note(self, request: Received | None) -> None:
        if request is not None:
            self.requests.append(request)
        async with self._changed:
            self._changed.notify_all()

    async def _wait(self, is_so: Any) -> None:
        async with asyncio.timeout(_PATIENCE_SECONDS), self._changed:
            await self._changed.wait_for(is_so)


@contextlib.asynccontextmanager
async def running(tls: ssl.SSLContext | None = None) -> AsyncIterator[FakeApiServer]:
    """A server that listens until the end of the block."""
    server = FakeApiServer(tls)
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


async def _first(lines: asyncio.Queue[bytes | None], closed: asyncio.Task[bytes]) -> bytes | None:
    """The next line; ConnectionResetError if the client went away first."""
    async with beside(lines.get()) as following:
        await asyncio.wait({following, closed}, return_when=asyncio.FIRST_COMPLETED)
        if not following.done():
            raise ConnectionResetError
        return following.result()


async def _received(reader: asyncio.StreamReader) -> Received | None:
    """The next request; None after the last."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
    except asyncio.IncompleteReadError:
        return None
    first, *rest = head.rstrip().split("\r\n")
    method, url, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (e.partition(":") for e in rest)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    parts = urlsplit(url)
    return Received(method, parts.path, dict(parse_qsl(parts.query)), headers, body)


def _write(
    connection: _Connection, code: int, body: bytes, headers: Mapping[str, str] | None = None
) -> None:
    lines = [
        f"HTTP/1.1 {code} Some",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
    ]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    connection.writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
