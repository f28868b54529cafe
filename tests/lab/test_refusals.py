"""``numalet lab`` without a guest: the list, and what is refused before one is started."""

from __future__ import annotations

import platform
import shutil
from pathlib import Path

import msgspec
import pytest

from cli.commands import Runner
from numalet.insight.output.machine_document import LabListDocument
from numalet.lab import host
from numalet.lab.topology import TOPOLOGIES


@pytest.fixture
def numalet(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Runner:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(host, "missing", tuple)
    return Runner(capsys)


def test_the_list_has_every_topology(numalet: Runner) -> None:
    ended = numalet("lab", "list")
    assert ended.status == 0
    assert all(f"\n{name} " in ended.out for name in TOPOLOGIES)


def test_the_list_is_a_document(numalet: Runner) -> None:
    text = numalet("lab", "list", "-o", "json").out
    document = msgspec.json.decode(text, type=LabListDocument)
    tray = next(each for each in document.topologies if each.name == "36n")
    assert len(tray.numa_nodes) == 36
    assert tray.numa_nodes[1].cpus == "2-3"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "-t", "4n8c", "--", "true"), "did you mean 4n8c-distances"),
        (("run", "-t", "2n4c"), "no command"),
        (("run", "--node-memory", "1=9Ti", "--", "true"), "9437952 MiB"),
        (("run", "--hugepages", "1Gi=0:4000", "--", "true"), "this machine has"),
        (("run", "--hugepages", "2Mi", "--", "true"), "invalid huge pages"),
        (("run", "--out", "/no/such", "--", "true"), "no such directory: '/no/such'"),
        (("run", "--root", "/no/such", "--", "true"), "no such directory: '/no/such'"),
        (("shell",), "needs a terminal"),
        (("boot", "-m", "2n200c", "--memory-per-node", "1Gi", "--", "true"), "400 CPUs"),
        (("boot", "-m", "2n2c", "--memory", "1Mi", "--", "true"), "invalid guest memory '1Mi'"),
    ],
)
def test_what_can_not_be_is_refused_before_anything_starts(
    numalet: Runner, words: tuple[str, ...], said: str
) -> None:
    ended = numalet("lab", *words)
    assert (ended.status, ended.out) == (2, "")
    assert said in " ".join(ended.err.split())


def test_another_system_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    (finding,) = host.missing()
    assert finding.code == "input/not-supported"
    assert str(finding).endswith("this is Darwin")


def test_all_that_is_missing_is_one_line_to_type(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(host, "BUSYBOX", tmp_path / "none")
    other, packages = host.missing()
    assert "needs x86-64" in str(other)
    assert str(packages).endswith("apt-get install qemu-system-x86 util-linux busybox-static")


def test_a_busybox_with_libraries_will_not_do(tmp_path: Path) -> None:
    busybox = tmp_path / "busybox"
    busybox.write_bytes(b"\x7fELF" + b"\0" * 60 + b"/lib64/ld-linux-x86-64.so.2\0")
    assert not host._is_static(busybox)
    busybox.write_bytes(b"\x7fELF" + b"\0" * 60)
    assert host._is_static(busybox)
