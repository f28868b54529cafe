"""Lets in who knows the token. Everybody else gets a 401, before anything of theirs is read."""

from __future__ import annotations

import hmac
from typing import Any, Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from numalet.agent.servers.api.status import Failure
from numalet.wording import kubernetes_api as words

_SCHEME: Final = "bearer"


class Guard:
    """An application behind a bearer token."""

    def __init__(self, behind: ASGIApp, token: str) -> None:
        self._behind = behind
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or have it answered."""
        if scope["type"] != "http" or not self._knows(scope):
            response = Failure(401, words.UNAUTHORIZED).response()
            response.headers["WWW-Authenticate"] = "Bearer"
            await response(scope, receive, send)
            return
        await self._behind(scope, receive, send)

    def _knows(self, scope: Any) -> bool:
        scheme, _, token = Headers(scope=scope).get("authorization", "").partition(" ")
        said = token.strip().encode("utf-8", "surrogateescape")
        # The comparison takes as long wherever the two differ.
        return scheme.lower() == _SCHEME and hmac.compare_digest(said, self._token)
