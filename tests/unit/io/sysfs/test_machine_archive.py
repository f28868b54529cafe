"""Tarballs of machines: honest, broken and hostile ones."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from numalet.core.model.findings import BadInput
from numalet.io import machines
from numalet.io.sysfs import archive
from numalet.io.sysfs.archive import Archive, read_archive

CPU = "sys/devices/system/cpu/cpu0/topology/core_id"
NODE = "sys/devices/system/node/node0/cpulist"


def _tar(files: Mapping[str, bytes], extra: tuple[tarfile.TarInfo, ...] = ()) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as made:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            made.addfile(member, io.BytesIO(content))
        for member in extra:
            made.addfile(member)
    return packed.getvalue()


def _special(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type = kind
    member.linkname = target
    return member


def _read(tmp_path: Path, content: bytes) -> Archive:
    path = tmp_path / "machine.tar"
    path.write_bytes(content)
    return read_archive(path, "machine.tar")


def _refusal(path: Path | str) -> str:
    with pytest.raises(BadInput) as caught:
        machines.open_machine(str(path))
    for finding in caught.value.findings:
        assert str(finding)
    return caught.value.findings[-1].code


MACHINE = _tar({CPU: b"0\n", NODE: b"0\n"})


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_the_compression_is_told_by_the_content(
    tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "any.name"
    path.write_bytes(pack(MACHINE))
    assert machines.open_machine(str(path)).machine.node_ids == (0,)


@pytest.mark.parametrize("prefix", ["", "./", "a/", "./a/b/c/d/", "linux/sys-dump/"])
def test_a_machine_is_found_at_any_depth(tmp_path: Path, prefix: str) -> None:
    found = _read(tmp_path, _tar({prefix + CPU: b"0\n"}))
    (tree,) = found.trees.values()
    assert tree.text(CPU) == "0\n"


def test_a_tarball_of_sys_itself_is_a_machine(tmp_path: Path) -> None:
    found = _read(tmp_path, _tar({"mysys/" + CPU.removeprefix("sys/"): b"0\n"}))
    assert found.trees["mysys"].text(CPU) == "0\n"


def test_proc_belongs_to_the_root_beside_it(tmp_path: Path) -> None:
    content = _tar({f"a/{CPU}": b"0\n", "a/proc/meminfo": b"a", "b/proc/meminfo": b"b"})
    found = _read(tmp_path, content)
    assert list(found.trees) == ["a"]
    assert found.trees["a"].text("proc/meminfo") == "a"


def test_one_of_several_machines_is_chosen_by_its_root(tmp_path: Path) -> None:
    path = tmp_path / "two.tar"
    path.write_bytes(_tar({f"x/one/{NODE}": b"0\n", f"x/two/{NODE}": b"1\n"}))
    machine = machines.open_machine(f"{path}:x/two").machine
    assert machine.nodes[0].cpus == frozenset({1})
    assert machine.source == f"{path}:x/two"
    assert machines.open_machine(f"{path}:x/one/").machine.nodes[0].cpus == frozenset({0})


def test_several_machines_without_a_choice_are_listed(tmp_path: Path) -> None:
    path = tmp_path / "two.tar"
    path.write_bytes(_tar({f"x/one/{NODE}": b"0\n", f"x/two/{NODE}": b"1\n"}))
    with pytest.raises(BadInput) as caught:
        machines.open_machine(str(path))
    (finding,) = caught.value.findings
    assert finding.code == "input/invalid"
    assert str(finding).endswith(f"expected one of: {path}:x/one, {path}:x/two")


def test_a_root_that_is_not_there_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "one.tar"
    path.write_bytes(MACHINE)
    assert _refusal(f"{path}:elsewhere") == "input/not-found"
    assert machines.open_machine(f"{path}:").machine.node_ids == (0,)
    assert machines.open_machine(f"{path}:.").machine.node_ids == (0,)


def test_a_root_of_something_else_than_a_tarball_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("hello")
    assert _refusal(f"{path}:root") == "input/unreadable"


def test_a_tarball_without_a_machine_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "none.tar"
    path.write_bytes(_tar({"README": b"hello"}))
    assert _refusal(path) == "input/not-found"


@pytest.mark.parametrize("name", [f"/{NODE}", f"../{NODE}", f"a/../{NODE}"])
def test_a_name_that_leads_out_is_refused_once(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadInput) as refused:
        _read(tmp_path, _tar({CPU: b"0\n", name: b"1", "../more": b"2"}))

    assert [(f.code, str(f)) for f in refused.value.findings] == [
        (
            "input/invalid",
            f"invalid member {name!r} of the tarball; expected a relative name without '..'",
        )
    ]


def test_a_link_in_place_of_a_file_is_not_followed(tmp_path: Path) -> None:
    link = _special(NODE, tarfile.SYMTYPE, "/etc/passwd")
    found = _read(tmp_path, _tar({CPU: b"0\n"}, (link,)))
    assert found.trees["."].text(NODE) is None
    assert found.trees["."].link(NODE) == "/etc/passwd"


@pytest.mark.parametrize("kind", [tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE])
def test_odd_entries_are_refused(tmp_path: Path, kind: bytes) -> None:
    with pytest.raises(BadInput) as refused:
        _read(tmp_path, _tar({CPU: b"0\n"}, (_special(NODE, kind, CPU),)))

    assert [finding.code for finding in refused.value.findings] == ["input/invalid"]


def test_files_deeper_than_any_of_interest_are_passed_over(tmp_path: Path) -> None:
    deep = "sys/devices/system/cpu/cpu0/a/b/c/d/e"
    found = _read(tmp_path, _tar({CPU: b"0\n", deep: b"1"}))
    assert found.trees["."].text(deep) is None


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("kept", [0.2, 0.5, 0.9, 0.99])
def test_a_tarball_that_is_cut_off_is_refused(
    tmp_path: Path, pack: Callable[[bytes], bytes], kept: float
) -> None:
    files = {f"sys/devices/system/node/node{n}/cpulist": b"%d\n" % n for n in range(50)}
    packed = pack(_tar(files))
    path = tmp_path / "cut.tar"
    path.write_bytes(packed[: int(len(packed) * kept)])
    assert _refusal(path) == "input/unreadable"


@pytest.mark.parametrize("length", [700, 1024, 1536, 2000, 2560])
def test_a_plain_tarball_that_is_cut_off_is_refused(tmp_path: Path, length: int) -> None:
    path = tmp_path / "cut.tar"
    path.write_bytes(MACHINE[:length])
    if length == 2560:
        # Both files and the first block of the end are there; that is an end.
        assert machines.open_machine(str(path)).machine.node_ids == (0,)
    else:
        assert _refusal(path) == "input/unreadable"


def test_a_damaged_header_does_not_end_the_tarball_early(tmp_path: Path) -> None:
    content = bytearray(_tar({CPU: b"0\n", NODE: b"0\n"}))
    content[1024 + 100] ^= 0xFF
    path = tmp_path / "damaged.tar"
    path.write_bytes(content)
    assert _refusal(path) == "input/unreadable"


def test_a_damaged_checksum_at_the_end_is_noticed(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(MACHINE))
    packed[-6] ^= 0xFF
    path = tmp_path / "damaged.tgz"
    path.write_bytes(packed)
    assert _refusal(path) == "input/unreadable"


def test_a_bomb_of_zeros_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MOST_UNPACKED_BYTES", 1 << 20)
    path = tmp_path / "bomb.tgz"
    path.write_bytes(gzip.compress(_tar({CPU: b"0\n", "zeros": bytes(2 << 20)})))
    assert _refusal(path) == "input/too-large"


def test_a_huge_header_is_refused(tmp_path: Path) -> None:
    member = tarfile.TarInfo(CPU)
    member.pax_headers = {"comment": "x" * (3 << 20)}
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as made:
        made.addfile(member)
    path = tmp_path / "bomb.tar"
    path.write_bytes(packed.getvalue())
    assert _refusal(path) == "input/too-large"


def test_a_large_file_of_no_interest_is_passed_over(tmp_path: Path) -> None:
    content = _tar({"first": bytes(3 << 20), CPU: b"0\n", "last": bytes(3 << 20)})
    assert _read(tmp_path, content).trees["."].text(CPU) == "0\n"


def test_a_name_longer_than_any_path_is_passed_over(tmp_path: Path) -> None:
    long = "sys/devices/system/cpu/" * 300 + "x"
    found = _read(tmp_path, _tar({CPU: b"0\n", long: b"1"}))
    assert list(found.trees) == ["."]


def test_one_huge_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "LARGEST_FILE_BYTES", 1000)
    path = tmp_path / "bomb.tar"
    path.write_bytes(_tar({CPU: bytes(1001)}))
    assert _refusal(path) == "input/too-large"


def test_too_many_bytes_of_interest_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "MOST_KEPT_BYTES", 1000)
    path = tmp_path / "bomb.tar"
    path.write_bytes(_tar({CPU: bytes(600), NODE: bytes(600)}))
    assert _refusal(path) == "input/too-large"


def test_too_many_members_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MOST_MEMBERS", 10)
    path = tmp_path / "bomb.tar"
    path.write_bytes(_tar({f"file{n}": b"" for n in range(11)}))
    assert _refusal(path) == "input/too-large"


@pytest.mark.slow
def test_sixty_four_thousand_entries_are_read(tmp_path: Path) -> None:
    links = tuple(
        _special(f"sys/devices/system/memory/memory{n}", tarfile.SYMTYPE, ".")
        for n in range(64_000)
    )
    path = tmp_path / "many.tgz"
    path.write_bytes(gzip.compress(_tar({CPU: b"0\n", NODE: b"0\n"}, links), 1))
    assert machines.open_machine(str(path)).machine.node_ids == (0,)
