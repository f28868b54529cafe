"""The client of an agent when no agent answers, or something that is none."""

from __future__ import annotations

import contextlib
import socket
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from numalet.core.model.findings import BadInput
from numalet.io.agent_client import places, root
from numalet.io.agent_client.client import AgentClient, AgentRefused, segment


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="node") as name:
        yield Path(name)


@contextlib.contextmanager
def _answering(path: Path, *answers: bytes) -> Iterator[None]:
    """A socket that answers one request on each connection, and then closes it."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
        listener.listen()

        def answer() -> None:
            for each in answers:
                plug, _ = listener.accept()
                with plug:
                    plug.recv(65536)
                    plug.sendall(each)

        thread = threading.Thread(target=answer)
        thread.start()
        yield
        thread.join(120)


def _code(client: AgentClient) -> str:
    with pytest.raises(BadInput) as caught:
        client.get("/x")
    return caught.value.findings[0].code


def test_where_there_is_no_socket_there_is_no_agent(folder: Path) -> None:
    assert _code(AgentClient(folder / "none")) == "client/no-agent"
    (folder / "file").touch()
    assert _code(AgentClient(folder / "file" / "agent.sock")) == "client/no-agent"
    assert _code(AgentClient(folder / ("n" * 150))) == "client/no-agent"


def test_a_socket_without_a_listener_is_no_agent(folder: Path) -> None:
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(folder / "left"))
    assert _code(AgentClient(folder / "left")) == "client/no-agent"


def test_an_agent_that_does_not_answer_in_time(folder: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "slow"))
        listener.listen()
        assert _code(AgentClient(folder / "slow", timeout_seconds=0.05)) == "client/timeout"


@pytest.mark.parametrize(
    "answer", [b"", b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{"]
)
def test_an_answer_that_breaks_off(folder: Path, answer: bytes) -> None:
    with _answering(folder / "sock", answer):
        assert _code(AgentClient(folder / "sock")) == "client/broken-off"


def test_a_refusal_that_is_no_status_is_reported_as_it_came(folder: Path) -> None:
    answer = b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 5\r\n\r\nwrong"
    with (
        _answering(folder / "sock", answer),
        AgentClient(folder / "sock") as client,
        pytest.raises(AgentRefused) as caught,
    ):
        client.get("/x")
    assert (caught.value.code, caught.value.reason) == (502, "Bad Gateway")
    assert caught.value.message == "wrong"


def test_a_connection_that_was_closed_meanwhile_is_opened_again(folder: Path) -> None:
    answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"
    with _answering(folder / "sock", answer, answer), AgentClient(folder / "sock") as client:
        assert client.get("/x") == {}
        assert client.get("/x") == {}


def test_a_stream_that_ends_is_told_from_one_that_broke_off(folder: Path) -> None:
    answer = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\none\n\r\n"
    for rest in (b"", b"4\r\nt", b"0\r\n\r\n"):
        with _answering(folder / "sock", answer + rest):
            lines = AgentClient(folder / "sock").stream("/x")
            assert next(lines) == b"one\n"
            with pytest.raises(StopIteration if rest[:1] == b"0" else BadInput):
                next(lines)
        (folder / "sock").unlink()


def test_a_name_is_one_segment_of_a_path() -> None:
    assert segment("../a b?") == "..%2Fa%20b%3F"


def test_the_socket_is_the_one_named_or_that_of_a_root(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert places.socket_path(folder / "s", folder) == folder / "s"
    assert places.socket_path(None, folder) == folder / "agent.sock"
    monkeypatch.setattr(root, "SYSTEM", str(folder / "system"))
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert places.socket_path(None, None) == folder / "system" / "agent.sock"


def test_a_user_means_their_own_agent_else_the_systems(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "SYSTEM_ROOT", folder / "system")
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "mine"))
    own = folder / "mine" / "numalet" / "agent.sock"
    assert places.socket_path(None, None) == own
    (folder / "system").mkdir()
    (folder / "system" / "agent.sock").touch()
    assert places.socket_path(None, None) == folder / "system" / "agent.sock"
    monkeypatch.delenv("XDG_STATE_HOME")
    assert places.default_root() == Path.home() / ".local" / "state" / "numalet"
