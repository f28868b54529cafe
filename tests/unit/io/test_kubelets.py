"""Whether a kubelet is at work in a directory: processes, and sockets that answer."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from numalet.io import kubelets


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    """An empty proc file system, with a file that is no process."""
    folder = tmp_path / "proc"
    folder.mkdir()
    (folder / "uptime").write_text("1 1")
    return folder


@pytest.fixture
def root_dir(tmp_path: Path) -> Path:
    """A kubelet's root directory."""
    folder = tmp_path / "host/var/lib/kubelet"
    folder.mkdir(parents=True)
    return folder


def process(proc: Path, name: str, *arguments: str, root: Path | None = None) -> Path:
    """A process in the proc file system."""
    folder = proc / str(1000 + len(list(proc.iterdir())))
    folder.mkdir()
    (folder / "comm").write_text(f"{name}\n")
    (folder / "cmdline").write_bytes("".join(f"{each}\0" for each in arguments).encode())
    if root is not None:
        (folder / "root").symlink_to(root)
    return folder


def test_nobody_is_at_work_where_nobody_is(proc: Path, root_dir: Path) -> None:
    process(proc, "bash", "bash", f"--root-dir={root_dir}")

    assert None is kubelets.at_work_in(root_dir, proc)
    assert None is kubelets.at_work_in(root_dir, proc / "missing")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--root-dir={}"],
        ["--root-dir", "{}"],
        ["--root-dir=/elsewhere", "--v=2", "--root-dir={}"],
    ],
)
def test_a_kubelet_of_this_root_directory_is_at_work(
    proc: Path, root_dir: Path, arguments: list[str]
) -> None:
    given = [each.format(root_dir) for each in arguments]
    folder = process(proc, "kubelet", "/usr/bin/kubelet", *given, root=Path("/"))

    assert f"process {folder.name}, kubelet" == kubelets.at_work_in(root_dir, proc)


def test_a_kubelet_of_another_directory_is_not_in_the_way(proc: Path, root_dir: Path) -> None:
    process(proc, "kubelet", "kubelet", "--root-dir=/elsewhere", root=Path("/"))

    assert None is kubelets.at_work_in(root_dir, proc)


def test_the_root_directory_is_the_one_of_the_process(proc: Path, root_dir: Path) -> None:
    host = root_dir.parents[2]
    process(proc, "kubelet", "kubelet", "--config=x", root=host)

    assert kubelets.at_work_in(root_dir, proc) is not None
    assert None is kubelets.at_work_in(root_dir.parent, proc)


def test_without_leave_to_look_the_names_are_compared(proc: Path, root_dir: Path) -> None:
    process(proc, "kubelet", "kubelet", f"--root-dir={root_dir}/../kubelet")

    assert kubelets.at_work_in(root_dir, proc) is not None


def test_a_process_that_has_ended_does_not_count(proc: Path, root_dir: Path) -> None:
    process(proc, "kubelet", root=root_dir.parents[2])

    assert None is kubelets.at_work_in(root_dir, proc)
    (proc / "77").mkdir()
    assert None is kubelets.at_work_in(root_dir, proc)


@pytest.mark.parametrize("name", ["k3s-server", "kubelite"])
def test_a_kubelet_inside_another_program_counts(proc: Path, root_dir: Path, name: str) -> None:
    process(proc, name, name, "server")
    assert kubelets.at_work_in(root_dir, proc) is not None
    assert None is kubelets.at_work_in(root_dir.parent, proc)


@pytest.mark.parametrize(
    "arguments", [["--kubelet-arg=root-dir={}"], ["--kubelet-arg", "root-dir={}"]]
)
def test_arguments_are_passed_on_to_a_kubelet(
    proc: Path, tmp_path: Path, arguments: list[str]
) -> None:
    given = [each.format(tmp_path) for each in arguments]
    process(proc, "k3s-server", "k3s", "server", *given, root=Path("/"))

    assert kubelets.at_work_in(tmp_path, proc) is not None


def test_a_command_line_that_vanishes_counts_as_a_kubelet(
    proc: Path, root_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process(proc, "kubelet", "kubelet")
    reads = iter((b"kubelet\0",))

    def read_bytes(_path: Path) -> bytes:
        try:
            return next(reads)
        except StopIteration:
            raise PermissionError from None

    monkeypatch.setattr(Path, "read_bytes", read_bytes)
    assert kubelets.at_work_in(root_dir, proc) is not None


@pytest.fixture
def server(root_dir: Path) -> Iterator[socket.socket]:
    """A socket where the kubelet has one for device plugins."""
    folder = root_dir / "device-plugins"
    folder.mkdir()
    opened = os.open(folder, os.O_PATH)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(f"/proc/self/fd/{opened}/kubelet.sock")
        os.close(opened)
        yield listening


def test_a_socket_that_answers_counts(proc: Path, root_dir: Path, server: socket.socket) -> None:
    assert None is kubelets.at_work_in(root_dir, proc)
    server.listen()
    assert kubelets.at_work_in(root_dir, proc) == "device-plugins/kubelet.sock answers"


def test_a_file_that_is_no_socket_does_not_count(proc: Path, root_dir: Path) -> None:
    folder = root_dir / "pod-resources"
    folder.mkdir()
    (folder / "kubelet.sock").write_text("")

    assert None is kubelets.at_work_in(root_dir, proc)


def test_a_socket_that_can_not_be_asked_counts(
    proc: Path, root_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root_dir / "pod-resources").mkdir()

    def connect(_socket: object, _address: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(socket.socket, "connect", connect)
    expected = "pod-resources/kubelet.sock cannot be queried: Permission denied"
    assert expected == kubelets.at_work_in(root_dir, proc)


def test_the_configuration_is_the_one_on_the_command_line(proc: Path, root_dir: Path) -> None:
    process(proc, "bash", "bash", "--config=/no")
    host = root_dir.parents[2]
    words = ["kubelet", f"--root-dir={root_dir}", "--config=/etc/a.yaml", "--config", "/etc/b.yaml"]
    folder = process(proc, "kubelet", *words, root=host)
    (root_dir / "config.yaml").write_text("")
    found = kubelets.config_file(root_dir, kubelets.process_of(root_dir, proc))
    assert folder / "root/etc/b.yaml" == found


def test_without_one_it_is_where_kubeadm_has_it(proc: Path, root_dir: Path) -> None:
    assert kubelets.config_file(root_dir, kubelets.process_of(root_dir, proc)) is None
    (root_dir / "config.yaml").write_text("")
    process(proc, "kubelet", "kubelet", "--root-dir=/elsewhere")
    # Flags of a larger program are its own.
    process(proc, "k3s", "k3s", "--config=/etc/k3s.yaml", f"--kubelet-arg=root-dir={root_dir}")
    assert root_dir / "config.yaml" == kubelets.config_file(
        root_dir, kubelets.process_of(root_dir, proc)
    )


def test_flags_and_start_of_a_kubelet_are_known(proc: Path, root_dir: Path) -> None:
    assert kubelets.process_of(root_dir, proc) is None
    words = ["kubelet", f"--root-dir={root_dir}", "--cpu-cfs-quota", "--v", "2", "--config=k.yaml"]
    folder = process(proc, "kubelet", *words)
    (folder / "stat").write_text(f"{folder.name} (ku) be (let) S " + "0 " * 18 + "4711 0")
    found = kubelets.process_of(root_dir, proc)
    assert found is not None
    assert ("v", "2") in found.flags
    assert found.values("cpu-cfs-quota") == ("true",)
    assert found.started_ticks == 4711
    # What is no absolute path begins where the kubelet was started.
    assert folder / "cwd" / "k.yaml" == kubelets.config_file(root_dir, found)


def test_the_name_of_the_node_is_the_one_on_the_command_line(proc: Path, root_dir: Path) -> None:
    assert kubelets.node_name(root_dir, proc) == ""
    process(proc, "kubelet", "kubelet", f"--root-dir={root_dir}", "--hostname-override", " Node-7 ")
    assert kubelets.node_name(root_dir, proc) == "node-7"
