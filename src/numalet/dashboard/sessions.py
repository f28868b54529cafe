"""Access to the dashboard: links that work once, and the sessions that they open.

Times are arguments, in seconds of a steady clock.
"""

from __future__ import annotations

import hashlib
import secrets
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypeVar

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
    """Unused tokens and open sessions; above a limit, the oldest are dropped."""

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
