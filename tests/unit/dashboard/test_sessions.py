"""Tokens that work once, and sessions that end, by a clock that the test turns."""

from __future__ import annotations

from itertools import count

from numalet.dashboard import entrance
from numalet.dashboard.entrance import Sessions


def _numbered() -> Sessions:
    numbers = count()
    return Sessions(secret=lambda: f"secret-{next(numbers)}")


def test_a_token_opens_one_session() -> None:
    door = Sessions()
    token = door.new_token(0)
    session = door.open(token, 1)
    assert session is not None
    assert door.use(session, 2)
    assert door.open(token, 3) is None
    assert not door.use(token, 3)


def test_a_wrong_token_opens_nothing() -> None:
    door = _numbered()
    door.new_token(0)
    assert door.open("secret-1", 0) is None
    assert door.open("", 0) is None
    assert door.open("x" * 100_000, 0) is None
    assert not door.use("x" * 100_000, 0)


def test_a_token_waits_for_minutes_only() -> None:
    door = _numbered()
    first, second = door.new_token(0), door.new_token(0)
    assert door.open(first, entrance.TOKEN_SECONDS - 1) is not None
    assert door.open(second, entrance.TOKEN_SECONDS) is None
    assert door.open(second, 0) is None


def test_an_idle_session_ends() -> None:
    door = _numbered()
    session = door.open(door.new_token(0), 0) or ""
    assert door.use(session, entrance.IDLE_SECONDS - 1)
    assert door.use(session, 2 * entrance.IDLE_SECONDS - 2)
    assert not door.use(session, 3 * entrance.IDLE_SECONDS)
    assert not door.use(session, 2 * entrance.IDLE_SECONDS)


def test_a_session_in_use_ends_after_a_day() -> None:
    door = _numbered()
    session = door.open(door.new_token(0), 0) or ""
    for now in range(0, entrance.SESSION_SECONDS, entrance.IDLE_SECONDS // 2):
        assert door.use(session, now)
    assert not door.use(session, entrance.SESSION_SECONDS)


def test_the_oldest_gives_way() -> None:
    door = _numbered()
    tokens = [door.new_token(0) for _ in range(entrance.MOST_TOKENS + 1)]
    assert door.open(tokens[0], 0) is None
    opened = [door.open(tokens[1], 0) or ""]
    while len(opened) <= entrance.MOST_SESSIONS:
        opened.append(door.open(door.new_token(0), 0) or "")
    assert [door.use(each, 0) for each in opened] == [False] + [True] * entrance.MOST_SESSIONS
