"""What a client can do wrong, on purpose or not: rejected with the right code, agent alive."""

from __future__ import annotations

import contextlib
import errno
import http.client
import json
import os
import resource
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from numalet.core.model.findings import BadInput
from numalet.shared.web import connection
from numalet.wording import kubernetes_api as words
from servers.pods import pod
from servers.served import Api, served

PODS = "/api/v1/namespaces/default/pods"


@contextlib.contextmanager
def _connected(api: Api) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as plug:
        plug.settimeout(20)
        plug.connect(str(api.path))
        yield plug


def _answer(api: Api, request: bytes) -> tuple[int, Any]:
    """Status and body of the answer to these bytes."""
    with _connected(api) as plug:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            plug.sendall(request)
        response = http.client.HTTPResponse(plug)
        response.begin()
        content = response.read()
        is_json = response.headers.get_content_type() == "application/json"
        return response.status, json.loads(content) if is_json else content


def _posted(body: bytes, kind: str = "application/json", path: str = PODS) -> bytes:
    head = f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: {kind}\r\n"
    return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body


@pytest.fixture(autouse=True)
def _alive(api: Api) -> Iterator[None]:
    """Whatever was tried, the agent still decides."""
    yield
    with api.client() as client:
        assert client.post(PODS, pod("afterwards"))["metadata"]["name"] == "afterwards"


def test_the_socket_is_only_its_owners(api: Api) -> None:
    found = api.path.stat()
    assert stat.S_ISSOCK(found.st_mode)
    assert stat.S_IMODE(found.st_mode) == 0o600


@pytest.mark.parametrize(
    ("body", "kind", "code"),
    [
        (b"{", "application/json", 400),
        (b"", "application/json", 400),
        (b"\xff\xfe\x00", "application/json", 400),
        (b'{"kind": "Pod", "kind": "Pod"}', "application/json", 422),
        (b"[" * 100_000, "application/json", 400),
        (b"a: &a [*a]", "application/yaml", 400),
        (b"a: b: c", "application/yaml", 400),
        (b"kind: Pod\n---\nkind: Pod\n", "application/yaml", 400),
        (b"\x00\x01", "application/cbor", 415),
        (b"k8s\0\x0a\x7f", "application/vnd.kubernetes.protobuf", 415),
        (b'{"kind": "Pod", "metadata": 5}', "application/json", 422),
        (b'{"kind": "Pod", "spec": {"containers": "many"}}', "application/json", 422),
        (b'{"kind": "Pod", "metadata": {"name": "\\u0000"}}', "application/json", 422),
    ],
)
def test_a_malformed_body_is_refused(api: Api, body: bytes, kind: str, code: int) -> None:
    status, found = _answer(api, _posted(body, kind))
    assert status == code
    assert (found["kind"], found["status"], found["code"]) == ("Status", "Failure", code)
    assert found["message"]


def test_an_oversize_body_is_refused_unread(api: Api) -> None:
    declared = f"POST {PODS} HTTP/1.1\r\nhost: x\r\ncontent-length: 99999999999\r\n\r\n"
    status, found = _answer(api, declared.encode())
    assert (status, found["reason"]) == (413, "RequestEntityTooLarge")
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    head = f"POST {PODS} HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n".encode()
    status, found = _answer(api, head + chunk * (words.LARGEST_BODY_BYTES // 0x10000 + 2))
    assert (status, found["reason"]) == (413, "RequestEntityTooLarge")


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("GET", "/", 404),
        ("GET", "/api/v1/secrets", 404),
        ("GET", f"{PODS}/../../../../etc/passwd", 404),
        ("GET", f"{PODS}/..%2f..%2fetc%2fpasswd", 404),
        ("GET", f"{PODS}/{'x' * 10_000}", 404),
        ("GET", f"{PODS}/x/log?container=../../x", 404),
        ("DELETE", f"{PODS}/%00", 404),
        ("PUT", f"{PODS}/x", 405),
        ("PATCH", f"{PODS}/x", 415),
        ("DELETE", PODS, 405),
        ("POST", "/healthz", 405),
        ("BREW", "/healthz", 400),
    ],
)
def test_an_unknown_path_or_method_is_reported_as_a_status(
    api: Api, method: str, path: str, code: int
) -> None:
    status, found = _answer(api, f"{method} {path} HTTP/1.1\r\nhost: x\r\n\r\n".encode())
    assert status == code
    if method != "BREW":
        assert (found["kind"], found["code"]) == ("Status", code)


def test_a_head_without_an_end_is_cut_off(api: Api) -> None:
    status, _ = _answer(api, b"GET /healthz HTTP/1.1\r\n" + b"x: y\r\n" * 20_000)
    assert status == 431


def test_the_rest_of_a_long_body_is_no_head(api: Api) -> None:
    body = b"[" * 200_000
    head = _posted(body).removesuffix(body).replace(b"host: x", b"host: x\r\nexpect: 100-continue")
    with _connected(api) as plug:
        plug.sendall(head)
        assert plug.recv(12) == b"HTTP/1.1 100"
        # It has been taken, so the body comes on its own, and mostly in one piece.
        assert plug.recv(100).endswith(b"\r\n\r\n")
        plug.sendall(body)
        assert plug.recv(12) == b"HTTP/1.1 400"


def test_what_is_no_http_is_refused(api: Api) -> None:
    status, _ = _answer(api, b"\x16\x03\x01 hello\r\n\r\n")
    assert status == 400


def test_a_client_that_leaves_in_the_middle_is_forgotten(api: Api) -> None:
    for _ in range(20):
        with _connected(api) as plug:
            plug.sendall(
                f"POST {PODS} HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{{".encode()
            )
        with _connected(api) as plug:
            plug.sendall(f"GET {PODS}?watch=1 HTTP/1.1\r\nhost: x\r\n\r\n".encode())


def test_a_connection_that_says_nothing_is_closed(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "REQUEST_SECONDS", 0.05)
    with served(root / "impatient.sock") as impatient, _connected(impatient) as plug:
        assert plug.recv(1) == b""


@pytest.mark.slow
def test_ten_thousand_connections_are_outlived(api: Api) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 12_000:
        pytest.skip("not so many files may be open here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        with contextlib.ExitStack() as stack:
            for _ in range(10_000):
                plug = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
                plug.connect(str(api.path))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_bug_is_an_internal_error_and_reported(root: Path) -> None:
    (root / "other").mkdir(mode=0o700)
    with served(root / "other" / "agent.sock") as api, api.client() as client:
        api.do(lambda door: setattr(door, "view", lambda: 1 / 0))
        status, found = _answer(api, b"GET /api/v1/nodes HTTP/1.1\r\nhost: x\r\n\r\n")
        assert (status, found["reason"]) == (500, "InternalError")
        assert isinstance(api.bugs[0], ZeroDivisionError)
        client.close()


@pytest.mark.parametrize(
    ("number", "answer", "bugs"),
    [
        (errno.EMFILE, (503, "ServiceUnavailable"), 0),
        (errno.EAGAIN, (503, "ServiceUnavailable"), 0),
        (None, (503, "ServiceUnavailable"), 0),
        (errno.EIO, (500, "InternalError"), 1),
    ],
)
def test_what_the_machine_lacks_for_a_moment_is_no_bug(
    number: int | None, answer: tuple[int, str], bugs: int, root: Path
) -> None:
    def lacking() -> None:
        raise MemoryError if number is None else OSError(number, os.strerror(number))

    (root / "other").mkdir(mode=0o700)
    with served(root / "other" / "agent.sock") as api:
        api.do(lambda door: setattr(door, "view", lacking))
        status, found = _answer(api, b"GET /api/v1/nodes HTTP/1.1\r\nhost: x\r\n\r\n")
        assert (status, found["reason"]) == answer
        assert ("retryAfterSeconds" in found["details"]) == (status == 503)
        assert len(api.bugs) == bugs


@pytest.mark.parametrize("trouble", ["file", "folder-of-all", "long", "no-folder"])
def test_a_socket_that_would_not_be_ours_alone_is_not_made(root: Path, trouble: str) -> None:
    folder = root / "other"
    folder.mkdir(mode=0o700)
    path = folder / "agent.sock"
    match trouble:
        case "file":
            path.write_text("mine")
        case "folder-of-all":
            folder.chmod(0o777)
        case "long":
            path = folder / ("x" * 120)
        case _:
            path = folder / "none" / "agent.sock"
    with pytest.raises(BadInput) as caught, served(path):
        pass
    assert caught.value.findings[0].code == "input/unavailable"


def test_an_old_socket_is_replaced_and_none_is_left(root: Path) -> None:
    path = root / "again.sock"
    for _ in range(2):
        with socket.socket(socket.AF_UNIX) as left:
            left.bind(str(path))
        with served(path) as api, api.client() as client:
            assert client.text("/healthz") == "ok"
        assert not path.exists()
