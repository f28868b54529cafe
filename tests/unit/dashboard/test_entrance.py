"""The entrance: who gets in, by which request, and what every answer has with it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from numalet.dashboard import entrance
from numalet.dashboard.answers import GUARDING_HEADERS, ShownSources
from numalet.dashboard.entrance import Entrance, Sessions

_BASE: Final = "http://127.0.0.1:8080"
_SECURE: Final = "https://node7.example.com:8443"
_CROSS: Final = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}


class _Bench:
    """An entrance before an application that says the method and path of what comes through."""

    def __init__(self, path: str = "") -> None:
        self.now = 0.0
        self.sessions = Sessions()
        shown = ShownSources(
            node=None, fleet=None, path=path, clock=lambda: datetime(2026, 1, 1, tzinfo=UTC)
        )
        self.app = Entrance(_behind, shown, self.sessions, lambda: self.now)

    def client(self, base_url: str = _BASE, **options: Any) -> httpx.AsyncClient:
        transport = httpx.ASGITransport(self.app)
        return httpx.AsyncClient(transport=transport, base_url=base_url, **options)

    def entered(self) -> httpx.AsyncClient:
        """A client with a session."""
        session = self.sessions.open(self.sessions.new_token(self.now), self.now) or ""
        return self.client(cookies={"numalet-session-8080": session})


async def _behind(scope: Scope, receive: Receive, send: Send) -> None:
    request = Request(scope)
    session = entrance.session_of(scope)
    standing = "with" if session.id and session.use() else "without"
    text = f"{request.method} {request.url.path} {standing}"
    await PlainTextResponse(text)(scope, receive, send)


async def test_without_a_session() -> None:
    async with _Bench().client() as client:
        for path in ("/", "/node", "/pods/a/b", "/events", "/static", "/%2e%2e/static/x"):
            answer = await client.get(path)
            assert answer.status_code == 401, path
            assert "numalet dashboard" in answer.text
        assert (await client.post("/static/numalet.css")).status_code == 401
        assert (await client.get("/static/numalet.css")).text == "GET /static/numalet.css without"


async def test_a_link_opens_a_session() -> None:
    bench = _Bench()
    async with bench.client() as client:
        token = bench.sessions.new_token(0)
        answer = await client.get(f"/login?token={token}")
        assert (answer.status_code, answer.headers["location"]) == (303, "/")
        cookie = answer.headers["set-cookie"]
        assert cookie.startswith("numalet-session-8080=")
        assert {"HttpOnly", "SameSite=strict", "Path=/"} <= {*cookie.split("; ")}
        assert "Secure" not in cookie
        assert (await client.get("/node")).text == "GET /node with"
        again = await client.get(f"/login?token={token}")
        assert again.status_code == 403
        assert "numalet dashboard" in again.text


async def test_below_a_path_with_tls() -> None:
    bench = _Bench("/ui")
    async with bench.client(_SECURE) as client:
        answer = await client.get(f"/ui/login?token={bench.sessions.new_token(0)}")
        assert answer.headers["location"] == "/ui/"
        cookie = answer.headers["set-cookie"]
        assert cookie.startswith("__Secure-numalet-session-8443=")
        assert {"HttpOnly", "Secure", "SameSite=strict", "Path=/ui"} <= {*cookie.split("; ")}
        assert (await client.get("/ui/node")).status_code == 200


@pytest.mark.parametrize("token", ["", "wrong", "x" * 5000, "%00", "%ff"])
async def test_a_wrong_token(token: str) -> None:
    bench = _Bench()
    async with bench.client() as client:
        answer = await client.get(f"/login?token={token}")
        assert answer.status_code == 403
        assert "set-cookie" not in answer.headers
        assert (await client.post("/login", data={"token": "x"})).status_code == 405


async def test_an_old_token_and_an_old_session() -> None:
    bench = _Bench()
    async with bench.entered() as client:
        token = bench.sessions.new_token(0)
        bench.now = entrance.TOKEN_SECONDS
        assert (await client.get(f"/login?token={token}")).status_code == 403
        assert (await client.get("/")).status_code == 200
        bench.now += entrance.IDLE_SECONDS
        assert (await client.get("/")).status_code == 401


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 403),
        ({"Origin": _BASE}, 200),
        ({"Origin": "http://127.0.0.1:9090"}, 403),
        ({"Origin": "https://127.0.0.1:8080"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        ({"Sec-Fetch-Site": "same-site", "Origin": _BASE}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "none"}, 403),
    ],
)
async def test_a_change_comes_from_a_page_of_the_dashboard(
    headers: dict[str, str], status: int
) -> None:
    async with _Bench().entered() as client:
        for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
            assert (await client.request(method, "/node", headers=headers)).status_code == status


async def test_led_here_by_another_site() -> None:
    """The cookie is held back, so the page takes one step within this site."""
    bench = _Bench("/ui")
    async with bench.client() as client:
        answer = await client.get('/ui/what-if?pod="<b>&x=1', headers=_CROSS)
        assert answer.status_code == 200
        assert "url=/ui/what-if?pod=%22%3Cb%3E&amp;x=1" in answer.text
        token = bench.sessions.new_token(0)
        answer = await client.get(f"/ui/login?token={token}", headers=_CROSS)
        assert answer.status_code == 200
        assert "url=/ui/" in answer.text
        assert (await client.get("/ui/")).status_code == 200
        # What a script of another site asks for is no page.
        fetched = {**_CROSS, "Sec-Fetch-Mode": "no-cors"}
        client.cookies.clear()
        assert (await client.get("/ui/events", headers=fetched)).status_code == 401
        assert (await client.post("/ui/what-if", headers=_CROSS)).status_code == 401


async def test_no_step_leads_to_another_site() -> None:
    async with _Bench().client() as client:
        answer = await client.get("http://127.0.0.1:8080//evil.example/x", headers=_CROSS)
        assert "url=/evil.example/x" in answer.text


@pytest.mark.parametrize(
    ("host", "is_answered"),
    [
        ("127.0.0.1:8080", True), ("localhost:1", True), ("[::1]:8080", True), ("127.1.2.3", True),
        ("evil.example:8080", False), ("", False), ("127.0.0.1.evil.example", False),
        ("[::1", False), ("10.0.0.1:8080", False), ("evil.example@127.0.0.1@x", False),
    ],
)  # fmt: skip
async def test_only_names_of_this_machine_without_tls(host: str, is_answered: bool) -> None:
    async with _Bench().entered() as client:
        answer = await client.get("/static/numalet.css", headers={"Host": host})
        assert answer.status_code == (200 if is_answered else 421)


async def test_every_answer_has_the_headers() -> None:
    bench = _Bench()
    async with bench.client() as client:
        token = bench.sessions.new_token(0)
        for path, headers in (
            ("/", {}),
            ("/", _CROSS),
            ("/static/numalet.css", {}),
            ("/login?token=x", {}),
            (f"/login?token={token}", {}),
            ("/node", {}),
            ("/", {"Host": "evil.example"}),
        ):
            answer = await client.get(path, headers=headers)
            for name, value in GUARDING_HEADERS.items():
                assert answer.headers[name] == value, path
