"""A guest from start to end, and the kernel it boots, with stand-ins for the programs.

The stand-ins are scripts named as QEMU and apt: what is tested is that they are started, heard,
ended and cleaned up after; ``test_faults`` does the same with the real ones.
"""

from __future__ import annotations

import lzma
import os
import struct
import threading
from collections.abc import Callable
from pathlib import Path, PurePosixPath

import pytest

from harness.bad_inputs import refused_with
from lab.quiet_watch import QuietWatch
from numalet.cli import main
from numalet.core.model.findings import BadInput
from numalet.lab import guest, host, kernel_cache
from numalet.lab.guest import EndedGuest, Ending
from numalet.lab.request import GuestRequest
from numalet.lab.topology import topology_named

QEMU = """#!/bin/sh
while [ $# -gt 0 ]; do
  case "$1" in
    -initrd) token=$(grep -a -o 'lab_token=[0-9a-f]*' "$2"); token=${token#lab_token=} ;;
    file,id=console,path=*) console=${1#file,id=console,path=} ;;
    file,id=errors,path=*) errors=${1#file,id=errors,path=} ;;
  esac
  shift
done
say() { printf '\\036%s %s\\n' "$token" "$*"; }
"""
APT_CACHE = """#!/bin/sh
printf 'Package: linux-image-amd64\\nVersion: 9-1\\n'
printf 'Depends: linux-image-9-amd64 (= @VERSION@)\\n'
"""
APT_GET = """#!/bin/sh
for last; do :; done
echo "$last" >> @LOG@
touch kernel.deb
"""
DPKG_DEB = """#!/bin/sh
cp -r @TREE@ "$3"
"""


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of programs that come before all others."""
    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setattr(host, "BUSYBOX", folder / "busybox")
    put(folder, "busybox", "\x7fELF")
    return folder


def put(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text)
    (folder / name).chmod(0o755)


def put_apt(programs: Path, version: str = "9.1-1") -> Path:
    """Programs that fetch a package; the file in which they note what was fetched."""
    tree, log = programs.parent / "tree", programs.parent / "log"
    put_tree(tree)
    log.touch()
    put(programs, "apt-cache", APT_CACHE.replace("@VERSION@", version))
    put(programs, "apt-get", APT_GET.replace("@LOG@", str(log)))
    put(programs, "dpkg-deb", DPKG_DEB.replace("@TREE@", str(tree)))
    return log


def put_tree(tree: Path) -> None:
    """The files of a kernel package, as far as they matter."""
    modules = tree / "lib" / "modules" / "9"
    modules.mkdir(parents=True, exist_ok=True)
    (tree / "boot").mkdir(exist_ok=True)
    payload = lzma.compress(b"\x7fELF kernel")
    header = bytearray(1024)
    header[0x1F1] = 1
    header[0x202:0x206] = b"HdrS"
    struct.pack_into("<II", header, 0x248, 0, len(payload) + 4)
    (tree / "boot" / "vmlinuz-9").write_bytes(bytes(header) + payload + b"size")
    (modules / "modules.builtin").write_text("kernel/overlay.ko\n")
    for name in ("virtio_pci", "9pnet_virtio"):
        (modules / f"{name}.ko").write_bytes(b"\0depends=\0")
    (modules / "9p.ko.xz").write_bytes(lzma.compress(b"\0depends=9pnet-virtio\0"))


def run(programs: Path, script: str, *, seconds: float = 60.0) -> tuple[EndedGuest, QuietWatch]:
    """One guest of a stand-in for QEMU."""
    put(programs, "qemu-system-x86_64", QEMU + script)
    request = GuestRequest(
        topology=topology_named("2n4c"),
        command=("true",),
        folder=PurePosixPath("/"),
        timeout_seconds=seconds,
    )
    watch = QuietWatch()
    return guest.run(request, watch, programs.parent / "cache"), watch


def test_the_status_is_the_commands_own(programs: Path) -> None:
    put_apt(programs)
    ended, watch = run(programs, "say ready; echo out; echo err > $errors; say exit 42; sleep 60")
    assert (ended.ending, ended.status) == (Ending.EXITED, 42)
    assert ended.boot_seconds is not None
    assert sorted(watch.printed.decode().splitlines()) == ["err", "out"]


def test_a_guest_that_dies_leaves_its_last_words(programs: Path) -> None:
    put_apt(programs)
    script = "seq 3000 > $console; echo qemu is sorry >&2; printf unfinished; exit 1"
    ended, watch = run(programs, script)
    assert (ended.ending, ended.status) == (Ending.DIED, guest.DIED)
    assert ended.boot_seconds is None
    assert ended.console.endswith("3000\nqemu is sorry\n")
    assert len(ended.console) < 5000
    assert watch.printed == b"unfinished"


@pytest.mark.slow
def test_a_guest_is_ended_when_its_time_is_up(programs: Path) -> None:
    put_apt(programs)
    ended, _ = run(programs, "echo waiting > $console; exec sleep infinity", seconds=2)
    assert (ended.ending, ended.status) == (Ending.TIMED_OUT, guest.TIMED_OUT)
    assert ended.console == "waiting\n"


def test_an_error_of_who_watches_ends_the_guest(
    programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_apt(programs)

    def interrupted(self: QuietWatch, data: bytes) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(QuietWatch, "output", interrupted)
    pid = programs.parent / "pid"
    with pytest.raises(KeyboardInterrupt):
        run(programs, f"echo $$ > {pid}; echo hello; exec sleep 60")
    assert not Path(f"/proc/{int(pid.read_text())}").exists()


_GUESTS = ("run", "boot -m 2n1c --memory-per-node 1Gi")
_DYING = "echo sorry > $console; exit 1"
_ENDLESS = "say ready; exec sleep 60"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "script", "status", "said"),
    [
        ("run", "say ready; echo out; echo err > $errors; say exit 42", 42, "err\n"),
        *((words, _DYING, 125, "guest stopped before its command ended") for words in _GUESTS),
        *((words, _ENDLESS, 124, "guest stopped after 2 s") for words in _GUESTS),
    ],
)
def test_the_command_line_ends_as_the_guest_does(
    programs: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
    words: str,
    script: str,
    status: int,
    said: str,
) -> None:
    put_apt(programs)
    put(programs, "qemu-system-x86_64", QEMU + script)
    monkeypatch.setenv("NUMALET_LAB_CACHE", str(programs.parent / "cache"))
    seconds = "2" if status == 124 else "60"
    assert status == main.run(["lab", *words.split(), "--timeout", seconds, "--", "true"])
    out, err = capfdbinary.readouterr()
    assert out == (b"out\n" if status == 42 else b"")
    assert b"fetching linux-image-9-amd64 once" in err
    assert said.encode() in err


def fetched(programs: Path) -> list[str]:
    return sorted(path.name for path in (programs.parent / "cache").iterdir())


def kernel(programs: Path, *modules: str) -> tuple[str, QuietWatch]:
    watch = QuietWatch()
    with kernel_cache.kernel(programs.parent / "cache", modules, watch) as found:
        assert found.vmlinux.read_bytes() == b"\x7fELF kernel"
        return found.name, watch


def test_a_kernel_is_fetched_once(programs: Path) -> None:
    log = put_apt(programs)
    assert kernel(programs)[0] == kernel(programs)[0] == "linux-image-9-amd64_9.1-1.v1"
    assert log.read_text() == "linux-image-9-amd64=9.1-1\n"
    assert fetched(programs) == ["linux-image-9-amd64_9.1-1.v1"]


def test_a_new_version_takes_the_place_of_one_that_is_not_used(programs: Path) -> None:
    put_apt(programs)
    kernel(programs)
    put_apt(programs, "9.2-1")
    kernel(programs)
    assert fetched(programs) == ["linux-image-9-amd64_9.2-1.v1"]


def test_an_old_version_stays_while_a_guest_runs_on_it(programs: Path) -> None:
    put_apt(programs)
    cache = programs.parent / "cache"
    with kernel_cache.kernel(cache, (), QuietWatch()) as old:
        put_apt(programs, "9.2-1")
        kernel(programs)
        assert old.vmlinux.exists()
    put_apt(programs, "9.3-1")
    kernel(programs)
    assert fetched(programs) == ["linux-image-9-amd64_9.3-1.v1"]


def test_other_modules_are_another_kernel(programs: Path) -> None:
    put_apt(programs)
    kernel(programs)
    (programs.parent / "tree" / "lib" / "modules" / "9" / "zram.ko").write_bytes(b"\0depends=\0")
    assert kernel(programs, "zram")[0] == "linux-image-9-amd64_9.1-1.v1.zram"
    assert len(fetched(programs)) == 2


def test_many_at_once_fetch_it_once(programs: Path) -> None:
    log = put_apt(programs)
    threads = [threading.Thread(target=kernel, args=(programs,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(log.read_text().splitlines()) == 1


def lose_module(tree: Path) -> None:
    (tree / "lib" / "modules" / "9" / "virtio_pci.ko").unlink()


def lose_kernel(tree: Path) -> None:
    (tree / "boot" / "vmlinuz-9").unlink()


def spoil_kernel(tree: Path) -> None:
    (tree / "boot" / "vmlinuz-9").write_bytes(b"")


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lose_module, "it has no module virtio_pci"),
        (lose_kernel, "it holds no /boot/vmlinuz-*"),
        (spoil_kernel, "no boot header"),
    ],
)
def test_a_package_that_can_not_be_used_is_not_kept(
    programs: Path, spoil: Callable[[Path], None], why: str
) -> None:
    put_apt(programs)
    spoil(programs.parent / "tree")
    with pytest.raises(BadInput) as bad:
        kernel(programs)
    assert why in bad.value.findings[0].located
    assert fetched(programs) == []


def test_an_older_kernel_is_used_and_told_where_the_new_one_can_not_be_had(
    programs: Path,
) -> None:
    put_apt(programs)
    old, _ = kernel(programs)
    put_apt(programs, "9.2-1")
    put(programs, "apt-get", "#!/bin/sh\necho 'E: 404 Not Found' >&2\nexit 100\n")
    name, watch = kernel(programs)
    assert old == name
    assert "404 Not Found" in watch.notes[0].located
    assert fetched(programs) == [old]


def test_no_apt_and_no_kernel_is_reported(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(programs))
    with refused_with("input/unavailable", "package"):
        kernel(programs)


def test_a_package_without_a_version_is_no_package(programs: Path) -> None:
    put(programs, "apt-cache", "#!/bin/sh\nexit 0\n")
    with refused_with("input/unavailable", "package"):
        kernel(programs)


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"NUMALET_LAB_CACHE": "/a"}, "/a"),
        ({"XDG_CACHE_HOME": "/c"}, "/c/numalet/lab"),
        ({}, "~/.cache/numalet/lab"),
    ],
)
def test_where_kernels_are_kept(environment: dict[str, str], expected: str) -> None:
    assert Path(expected).expanduser() == kernel_cache.default_folder(environment)
