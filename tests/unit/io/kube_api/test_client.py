"""Requests to an API server, and everything that may be answered, or not."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import itertools
import json
import os
import socket
import ssl
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from numalet.core.model.findings import BadInput, Location
from numalet.io.kube_api import client
from numalet.io.kube_api.answers import ApiRefused, ApiUnreachable, status_of
from numalet.io.kube_api.client import ApiClient, PatchKind, RequestLimits
from numalet.io.kube_api.values import Access, Impersonation
from numalet.io.tasks import ended, together
from running import breakable_proxy, fake_api_server, forward_proxy
from running.certificates import Authority
from running.fake_api_server import FakeApiServer, Scripted

PATH = "/api/v1/namespaces/test/configmaps"


class SteppedClock:
    """Time that passes only while one sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def now_seconds(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


async def test_objects_are_made_changed_and_removed() -> None:
    async with fake_api_server.running() as server, client.opened(server.access()) as api:
        one = f"{PATH}/one"
        await api.create(PATH, {"metadata": {"name": "one"}, "data": {"a": "1"}})
        await api.replace(one, b'{"metadata": {"name": "one"}, "data": {"a": "2"}}')
        await api.patch(one, {"data": {"b": "3"}})
        await api.apply(one, {"data": {"c": "4"}}, "numalet", force=True)
        read = json.loads(await api.get(one))
        assert read["data"] == {"a": "2", "b": "3", "c": "4"}
        await api.delete(one, {"gracePeriodSeconds": 0})
        with pytest.raises(ApiRefused) as missing:
            await api.get(one)
        assert missing.value.status.code == 404
        assert str(missing.value) == f"GET {one}: 404 NotFound: one not found"
    sent = {each.method: each for each in server.requests}
    assert sent["PATCH"].query == {"fieldManager": "numalet", "force": "true"}
    assert sent["PATCH"].headers["content-type"] == "application/apply-patch+yaml"
    assert sent["DELETE"].body == b'{"gracePeriodSeconds":0}'
    kinds = [each.headers["content-type"] for each in server.requests if each.method == "PATCH"]
    assert kinds[0] == PatchKind.MERGE.value


async def test_the_request_says_who_asks_and_for_whom() -> None:
    async with fake_api_server.running() as server:
        given = server.access(
            token="secret",
            impersonation=Impersonation("ann", "17", ("a", "b"), (("scopes", ("x", "y")),)),
        )
        async with client.opened(given, "numalet-test/1") as api:
            await api.get(PATH)
    (request,) = server.requests
    assert request.headers["authorization"] == "Bearer secret"
    assert request.headers["user-agent"] == "numalet-test/1"
    assert request.headers["impersonate-user"] == "ann"
    assert request.headers["impersonate-uid"] == "17"
    assert request.headers["impersonate-extra-scopes"] in ("x", "y", "x, y")


async def test_a_server_below_a_path() -> None:
    async with fake_api_server.running() as server:
        given = server.access()
        given = type(given)(server=f"{server.url}/k8s/clusters/c-1", origin=given.origin)
        async with client.opened(given) as api:
            with pytest.raises(ApiRefused):
                await api.get("/api/v1/nodes", {"limit": 3, "continue": None, "pretty": False})
    (request,) = server.requests
    assert request.path == "/k8s/clusters/c-1/api/v1/nodes"
    assert request.query == {"limit": "3", "pretty": "false"}


async def test_a_request_is_repeated_when_the_server_says() -> None:
    clock = SteppedClock()
    async with fake_api_server.running() as server:
        server.scripted += [
            Scripted(429, {"Retry-After": "3"}),
            Scripted(503, {"Retry-After": "1"}),
            Scripted(429, {}, b'{"details": {"retryAfterSeconds": 5}}'),
        ]
        async with client.opened(server.access(), clock=clock, fraction=lambda: 0.0) as api:
            await api.create(PATH, {"metadata": {"name": "one"}})
    assert clock.slept == [3.0, 1.0, 5.0]
    assert len(server.requests) == 4


@pytest.mark.parametrize(
    ("script", "patience_seconds", "retry_after_seconds"),
    [
        (Scripted(429, {"Retry-After": "31"}), 30, 31.0),
        (Scripted(429, {"Retry-After": "1"}), 0, 1.0),
        (Scripted(429, {}), 30, None),
        (Scripted(500, {}), 30, None),
        (Scripted(409, {"Retry-After": "1"}), 30, 1.0),
    ],
)
async def test_a_refusal_that_is_not_waited_for_is_raised_at_once(
    script: Scripted, patience_seconds: float, retry_after_seconds: float | None
) -> None:
    clock = SteppedClock()
    limits = RequestLimits(patience_seconds=patience_seconds)
    async with fake_api_server.running() as server:
        server.scripted.append(script)
        async with client.opened(server.access(), limits=limits, clock=clock) as api:
            with pytest.raises(ApiRefused) as refused:
                await api.create(PATH, {"metadata": {"name": "one"}})
    assert refused.value.status.code == script.code
    assert refused.value.status.retry_after_seconds == retry_after_seconds
    assert clock.slept == []


async def test_a_server_that_asks_for_ever_is_left_when_patience_ends() -> None:
    clock = SteppedClock()
    limits = RequestLimits(patience_seconds=10)
    async with fake_api_server.running() as server:
        server.scripted += [Scripted(429, {"Retry-After": "4"}) for _ in range(9)]
        async with client.opened(
            server.access(), limits=limits, clock=clock, fraction=lambda: 0.0
        ) as api:
            with pytest.raises(ApiRefused):
                await api.get(PATH)
    assert clock.slept == [4.0, 4.0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7", 7.0),
        ("", None),
        ("soon", None),
        ("-1", None),
        ("9" * 500, 9_999_999_999.0),
        ("Mon, 23 Nov 2026 12:00:30 GMT", 30.0),
        ("Mon, 23 Nov 2026 11:00:00 GMT", 0.0),
    ],
)
def test_retry_after_is_a_number_or_a_date(text: str, expected: float | None) -> None:
    now = datetime(2026, 11, 23, 12, tzinfo=UTC)
    assert status_of(429, {"retry-after": text}, b"", now).retry_after_seconds == expected


@pytest.mark.parametrize("body", [b"", b"<html>\n<h1>Bad \xff\n Gateway", b"[]", b"null", b'"x"'])
def test_an_answer_that_is_no_status_is_shown_as_it_is(body: bytes) -> None:
    status = status_of(502, {}, body)
    assert (status.code, status.reason) == (502, "Unknown")
    assert "\n" not in status.message
    assert status.message


def test_a_long_answer_is_cut() -> None:
    assert len(status_of(502, {}, b"x" * 10_000).message) < 500


async def test_a_kept_connection_that_was_closed_is_no_failure() -> None:
    async with fake_api_server.running() as server:
        server.put(f"{PATH}/one", {})
        async with client.opened(server.access()) as api:
            await api.get(f"{PATH}/one")
            server.scripted.append(Scripted(0, is_reset=True))
            await api.get(f"{PATH}/one")
            server.scripted.append(Scripted(0, is_reset=True))
            await api.apply(f"{PATH}/one", {"data": {}}, "numalet")


@pytest.mark.parametrize(
    "send",
    [
        lambda api: api.create(PATH, {"metadata": {"name": "two"}}),
        lambda api: api.replace(f"{PATH}/one", {"metadata": {"name": "one"}}),
        lambda api: api.delete(f"{PATH}/one"),
    ],
)
async def test_what_must_not_be_done_twice_is_not_repeated(
    send: Callable[[ApiClient], Coroutine[Any, Any, object]],
) -> None:
    """Not on a kept connection either, which may have been closed before the request came."""
    async with fake_api_server.running() as server, client.opened(server.access()) as api:
        await api.create(PATH, {"metadata": {"name": "one"}})
        server.scripted.append(Scripted(0, is_reset=True))
        with pytest.raises(ApiUnreachable):
            await send(api)
        assert len(server.requests) == 2


async def test_a_connection_that_is_not_made_is_not_tried_again() -> None:
    tried = 0

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal tried
        tried += 1
        writer.write(b"no TLS here")
        writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    access = Access(f"https://127.0.0.1:{port}", Location("test"), is_verified=False)
    async with server, client.opened(access) as api:
        with pytest.raises(ApiUnreachable):
            await api.get(PATH)
    assert tried == 1


async def test_nobody_listens() -> None:
    async with fake_api_server.running() as server:
        given = server.access()
    async with client.opened(given) as api:
        with pytest.raises(ApiUnreachable) as unreachable:
            await api.get(PATH)
    finding = unreachable.value.finding
    assert finding.code == "kube-api/unreachable"
    assert given.server in str(finding)
    assert "Connection refused" in str(finding)


@pytest.mark.slow
async def test_a_server_that_never_answers() -> None:
    async with (
        fake_api_server.running() as server,
        breakable_proxy.to("127.0.0.1", int(server.url.rpartition(":")[2])) as proxy,
        client.opened(
            server.access(port=proxy.port), limits=RequestLimits(request_seconds=4.0)
        ) as api,
    ):
        await api.create(PATH, {"metadata": {"name": "one"}})
        await proxy.mute()
        with pytest.raises(ApiUnreachable, match="no answer in time"):
            await api.get(PATH)


async def test_no_more_requests_at_once_than_are_allowed() -> None:
    limits = RequestLimits(requests_at_once=3)
    async with fake_api_server.running() as server:
        async with client.opened(server.access(), limits=limits) as api, together() as group:
            for _ in range(20):
                group.create_task(api.get(PATH))
        assert len(server.requests) == 20
        assert server.most_connections == 3


async def test_values_of_msgspec_are_bodies() -> None:
    class Meta(msgspec.Struct):
        name: str

    class Made(msgspec.Struct):
        metadata: Meta

    async with fake_api_server.running() as server, client.opened(server.access()) as api:
        made = json.loads(await api.create(PATH, Made(Meta("one"))))
        assert made["metadata"]["name"] == "one"


# TLS.


async def _reachable(server: FakeApiServer, **given: Any) -> bool:
    async with client.opened(server.access(**given)) as api:
        await api.get(PATH)
    return True


async def test_the_server_is_held_against_the_authority(tmp_path: Path) -> None:
    own, other = Authority(), Authority()
    async with fake_api_server.running(own.server_context(tmp_path)) as server:
        assert await _reachable(server, authority=own.pem)
        assert await _reachable(server, is_verified=False)
        assert await _reachable(server, authority=own.pem, server_name="localhost")
        with pytest.raises(ApiUnreachable, match="certificate is not accepted"):
            await _reachable(server, authority=other.pem)
        with pytest.raises(ApiUnreachable, match="certificate is not accepted"):
            await _reachable(server)
        with pytest.raises(ApiUnreachable, match="certificate is not accepted"):
            await _reachable(server, authority=own.pem, server_name="other.example")


async def test_a_client_certificate_is_shown_and_read_again(tmp_path: Path) -> None:
    own, stranger = Authority(), Authority("stranger")
    context = own.server_context(tmp_path)
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(cadata=own.pem.decode())
    certificate, key = tmp_path / "me.crt", tmp_path / "me.key"
    clock = SteppedClock()

    def write(pair: tuple[bytes, bytes]) -> None:
        certificate.write_bytes(pair[0])
        key.write_bytes(pair[1])

    mine = own.sign("me")
    write(mine)
    async with fake_api_server.running(context) as server:
        given = server.access(authority=own.pem, certificate=certificate, key=key)
        async with client.opened(given, clock=clock) as api:
            await api.get(PATH)
            write(stranger.sign("stranger"))
            clock.now = 59.0
            await api.get(PATH)
            clock.now = 60.0
            with pytest.raises(ApiUnreachable):
                await api.get(PATH)
            write(own.sign("me"))
            clock.now = 120.0
            await api.get(PATH)
            # Half written: what was there goes on serving.
            certificate.write_bytes(mine[0])
            clock.now = 180.0
            await api.get(PATH)


@pytest.mark.parametrize(
    "given", [{"authority": b"none"}, {"certificate": b"none", "key": b"none"}]
)
async def test_what_is_no_certificate_is_said(given: dict[str, bytes]) -> None:
    async with fake_api_server.running() as server:
        with pytest.raises(BadInput) as bad:
            await _reachable(server, **given)
    assert [each.code for each in bad.value.findings] == ["input/invalid"]


@pytest.mark.slow
async def test_a_handshake_that_never_ends_leaves_no_connection_behind() -> None:
    """What is left behind is warned of when it is collected, which fails the test."""
    ended = asyncio.Event()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(1 << 16):
            pass
        ended.set()
        writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    access = Access(f"https://127.0.0.1:{port}", Location("test"))
    limits = RequestLimits(request_seconds=3.0)
    async with server, client.opened(access, limits=limits) as api:
        with pytest.raises(ApiUnreachable, match="no connection in time"):
            await api.get(PATH)
        async with asyncio.timeout(200):
            await ended.wait()
    gc.collect()


async def test_nothing_waits_for_the_last_word_of_a_server(tmp_path: Path) -> None:
    """Neither with the connection of a stream nor with one that is kept."""
    own = Authority()
    async with (
        fake_api_server.running(own.server_context(tmp_path)) as server,
        breakable_proxy.to("127.0.0.1", int(server.url.rpartition(":")[2])) as proxy,
    ):
        given = Access(f"https://127.0.0.1:{proxy.port}", Location("test"), authority=own.pem)
        async with client.opened(given) as api:
            server.put(f"{PATH}/one", {})
            await api.get(f"{PATH}/one")
            query = {"watch": True, "resourceVersion": 0}
            async with api.stream(PATH, query, silence_seconds=200):
                await api.get(f"{PATH}/one")
                assert _open_connections(proxy.port) == 2
                await proxy.mute()
        assert _open_connections(proxy.port) == 0


def _open_connections(port: int) -> int:
    """How many sockets of this process are connected to a port."""
    count = 0
    for path in [*Path("/proc/self/fd").iterdir()]:
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(int(path.name))) as each:
            count += each.getpeername()[1:2] == (port,)
    return count


# Cancellation.


async def _is_done_after(request: Coroutine[Any, Any, object], turns: int) -> bool:
    """Whether so many turns of the event loop are enough for a request; cancelled if not."""
    task = asyncio.create_task(request)
    for _ in range(turns):
        await asyncio.sleep(0)
    is_done = task.done()
    # Less than the minute that a handshake may take.
    async with asyncio.timeout(50):
        await ended(task)
    return is_done


async def _streamed(api: ApiClient) -> None:
    async with api.stream(PATH, {"watch": True, "resourceVersion": 0}, silence_seconds=200):
        pass


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["", "http", "socks5"])
@pytest.mark.parametrize("send", [lambda api: api.get(PATH), _streamed])
@pytest.mark.usefixtures("quick_collections")
async def test_a_request_that_is_cancelled_leaves_no_connection_behind(
    tmp_path: Path, send: Callable[[ApiClient], Coroutine[Any, Any, object]], scheme: str
) -> None:
    """At whatever moment: neither one that is kept and not used any more, nor one without owner.

    The latter is warned of when it is collected, which fails the test.
    """
    own = Authority()
    async with (
        fake_api_server.running(own.server_context(tmp_path)) as server,
        forward_proxy.running() as proxy,
    ):
        proxy_url = f"{scheme}://127.0.0.1:{proxy.port}" if scheme else ""
        given = server.access(authority=own.pem, proxy_url=proxy_url)
        for turns in itertools.count():
            async with client.opened(given) as api:
                if await _is_done_after(send(api), turns):
                    break
                await server.unused()
                await proxy.unused()
            gc.collect()
        assert turns > 5
