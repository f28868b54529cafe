"""Which command lines of ``numalet run`` go to an agent without the engine, and with which pod."""

from __future__ import annotations

import json
import os
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from numalet.agent.run import direct
from numalet.cli import direct_run
from numalet.io import owner_programs
from numalet.io.agent_client import root as root_folder

PLAIN = ["--cpus", "2", "--memory=4Gi", "-q", "--root", "/r", "--", "./app", "--cpus", "x"]


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without other managers, whatever runs next to this test."""
    monkeypatch.setattr(owner_programs, "process_names", lambda: iter(("sh",)))
    monkeypatch.setattr(owner_programs, "NRI_SOCKET", "/nowhere/nri.sock")
    monkeypatch.setattr(root_folder, "usual", lambda: iter(()))


@contextmanager
def answering(root: Path, content: bytes) -> Iterator[list[bytes]]:
    """An agent of this folder that gives one answer, and the requests that it gets."""
    requests: list[bytes] = []
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(root / "agent.sock"))
        listening.listen()

        def answer() -> None:
            connection, _ = listening.accept()
            with connection:
                got = connection.recv(1 << 16)
                _, _, body = got.partition(b"\r\n\r\n")
                length = int(got.partition(b"Content-Length: ")[2].split()[0])
                while len(body) < length:
                    body += connection.recv(1 << 16)
                requests.extend((got.partition(b"\r\n")[0], body))
                connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + content)

        thread = threading.Thread(target=answer)
        thread.start()
        yield requests
        thread.join()


@pytest.fixture
def root() -> Iterator[Path]:
    # The address of a socket has 107 bytes at most.
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def parsed(*words: str) -> Any:
    request = direct_run._parsed(words)
    return None if request is None else (request.amounts, [*request.command], request.is_quiet)


def test_plain_options_are_read_up_to_the_command() -> None:
    amounts = {"cpu": "2", "memory": "4Gi"}
    assert parsed(*PLAIN) == (amounts, ["./app", "--cpus", "x"], True)
    assert parsed("--cpus=1500m", "app", "--", "x") == ({"cpu": "1500m"}, ["app", "--", "x"], False)


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--help",),
        ("--cpus",),
        ("--cpus", "2"),
        ("--cpus", "2", "--"),
        ("app",),
        ("--memory", "4Gi", "--", "app"),
        ("--cpus", "0", "--", "app"),
        ("--cpus", "-1", "--", "app"),
        ("--cpus", "1.5", "--", "app"),
        ("--cpus", "1Gi", "--", "app"),
        ("--cpus", "²", "--", "app"),
        ("--cpus", "2", "--cpus", "3", "--", "app"),
        ("--cpus", "2", "-q", "--quiet", "--", "app"),
        ("--cpus", "2", "-q=x", "--", "app"),
        ("--cpus", "2", "--memory", "64", "--", "app"),
        ("--cpus", "2", "--root=", "--", "app"),
        ("--cpus", "2", "--wait", "--", "app"),
        ("--cpus", "2", "--env", "openmp", "--", "app"),
        ("--cpus", "2", "-n", "4", "--", "app"),
        ("--cpus", "2", "-c", "k.yaml", "--", "app"),
    ],
)
def test_everything_else_is_left_to_the_whole_command(words: tuple[str, ...]) -> None:
    assert parsed(*words) is None
    assert direct_run.run(words) is None


def test_a_cpu_list_is_read() -> None:
    assert direct_run._cpus({"cpus": "0-2,8", "shared_cpus": ""}) == {0, 1, 2, 8}
    assert direct_run._cpus({"cpus": "", "shared_cpus": "3"}) == {3}
    assert direct_run._cpus({"cpus": "", "shared_cpus": ""}) == set()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no document",
        b'{"kind": "Status", "code": 422}',
        b'{"admitted": false}',
        # As from an agent of the release before.
        b'{"admitted": true}',
    ],
)
def test_an_answer_that_is_no_place_is_left_to_the_whole_command(
    root: Path, content: bytes
) -> None:
    with answering(root, content) as requests:
        assert direct_run.run(["--cpus", "2", "--root", str(root), "--", "/bin/app", "x"]) is None
    line, body = requests
    pod = json.loads(body)
    assert line.startswith(b"POST /apis/numalet.dev/v1alpha1/namespaces/run/runs?pid=")
    assert f"pid={os.getpid()}&".encode() in line
    assert pod["spec"]["containers"][0]["resources"]["limits"] == {"cpu": "2"}
    assert pod["metadata"]["name"].startswith("app-")
    # It asks for the same pod, so the agent repeats its answer.
    assert direct.pod_uid() == pod["metadata"]["uid"] != direct.pod_uid()


def test_without_an_agent_nothing_is_asked(root: Path) -> None:
    assert direct_run.run(["--cpus", "2", "--root", str(root), "--", "app"]) is None
    assert direct_run.run(["--cpus", "2", "--root", str(root / "none"), "--", "app"]) is None
    assert direct.pod_uid() != direct.pod_uid()


def test_an_order_that_does_not_come_is_left_to_the_whole_command(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(direct, "_ORDER_SECONDS", 0.0)
    with answering(root, b'{"admitted": true, "environment": {"A": ""}}') as requests:
        assert direct_run.run(["--cpus", "2", "--root", str(root), "--", "app"]) is None
    assert direct.pod_uid() == json.loads(requests[1])["metadata"]["uid"]


def test_a_kubelet_or_another_manager_is_left_to_the_whole_command(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def near(name: str, **quiet: bool) -> bool:
        monkeypatch.setattr(owner_programs, "process_names", lambda: iter(("sh", name)))
        return owner_programs.may_be_near(str(root), **quiet)

    assert [near(name, only_kubelets=True) for name in ("kubelet", "k3s", "slurmd", "bash")] == [
        True,
        True,
        False,
        False,
    ]
    # The kernel cuts the names of processes.
    assert near("nri-resource-po", only_kubelets=False)
    assert not near("bash", only_kubelets=False)
    (root / "pod-resources").mkdir()
    (root / "pod-resources" / "kubelet.sock").touch()
    assert near("bash", only_kubelets=True)


def test_another_agent_is_left_to_the_whole_command(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl

    other = root / "other"
    other.mkdir()
    monkeypatch.setattr(root_folder, "usual", lambda: iter((str(other), "/nowhere")))
    assert not direct._may_be_doubled(str(root))
    with (other / "node-state.lock").open("w") as lock:
        assert not direct._may_be_doubled(str(root))
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert direct._may_be_doubled(str(root))
        assert not direct._may_be_doubled(str(other))
    assert direct._may_be_doubled("/nowhere")


def test_this_process_is_among_the_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    own = Path("/proc/self/comm").read_text().strip()
    assert own in {*owner_programs.process_names()}
