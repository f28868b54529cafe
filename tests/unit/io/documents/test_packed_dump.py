"""Dumps that are compressed, or tarballs of a folder: the same objects, and no bomb unpacks."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.bad_inputs import refused_with
from numalet.core.model.findings import Severity
from numalet.io import packed
from numalet.io.documents.cluster import cluster_dump
from values import kube_lists

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "plain": bytes,
}


def node(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}


def listed(*names: str) -> bytes:
    return kube_lists.kubectl_json([node(name) for name in names]).encode()


def tarball(files: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        link = tarfile.TarInfo("must-gather/link.json")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    return made.getvalue()


GATHERED = {
    "must-gather/timestamp": b"x",
    "must-gather/nodes/a.yaml": b"apiVersion: v1\nkind: Node\nmetadata: {name: a}\n",
    "must-gather/nodes/bad.json": b"{",
    "must-gather/nodes/b.json": listed("b", "c"),
    "must-gather/host_service_logs/log.txt": b"{",
}


@pytest.fixture(params=PACKERS)
def pack(request: pytest.FixtureRequest) -> Callable[[bytes], bytes]:
    """Every form of compression, and none."""
    return PACKERS[str(request.param)]


def nodes(*paths: Path | str) -> set[str]:
    """Names of the nodes in these dumps."""
    return set(cluster_dump.load(map(str, paths)).nodes)


def test_a_compressed_file_is_a_dump(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "dump.json.gz"
    path.write_bytes(pack(listed("a", "b")))
    assert nodes(path) == {"a", "b"}


def test_a_tarball_is_what_its_folder_is(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "must-gather.tar.gz"
    path.write_bytes(pack(tarball(GATHERED)))
    for name, content in GATHERED.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    read = cluster_dump.load([str(path)])
    assert set(read.nodes) == {"a", "b", "c"}
    assert nodes(tmp_path / "must-gather") == {"a", "b", "c"}
    (note,) = read.notes
    assert note.severity is Severity.WARNING
    assert note.where.document == f"{path}:must-gather/nodes/bad.json"


def test_a_compressed_file_in_a_folder_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.json.gz").write_bytes(gzip.compress(listed("a")))
    assert nodes(tmp_path) == {"a"}


def test_a_compressed_dump_comes_from_standard_input(
    monkeypatch: pytest.MonkeyPatch, pack: Callable[[bytes], bytes]
) -> None:
    given = io.TextIOWrapper(io.BytesIO(pack(listed("a"))))
    monkeypatch.setattr("sys.stdin", given)
    assert nodes("-") == {"a"}


@pytest.mark.parametrize("form", ["gz", "bz2", "xz"])
@pytest.mark.parametrize("content", [listed(*map(str, range(300))), tarball(GATHERED)])
def test_a_cut_or_damaged_file_is_a_finding(tmp_path: Path, form: str, content: bytes) -> None:
    whole = PACKERS[form](content)
    path = tmp_path / "dump"
    for broken in (whole[: len(whole) // 2], whole[:20], whole[:30] + b"\xff" * 30 + whole[60:]):
        path.write_bytes(broken)
        with refused_with("input/(unreadable|invalid)"):
            nodes(path)


def test_a_cut_tarball_is_a_finding(tmp_path: Path) -> None:
    path = tmp_path / "dump.tar"
    path.write_bytes(tarball(GATHERED)[:1700])
    with refused_with("input/unreadable", "damaged or truncated"):
        nodes(path)


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "ALWAYS_UNPACKED_BYTES", 1 << 20)
    for content in (b"[" + bytes(8 << 20), tarball({"a.json": b" " * (8 << 20)})):
        path = tmp_path / "bomb.gz"
        path.write_bytes(gzip.compress(content))
        with refused_with("input/too-large", "unpacks to more than"):
            nodes(path)


def test_limits_of_all_bytes_members_and_headers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "dump"
    monkeypatch.setattr(cluster_dump, "MOST_UNPACKED_BYTES", 4000)
    path.write_bytes(gzip.compress(listed(*map(str, range(100)))))
    with refused_with("input/too-large", "unpacks to more than"):
        nodes(path)
    monkeypatch.undo()
    monkeypatch.setattr(cluster_dump, "MOST_MEMBERS", 3)
    path.write_bytes(tarball(GATHERED))
    with refused_with("input/too-large", "unpacks to more than"):
        nodes(path)
    monkeypatch.undo()
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.PAX_FORMAT) as archive:
        member = tarfile.TarInfo("a.json")
        member.pax_headers = {"comment": "x" * (8 << 20)}
        archive.addfile(member)
    path.write_bytes(made.getvalue())
    with refused_with("input/too-large", "unpacks to more than"):
        nodes(path)
