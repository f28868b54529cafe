"""Who may see the dashboard: links that work once, and the sessions that they open.

Pure but for what is random; the clock is an argument, in seconds that never run backwards. Tokens
and sessions are kept by their digests: what a comparison takes says nothing about the text itself,
and who reads the memory of the process has no text that opens anything.
"""

from __future__ import annotations

import hashlib
import secrets
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypeVar

TOKEN_SECONDS: Final = 300
"""So long a link may wait to be opened."""
IDLE_SECONDS: Final = 2 * 3600
"""A session ends so long after the last request. A page that follows the node counts as one."""
SESSION_SECONDS: Final = 24 * 3600
"""A session ends so long after it began, however much it is used."""
MOST_TOKENS: Final = 16
MOST_SESSIONS: Final = 64

_SECRET_BYTES: Final = 32
_LONGEST_TEXT: Final = 256
"""More than any token or id of a session has; what is longer is not even digested."""

V = TypeVar("V")


@dataclass(slots=True)
class _Session:
    began_at: float
    used_at: float

    def is_open(self, now: float) -> bool:
        return now < min(self.began_at + SESSION_SECONDS, self.used_at + IDLE_SECONDS)


@dataclass(slots=True)
class Sessions:
    """Tokens that were not used yet, and open sessions; where there are too many, the oldest goes.

    ``secret`` makes texts that cannot be guessed.
    """

    secret: Callable[[], str] = lambda: secrets.token_urlsafe(_SECRET_BYTES)
    _tokens: OrderedDict[str, float] = field(default_factory=OrderedDict)
    """Until when a token is good, by its digest, the oldest first."""
    _sessions: OrderedDict[str, _Session] = field(default_factory=OrderedDict)

    def new_token(self, now: float) -> str:
        """A token that opens one session, within ``TOKEN_SECONDS``."""
        token = self.secret()
        _put(self._tokens, _digest(token), now + TOKEN_SECONDS, MOST_TOKENS)
        return token

    def open(self, token: str, now: float) -> str | None:
        """The id of a new session; None for a token that is wrong, was used, or is too old."""
        good_until = self._tokens.pop(_digest(token), None)
        if good_until is None or now >= good_until:
            return None
        session = self.secret()
        _put(self._sessions, _digest(session), _Session(now, now), MOST_SESSIONS)
        return session

    def use(self, session: str, now: float) -> bool:
        """Whether a session of this id is open; it is not idle now."""
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
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
