"""What the server takes of uvicorn without its being documented is as it was: see ADR 0016."""

from __future__ import annotations

import asyncio
import inspect
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from numalet.shared.web import connection, http_service

OVERRIDDEN = [
    (connection.Connection, HttpToolsProtocol, "connection_made"),
    (connection.Connection, HttpToolsProtocol, "connection_lost"),
    (connection.Connection, HttpToolsProtocol, "data_received"),
    (connection.Connection, HttpToolsProtocol, "on_message_begin"),
    (connection.Connection, HttpToolsProtocol, "on_headers_complete"),
    (connection.Connection, HttpToolsProtocol, "on_message_complete"),
    (connection.Connection, HttpToolsProtocol, "pause_writing"),
    (connection.Connection, HttpToolsProtocol, "resume_writing"),
    (http_service._Server, uvicorn.Server, "startup"),
    (http_service._Server, uvicorn.Server, "shutdown"),
    (http_service._Server, uvicorn.Server, "capture_signals"),
]
OURS = {
    *("for_probes", "requested", "lost", "rank", "end_stream", "make_connection", "acceptor"),
    *("_deadline", "_head_bytes", "_heads", "_in_body", "_in_message", "_is_stalled", "_is_idle"),
    *("_refusal", "_await_rest", "_await_nothing", "_give_up", "_made"),
}
PROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"


@pytest.fixture
def protocol() -> HttpToolsProtocol:
    """A connection of uvicorn's own class."""
    config = uvicorn.Config(app=lambda: None, log_config=None, ws="none", lifespan="off")
    loop = asyncio.new_event_loop()
    loop.close()
    return HttpToolsProtocol(config, ServerState(), {}, loop)


def functions(owner: type) -> set[str]:
    return {name for name, value in vars(owner).items() if inspect.isfunction(value)}


def parameters(function: Callable[..., Any]) -> list[str]:
    return list(inspect.signature(function).parameters)


@pytest.mark.parametrize(("ours", "theirs", "name"), OVERRIDDEN)
def test_what_is_overridden_is_there_and_takes_the_same(
    ours: type, theirs: type, name: str
) -> None:
    assert parameters(getattr(theirs, name)) == parameters(getattr(ours, name))


def test_every_method_is_one_that_overrides_or_one_of_ours() -> None:
    overridden = {name for _, _, name in OVERRIDDEN}
    there = functions(connection.Connection) | functions(http_service._Server)
    assert overridden | (OURS & there) == there


def test_no_name_of_ours_is_one_of_uvicorn(protocol: HttpToolsProtocol) -> None:
    assert set() == OURS & {*dir(protocol), *vars(protocol)}


def test_what_is_read_is_there(protocol: HttpToolsProtocol) -> None:
    read = {"app", "connections", "cycle", "headers", "loop", "parser", "transport"}
    assert read <= vars(protocol).keys()
    assert "connections" in vars(ServerState())
    made = RequestResponseCycle.__init__.__code__
    assert {"more_body", "response_started", "response_complete"} <= {*made.co_names}


def test_the_project_takes_no_release_that_was_not_tried() -> None:
    dependencies = tomllib.loads(PROJECT.read_text())["project"]["dependencies"]
    (wanted,) = [each for each in dependencies if each.startswith("uvicorn")]
    assert "<" in wanted
    below = wanted.partition("<")[2]
    assert [*map(int, uvicorn.__version__.split(".")[:2])] < [*map(int, below.split("."))]
