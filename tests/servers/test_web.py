"""What every HTTP server bears: clients that are slow, many, or unclear about the host."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import resource
import socket
from collections.abc import AsyncIterator, Callable
from typing import Any, Final

import pytest
from starlette.types import Receive, Scope, Send

from numalet.shared.web import accepting, connection
from numalet.shared.web.http_service import LOG_EVERY_SECONDS, LoopLog, loop_error_text, serving

GET: Final = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
HALF_HEAD: Final = b"GET / HTTP/1.1\r\nHost: a"
HALF_BODY: Final = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n{"
GONE: Final = b""


class Client:
    """One connection to a site."""

    def __init__(self, port: int) -> None:
        self._plug = socket.create_connection(("127.0.0.1", port))
        self._plug.setblocking(False)
        self._read = b""

    def say(self, data: bytes) -> None:
        self._plug.send(data)

    async def answer(self) -> bytes:
        """The status of the next answer; nothing if the connection is over."""
        try:
            async with asyncio.timeout(60):
                while b"\r\n\r\n" not in self._read:
                    some = await asyncio.get_running_loop().sock_recv(self._plug, 65536)
                    if not some:
                        return GONE
                    self._read += some
        except ConnectionResetError:
            return GONE
        head, _, self._read = self._read.partition(b"\r\n\r\n")
        # What is refused has a few words too.
        self._read = self._read[self._read.find(b"HTTP/") :] if b"HTTP/" in self._read else b""
        return head[9:12]

    def close(self) -> None:
        self._plug.close()


class Site:
    """An application behind a port, which waits before its answers while it is told to."""

    def __init__(self) -> None:
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.asked = asyncio.Semaphore(0)
        self.port = 0
        self._open = contextlib.ExitStack()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        while (message := await receive())["type"] != "http.disconnect":
            if not message["more_body"]:
                break
        else:
            return
        self.asked.release()
        if scope["path"] == "/":
            await self.may_answer.wait()
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    def said(self, data: bytes = b"") -> Client:
        """A connection on which this was sent."""
        client = Client(self.port)
        self._open.callback(client.close)
        if data:
            client.say(data)
        return client

    async def status(self, data: bytes = GET) -> bytes:
        """What is answered to this, on a connection of its own."""
        return await self.said(data).answer()


@contextlib.asynccontextmanager
async def site(**settings: Any) -> AsyncIterator[Site]:
    listener = accepting.tcp_listener("127.0.0.1", 0)
    # Else the kernel holds back the silent ones.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, 0)
    made = Site()
    made.port = listener.getsockname()[1]
    try:
        async with serving(made, listener, stop_seconds=1, **settings):
            yield made
            made.may_answer.set()
            made._open.close()
    finally:
        made._open.close()


@pytest.fixture
def most(monkeypatch: pytest.MonkeyPatch) -> int:
    """So few connections are served."""
    monkeypatch.setattr(accepting, "_room", lambda most: 4)
    return 4


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", b"204"),
        (b"GET / HTTP/1.1\r\nhost:  [::1]:80 \r\n\r\n", b"204"),
        (b"GET / HTTP/1.1\r\nHost:\r\n\r\n", b"204"),
        (b"GET / HTTP/1.0\r\n\r\n", b"204"),
        (b"GET / HTTP/1.0\r\nHost: a\r\n\r\n", b"204"),
        (b"GET / HTTP/1.1\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX: y\r\nHOST: b\r\n\r\n", b"400"),
        (b"GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nHost: a,b\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nHost: a@b\r\n\r\n", b"400"),
        (b"POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}", b"400"),
    ],
)
async def test_a_request_names_one_host(head: bytes, status: bytes) -> None:
    async with site() as at:
        assert await at.status(head) == status


@pytest.mark.parametrize(
    ("said", "status"),
    [
        (b"", GONE),
        (b"\r\n", GONE),
        (HALF_HEAD, b"408"),
        (HALF_BODY, b"408"),
        (GET + HALF_HEAD, b"408"),
        (GET + HALF_BODY, b"408"),
        (GET + b"\r\n", GONE),
    ],
)
async def test_a_request_has_to_come_in_time(
    said: bytes, status: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "REQUEST_SECONDS", 0.05)
    async with site(idle_seconds=1000) as at:
        client = at.said(GET if said.startswith(GET) else said)
        if said.startswith(GET):
            assert await client.answer() == b"204"
            client.say(said.removeprefix(GET))
        assert await client.answer() == status
        assert await client.answer() == GONE


async def test_an_answer_may_take_longer_than_a_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "REQUEST_SECONDS", 0.01)
    async with site() as at:
        at.may_answer.clear()
        client = at.said(GET)
        await at.asked.acquire()
        await asyncio.sleep(0.05)  # Longer than the request had, on any machine.
        at.may_answer.set()
        assert await client.answer() == b"204"


@pytest.mark.parametrize("said", [b"", HALF_HEAD, HALF_BODY])
async def test_whoever_waits_makes_room(most: int, said: bytes) -> None:
    async with site() as at:
        waiting = [at.said(said) for _ in range(3 * most)]
        for _ in range(most):
            assert await at.status() == b"204"
        for each in waiting[: 2 * most]:
            assert await each.answer() == GONE


async def test_an_idle_connection_makes_room_after_those_without_a_request(most: int) -> None:
    async with site() as at:
        idle = at.said(GET)
        assert await idle.answer() == b"204"
        for _ in range(3 * most):
            at.said(HALF_BODY)
        assert await at.status() == b"204"
        idle.say(GET)
        assert await idle.answer() == b"204"
        for _ in range(most):
            assert await at.said(GET).answer() == b"204"
        assert await idle.answer() == GONE


async def test_while_all_are_being_answered_only_probes_are(most: int) -> None:
    async with site() as at:
        at.may_answer.clear()
        busy = []
        for _ in range(most):
            busy.append(at.said(GET))
            await at.asked.acquire()
        assert await at.status() == b"503"
        for path in (b"/healthz", b"/readyz?verbose"):
            assert await at.status(GET.replace(b"/", path, 1)) == b"204"
        for _ in range(2 * accepting.MOST_RESERVED):
            at.said(HALF_BODY)
        assert await at.status(GET.replace(b"/", b"/healthz", 1)) == b"204"
        at.may_answer.set()
        assert [await each.answer() for each in busy] == [b"204"] * most


async def test_a_shortage_of_files_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[str] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: heard.append(context["message"]))
    monkeypatch.setattr(accepting, "PAUSE_SECONDS", 0.01)
    async with site() as at:
        idle = at.said(GET)
        assert await idle.answer() == b"204"
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        client = socket.socket()
        client.setblocking(False)
        # No file can be opened from here on.
        highest = os.dup(0)
        os.close(highest)
        resource.setrlimit(resource.RLIMIT_NOFILE, (highest, limits[1]))
        try:
            await loop.sock_connect(client, ("127.0.0.1", at.port))
            await loop.sock_sendall(client, GET)
            # The idle connection is closed for it.
            assert await idle.answer() == GONE
            async with asyncio.timeout(60):
                assert (await loop.sock_recv(client, 12))[9:] == b"204"
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
            client.close()
    assert "new connections have to wait" in heard


async def test_a_handshake_has_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    import ssl

    monkeypatch.setattr(accepting, "HANDSHAKE_SECONDS", 0.05)
    async with site(tls=ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)) as at:
        for said in (b"", b"\x16"):
            assert await at.status(said) == GONE


def _log(written: list[str]) -> LoopLog:
    return LoopLog(lambda message, keys: written.append(loop_error_text(message, keys)))


def test_trouble_is_said_once_a_minute_and_counted() -> None:
    written: list[str] = []
    loop = FakeLoop()
    log = _log(written)
    trouble = {"message": "no files", "exception": OSError(errno.EMFILE, "Too many open files")}
    for _ in range(1000):
        log.handle(loop, trouble)  # type: ignore[arg-type]
    log.handle(loop, {"message": "another thing"})  # type: ignore[arg-type]
    assert written == [
        "no files times=1 err=OSError(24, 'Too many open files')",
        "another thing times=1",
    ]
    loop.go_on(LOG_EVERY_SECONDS)
    assert written[2:] == ["no files times=999 err=OSError(24, 'Too many open files')"]
    loop.go_on(LOG_EVERY_SECONDS)
    log.handle(loop, trouble)  # type: ignore[arg-type]
    assert len(written) == 4


def test_a_bug_is_said_with_its_place() -> None:
    written: list[str] = []
    try:
        raise ValueError("x")
    except ValueError as bug:
        _log(written).handle(FakeLoop(), {"message": "m", "exception": bug})  # type: ignore[arg-type]
    assert "test_web.py:" in written[0]


def test_kinds_of_trouble_without_end_are_not_kept() -> None:
    written: list[str] = []
    log, loop = _log(written), FakeLoop()
    for number in range(1000):
        log.handle(loop, {"message": f"trouble {number}"})  # type: ignore[arg-type]
    assert len(written) == 100


class FakeLoop:
    """A clock, and what is to be called later."""

    def __init__(self) -> None:
        self.now = 0.0
        self.later: list[tuple[float, Callable[..., None], tuple[Any, ...]]] = []

    def time(self) -> float:
        return self.now

    def call_at(self, at: float, call: Callable[..., None], *args: Any) -> None:
        self.later.append((at, call, args))

    def go_on(self, seconds: float) -> None:
        self.now += seconds
        due = [each for each in self.later if each[0] <= self.now]
        self.later = [each for each in self.later if each[0] > self.now]
        for _, call, args in due:
            call(*args)
