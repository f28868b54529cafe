"""The API over TLS: who comes in, on which addresses, and what it costs when many try."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import resource
import socket
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.bad_inputs import refused_with
from numalet.agent.controller import kube_api
from numalet.agent.controller.kube_api import Serving
from numalet.agent.servers import endpoints
from numalet.agent.servers.api import listening
from numalet.agent.servers.endpoints import Address, KubeApi
from numalet.io.tasks import together
from numalet.shared.web import accepting
from running.agents import pod, running, settings

NOW = datetime(2026, 1, 2, tzinfo=UTC)
ANY_PORT = KubeApi(Address("127.0.0.1", 0))


@dataclass(frozen=True)
class Reached:
    serving: Serving
    root: Path

    @property
    def port(self) -> int:
        return int(self.serving.url.rpartition(":")[2])

    def connection(self) -> http.client.HTTPSConnection:
        trusted = ssl.create_default_context(cafile=self.root / "kube-api" / "ca.crt")
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=100, context=trusted)

    async def asked(self, path: str, authorization: str | None) -> tuple[int, Any, Any]:
        def ask() -> tuple[int, Any, Any]:
            connection = self.connection()
            headers = {} if authorization is None else {"authorization": authorization}
            try:
                connection.request("GET", path, headers=headers)
                response = connection.getresponse()
                return response.status, json.loads(response.read()), response.headers
            finally:
                connection.close()

        return await asyncio.to_thread(ask)


@asynccontextmanager
async def reached(root: Path, wanted: KubeApi = ANY_PORT) -> AsyncIterator[Reached]:
    now = datetime.now(UTC)
    async with (
        running(settings(root)) as agent,
        kube_api.served(agent.controller, wanted, root, now) as serving,
    ):
        yield Reached(serving, root)


async def test_only_the_token_lets_in(tmp_path: Path) -> None:
    async with reached(tmp_path / "root") as api:
        token = (api.root / "kube-api" / "token").read_text().strip()
        code, pods, _ = await api.asked("/api/v1/pods", f"Bearer {token}")
        assert (code, pods["kind"]) == (200, "PodList")
        for wrong in (None, "Bearer", "Bearer x", f"Basic {token}", f"Bearer {token}x", token):
            for path in ("/api/v1/pods", "/healthz", "/nowhere"):
                code, status, headers = await api.asked(path, wrong)
                assert (code, status["kind"], status["reason"]) == (
                    *(401, "Status"),
                    "Unauthorized",
                )
                assert headers["www-authenticate"] == "Bearer"


async def test_the_kubeconfig_says_where_and_how(tmp_path: Path) -> None:
    async with reached(tmp_path / "root") as api:
        found = yaml.safe_load(api.serving.kubeconfig.read_text())
        assert found["clusters"][0]["cluster"]["server"] == api.serving.url
        token = found["users"][0]["user"]["token"]
        assert (await api.asked("/version", f"Bearer {token}"))[0] == 200


async def test_a_certificate_of_the_administrator_s_is_served(tmp_path: Path) -> None:
    async with reached(tmp_path / "first") as api:
        folder = api.root / "kube-api"
        mine = KubeApi(Address("0.0.0.0", 0), folder / "tls.crt", folder / "tls.key")
    async with reached(tmp_path / "second", mine) as api:
        assert api.serving.url.startswith("https://127.0.0.1:")
        served = await asyncio.to_thread(
            ssl.get_server_certificate, ("127.0.0.1", api.port), timeout=100
        )
        assert served.strip() == (folder / "tls.crt").read_text().strip()
        assert not (api.root / "kube-api" / "tls.key").exists()


async def test_small_answers_are_not_held_back(tmp_path: Path) -> None:
    """The kernel would keep back the second half of each for as long as a client sits still."""

    async with reached(tmp_path / "root") as api:
        token = (api.root / "kube-api" / "token").read_text().strip()
        headers = {"authorization": f"Bearer {token}"}

        def ask(times: int) -> list[float]:
            connection = api.connection()
            took = []
            for _ in range(times):
                began = time.monotonic()
                connection.request("GET", "/version", headers=headers)
                assert connection.getresponse().read()
                took.append(time.monotonic() - began)
            connection.close()
            return took

        # The first ones are never held back; each later one would be, however idle the machine.
        assert min((await asyncio.to_thread(ask, 100))[20:]) < 0.04


async def test_connections_that_say_nothing_make_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accepting, "MOST_NEW", 3)

    async with reached(tmp_path / "root") as api:
        silent = [await asyncio.open_connection("127.0.0.1", api.port) for _ in range(4)]
        for _, each in silent:
            # The first byte of a handshake that never goes on.
            each.write(b"\x16")
        async with asyncio.timeout(120):
            # The oldest is closed without a word, by an end or by a reset.
            with contextlib.suppress(ConnectionResetError):
                assert await silent[0][0].read() == b""
        for reader, _ in silent[1:]:
            assert not reader.at_eof()
        for _, each in silent:
            each.close()


@pytest.mark.parametrize("said", [b"", b"\x16"], ids=["nothing", "half a handshake"])
async def test_nobody_is_kept_out_by_connections_that_wait(tmp_path: Path, said: bytes) -> None:
    async with reached(tmp_path / "root") as api:
        token = (api.root / "kube-api" / "token").read_text().strip()
        with contextlib.ExitStack() as stack:
            for _ in range(300):
                plug = socket.create_connection(("127.0.0.1", api.port), timeout=120)
                stack.callback(plug.close)
                plug.sendall(said)
            for _ in range(3):
                assert (await api.asked("/version", f"Bearer {token}"))[0] == 200


@pytest.mark.slow
@pytest.mark.parametrize("count", [1000])
def test_a_thousand_watch_at_once(tmp_path: Path, count: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 4 * count:
        pytest.skip("not so many files may be open here")

    async def scene() -> None:
        async with running(settings(tmp_path)) as agent:
            wanted = kube_api.served(agent.controller, ANY_PORT, tmp_path, datetime.now(UTC))
            async with wanted as serving, contextlib.AsyncExitStack() as stack:
                api = Reached(serving, tmp_path)
                trusted = ssl.create_default_context(cafile=tmp_path / "kube-api" / "ca.crt")
                opening: list[asyncio.Task[asyncio.StreamReader]] = []
                # A few at a time: a handshake has a limit, and both ends are in this process.
                for _ in range(count // 50):
                    async with together() as group:
                        opening += [
                            group.create_task(watch(api, trusted, stack)) for _ in range(50)
                        ]
                await agent.controller.create(pod("seen"))
                async with together() as group:
                    reading = [group.create_task(first_line(each.result())) for each in opening]
                names = {each.result()["object"]["metadata"]["name"] for each in reading}
                assert names == {"seen"}
                token = (tmp_path / "kube-api" / "token").read_text().strip()
                assert (await api.asked("/version", f"Bearer {token}"))[0] == 200

    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        asyncio.run(scene())
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def watch(
    api: Reached, trusted: ssl.SSLContext, stack: contextlib.AsyncExitStack
) -> asyncio.StreamReader:
    """A watch of pods whose answer has begun."""
    reader, writer = await asyncio.open_connection("127.0.0.1", api.port, ssl=trusted)
    stack.callback(writer.close)
    token = (api.root / "kube-api" / "token").read_text().strip()
    head = f"GET /api/v1/pods?watch=1 HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n\r\n"
    writer.write(head.encode())
    assert (await reader.readline()).split()[1] == b"200"
    await reader.readuntil(b"\r\n\r\n")
    return reader


async def first_line(reader: asyncio.StreamReader) -> Any:
    size = int(await reader.readline(), 16)
    return json.loads((await reader.readexactly(size)).splitlines()[0])


def test_a_port_that_is_taken_is_reported(tmp_path: Path) -> None:
    async def scene(port: int) -> None:
        async with reached(tmp_path / "root", KubeApi(Address("127.0.0.1", port))):
            pass

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with refused_with("input/unavailable", "cannot listen on port"):
            asyncio.run(scene(taken.getsockname()[1]))


def test_a_key_that_does_not_fit_is_reported(tmp_path: Path) -> None:
    with refused_with("input/invalid", "cannot use the certificate"):
        listening.tls_context(tmp_path / "none.crt", tmp_path / "none.key")
    for name in ("a.crt", "a.key"):
        (tmp_path / name).write_text("nonsense")
    with refused_with("input/invalid", "cannot use the certificate"):
        listening.tls_context(tmp_path / "a.crt", tmp_path / "a.key")


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("6443", "https://127.0.0.1:6443"),
        ("localhost:1", "https://127.0.0.1:1"),
        ("127.0.0.2:0", "https://127.0.0.2:0"),
        ("[::1]:2", "https://[::1]:2"),
        (":3", "https://127.0.0.1:3"),
    ],
)
def test_an_address_is_a_port_or_a_host_and_a_port(text: str, url: str) -> None:
    found = endpoints.resolve(text, None, None)
    assert found is not None
    assert found.address.url() == url


@pytest.mark.parametrize("text", ["x", "70000", "-1", "example.com:1", "127.0.0.1:", "1:2:3", "٣"])
def test_what_is_no_address_is_reported(text: str) -> None:
    with refused_with("input/invalid", "invalid address"):
        endpoints.resolve(text, None, None)


@pytest.mark.parametrize("text", ["0.0.0.0:6443", "[::]:6443", "10.0.0.1:6443"])
def test_others_reach_it_by_a_certificate_of_the_administrator_s_only(text: str) -> None:
    with refused_with("input/forbidden", "other machines can reach"):
        endpoints.resolve(text, None, None)
    found = endpoints.resolve(text, Path("a.crt"), Path("a.key"))
    assert found is not None
    assert not found.address.is_loopback


def test_a_certificate_needs_its_key_and_a_port() -> None:
    for address, certificate, key in (
        ("6443", Path("a.crt"), None),
        ("6443", None, Path("a.key")),
        ("", Path("a.crt"), Path("a.key")),
    ):
        with refused_with("input/required", "--kube-api-key"):
            endpoints.resolve(address, certificate, key)


def test_it_is_off_unless_it_is_asked_for(tmp_path: Path) -> None:
    assert settings(tmp_path).kube_api is None
    assert settings(tmp_path, kube_api="0").kube_api == ANY_PORT
