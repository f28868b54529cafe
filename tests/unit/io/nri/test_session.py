"""A plugin's connection, against a runtime that behaves and one that does not."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from numalet.io.nri import session
from numalet.io.nri.session import CallError, RegistrationError, Session
from numalet.io.nri.wire import WireError
from numalet.io.rpc import nri_v1alpha1_pb2 as nri
from numalet.io.rpc import ttrpc_pb2 as ttrpc
from running.fake_runtime import FakeRuntime


def refuse(_: bytes) -> bytes:
    raise CallError(session.FAILED_PRECONDITION, "no room")


def parse(payload: bytes) -> bytes:
    return nri.ConfigureRequest.FromString(payload).SerializeToString()


HANDLERS = {"Echo": lambda payload: payload, "Refuse": refuse, "Configure": parse}


class Ends:
    """The runtime, the plugin's session, and what ``run`` raised."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        self.runtime = FakeRuntime(theirs)
        self.session = Session(ours, HANDLERS)
        self.raised: list[BaseException] = []
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        try:
            self.session.run("numalet", "10")
        except (OSError, RegistrationError, WireError) as error:
            self.raised.append(error)


@contextlib.contextmanager
def connected() -> Iterator[Ends]:
    ends = Ends()
    try:
        yield ends
    finally:
        ends.runtime.end.close()
        ends.thread.join(60)
        assert not ends.thread.is_alive()
        ends.session.close()


def test_it_registers_and_answers_while_the_registration_is_pending() -> None:
    with connected() as ends:
        assert ends.runtime.registration() == nri.RegisterPluginRequest(
            plugin_name="numalet", plugin_idx="10"
        )
        request = nri.ConfigureRequest(runtime_name="containerd")
        assert ends.runtime.answer("Echo", request, nri.ConfigureRequest) == request
        assert not ends.session.is_registered
        ends.runtime.accept()
        ends.runtime.answer("Echo", request, nri.ConfigureRequest)
        assert ends.session.is_registered


def test_a_large_answer_is_cut_into_frames() -> None:
    with connected() as ends:
        ends.runtime.registration()
        request = nri.ConfigureRequest(config="x" * 100_000)
        assert ends.runtime.answer("Echo", request, nri.ConfigureRequest) == request
        assert max(ends.runtime.frames) == 4096


@pytest.mark.parametrize(
    ("method", "service", "code"),
    [
        ("Refuse", "nri.pkg.api.v1alpha1.Plugin", 9),
        ("Unknown", "nri.pkg.api.v1alpha1.Plugin", 12),
        ("Echo", "another.Service", 12),
    ],
)
def test_errors_are_answers(method: str, service: str, code: int) -> None:
    with connected() as ends:
        ends.runtime.registration()
        response = ends.runtime.ask(method, nri.ConfigureRequest(), service)
        assert response.status.code == code
        assert response.status.message


def test_a_request_that_cannot_be_decoded_is_refused() -> None:
    with connected() as ends:
        ends.runtime.registration()
        response = ends.runtime.ask("Configure", ttrpc.Request(service="\xff" * 9, payload=b"\xff"))
        assert response.status.code == session.INVALID_ARGUMENT


def test_a_refused_registration_ends_the_session() -> None:
    with connected() as ends:
        ends.runtime.registration()
        ends.runtime.accept(error="invalid plugin index")
        ends.thread.join(60)
        assert isinstance(ends.raised[0], RegistrationError)
        assert str(ends.raised[0]) == "invalid plugin index"


@pytest.mark.parametrize("payload", [b"\xff\xff", b"\x0a\x7f"])
def test_a_broken_message_ends_the_session(payload: bytes) -> None:
    with connected() as ends:
        ends.runtime.registration()
        ends.runtime.send(1, 1, 1, payload)
        ends.thread.join(60)
        assert isinstance(ends.raised[0], WireError)


def test_answers_to_nothing_are_ignored() -> None:
    with connected() as ends:
        ends.runtime.registration()
        ends.runtime.send(2, 99, 2, b"")
        ends.runtime.send(7, 1, 1, b"")
        ends.runtime.answer("Echo", nri.ConfigureRequest(), nri.ConfigureRequest)


def test_it_ends_when_the_runtime_is_gone() -> None:
    with connected() as ends:
        ends.runtime.registration()
    assert ends.raised == []


def test_another_thread_can_end_it() -> None:
    with connected() as ends:
        ends.runtime.registration()
        ends.session.close()
        ends.thread.join(60)
        assert not ends.thread.is_alive()


def test_connecting_to_nothing_raises(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        session.connected(tmp_path / "nri.sock")
