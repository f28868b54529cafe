"""Access control of the dashboard: sessions, origins of changes, and security headers.

A link with a token works once and opens a session. Every path except the login and the static files
requires one, and a change must come from a page of the dashboard.
"""

from __future__ import annotations

import hashlib
import ipaddress
import secrets
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypeVar
from urllib.parse import quote, urlsplit

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from numalet.core.model.value import Value
from numalet.dashboard.answers import GUARDING_HEADERS, ShownSources

TOKEN_SECONDS: Final = 300
IDLE_SECONDS: Final = 2 * 3600
"""A session ends this long after its last request; a page that follows the node keeps it open."""
SESSION_SECONDS: Final = 24 * 3600
"""A session ends this long after it was opened, even in use."""
MOST_TOKENS: Final = 16
MOST_SESSIONS: Final = 64

_SECRET_BYTES: Final = 32
_LONGEST_TEXT: Final = 256
"""Longer than any token or session id; longer texts are not even hashed."""

V = TypeVar("V")


@dataclass(slots=True)
class _Session:
    began_at: float
    used_at: float

    def is_open(self, now: float) -> bool:
        return now < min(self.began_at + SESSION_SECONDS, self.used_at + IDLE_SECONDS)


@dataclass(slots=True)
class Sessions:
    """Unused tokens and open sessions; above a limit, the oldest are dropped.

    Every method gets the time as an argument, in seconds of a steady clock.
    """

    secret: Callable[[], str] = lambda: secrets.token_urlsafe(_SECRET_BYTES)
    _tokens: OrderedDict[str, float] = field(default_factory=OrderedDict)
    """The end of each token's validity by digest, the oldest first."""
    _sessions: OrderedDict[str, _Session] = field(default_factory=OrderedDict)

    def new_token(self, now: float) -> str:
        """Return a token that opens one session, within ``TOKEN_SECONDS``."""
        token = self.secret()
        _put(self._tokens, _digest(token), now + TOKEN_SECONDS, MOST_TOKENS)
        return token

    def open(self, token: str, now: float) -> str | None:
        """Return the id of a new session, unless the token is wrong, used or expired."""
        # Removed before the check of its time: a link works once, also if it came too late.
        good_until = self._tokens.pop(_digest(token), None)
        if good_until is None or now >= good_until:
            return None
        session = self.secret()
        _put(self._sessions, _digest(session), _Session(now, now), MOST_SESSIONS)
        return session

    def use(self, session: str, now: float) -> bool:
        """Return whether this session is open, and reset its idle time."""
        name = _digest(session)
        known = self._sessions.get(name)
        if known is None:
            return False
        if not known.is_open(now):
            del self._sessions[name]
            return False
        known.used_at = now
        return True


def _put(into: OrderedDict[str, V], name: str, value: V, most: int) -> None:
    into[name] = value
    while len(into) > most:
        into.popitem(last=False)


def _digest(text: str) -> str:
    if len(text) > _LONGEST_TEXT:
        return ""
    # Only digests are stored: comparing them reveals nothing about the text by its time, and the
    # memory of the process contains no valid token.
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


SESSION: Final = "numalet.session"

_READING: Final = ("GET", "HEAD")
_OF_A_LINK: Final = ("none", "same-origin")
"""``Sec-Fetch-Site`` of a request that no other site started."""


class OpenSession(Value):
    """``use`` returns whether the session is open, and resets its idle time."""

    id: str
    use: Callable[[], bool]


_ENDLESS: Final = OpenSession("", lambda: True)


class Entrance:
    def __init__(
        self,
        behind: ASGIApp,
        shown: ShownSources,
        sessions: Sessions,
        clock: Callable[[], float],
    ) -> None:
        self._behind = behind
        self._shown = shown
        self._sessions = sessions
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in GUARDING_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        answer = self._at_the_entrance(scope)
        await (self._behind if answer is None else answer)(scope, receive, guarded)

    def _at_the_entrance(self, scope: Scope) -> Response | None:
        """Return the refusal, if the request may not pass."""
        headers = Headers(scope=scope)
        # Another site could let its own name point here (DNS rebinding). Over TLS the certificate
        # prevents that.
        if scope["scheme"] == "http" and not is_of_this_machine(headers.get("host", "")):
            return self._shown.message("This address is not served here: use the link.", 421)
        # Static files contain no data, and the login page needs them before there is a session.
        path = scope["path"].removeprefix(self._shown.path)
        if path.startswith("/static/") and scope["method"] in _READING:
            return None
        if path == "/login":
            return self._login(scope, headers)
        session = HTTPConnection(scope).cookies.get(_cookie_name(scope), "")
        if not self._sessions.use(session, self._clock()):
            return self._without_session(scope, headers)
        if scope["method"] not in _READING and not _is_of_this_site(scope, headers):
            return self._shown.message("A change has to come from a page of the dashboard.", 403)
        scope[SESSION] = OpenSession(session, lambda: self._sessions.use(session, self._clock()))
        return None

    def _login(self, scope: Scope, headers: Headers) -> Response:
        if scope["method"] != "GET":
            return self._shown.message("A link is opened, and nothing else.", 405)
        token = QueryParams(scope["query_string"]).get("token", "")
        session = self._sessions.open(token, self._clock())
        if session is None:
            return self._shown.page(
                "no_session.html", 403, title="This link is no longer good",
                text="A link works once, and for five minutes.",
            )  # fmt: skip
        first = f"{self._shown.path}/"
        # The cookie is SameSite=Strict: browsers omit it after a link on another site, even after a
        # redirect. A page that navigates by itself makes the next request one within this site.
        if headers.get("sec-fetch-site", "none") in _OF_A_LINK:
            answer: Response = RedirectResponse(first, 303)
        else:
            answer = self._go_on(first)
        answer.set_cookie(
            _cookie_name(scope),
            session,
            max_age=SESSION_SECONDS,
            path=self._shown.path or "/",
            secure=scope["scheme"] == "https",
            httponly=True,
            samesite="strict",
        )
        return answer

    def _without_session(self, scope: Scope, headers: Headers) -> Response:
        is_page = headers.get("sec-fetch-mode", "navigate") == "navigate"
        if is_page and scope["method"] == "GET" and _is_led_here(headers):
            # The session may be good: browsers omit a strict cookie on the way from another site.
            query = scope["query_string"].decode("latin-1")
            # A path with two leading slashes would be the address of another host.
            path = "/" + quote(scope["path"].lstrip("/\\"))
            return self._go_on(f"{path}?{query}" if query else path)
        return self._shown.page(
            "no_session.html", 401, title="A link opens this page",
            text="No session: it has ended, or the dashboard was restarted.",
        )  # fmt: skip

    def _go_on(self, target: str) -> Response:
        return self._shown.page("go_on.html", title="numalet", target=target)


def is_of_this_machine(host: str) -> bool:
    """Return whether a ``Host`` header names this machine; the port is ignored."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
        return name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _is_led_here(headers: Headers) -> bool:
    return headers.get("sec-fetch-site", "none") in ("cross-site", "same-site")


def _is_of_this_site(scope: Scope, headers: Headers) -> bool:
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    # Older browsers do not send Sec-Fetch-Site, but send Origin with every change.
    return headers.get("origin") == f"{scope['scheme']}://{headers.get('host', '')}"


def _cookie_name(scope: Scope) -> str:
    # Cookies are shared by all ports of a host, so the name contains the port.
    port = (scope.get("server") or ("", 0))[1]
    prefix = "__Secure-" if scope["scheme"] == "https" else ""
    return f"{prefix}numalet-session-{port}"


def session_of(scope: Scope) -> OpenSession:
    """Return the session of this request; without access control, one that never ends."""
    session = scope.get(SESSION)
    return session if isinstance(session, OpenSession) else _ENDLESS
