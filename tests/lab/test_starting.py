"""What QEMU is told, what the guest finds, what it says: without QEMU."""

from __future__ import annotations

import lzma
import shlex
import shutil
import struct
import subprocess
import zlib
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numalet.lab import job, kernel_cache, qemu
from numalet.lab.guest import OutputReader, Said
from numalet.lab.kernel_cache import KernelImageError, NoSuchModuleError
from numalet.lab.request import GuestRequest, Init, ReservedPages, Terminal, shares
from numalet.lab.topology import topology_named

FILES = qemu.Files("/k", "/i", "/c", "/e")


def asked(**more: object) -> GuestRequest:
    fields: dict[str, object] = {
        "topology": topology_named("3n4c-1memless"),
        "command": ("echo", "it's"),
        "folder": PurePosixPath("/a b"),
        **more,
    }
    return GuestRequest(**fields)  # type: ignore[arg-type]


def after(words: tuple[str, ...], word: str) -> list[str]:
    """The values of an option, in order."""
    return [value for option, value in pairwise(words) if option == word]


def test_nodes_have_their_memory_cpus_and_distances() -> None:
    words = qemu.arguments(asked(), FILES)
    assert after(words, "-m") == ["2048M"]
    assert after(words, "-smp") == ["4,sockets=4,dies=1,cores=1,threads=1"]
    memories = [word for word in after(words, "-object") if word.startswith("memory-backend")]
    assert [f"memory-backend-ram,id=memory{n},size=1024M" for n in (0, 2)] == memories
    numa = after(words, "-numa")
    assert numa[:3] == [
        "node,nodeid=0,memdev=memory0,cpus=0-1",
        "node,nodeid=1,cpus=2",
        "node,nodeid=2,memdev=memory2,cpus=3",
    ]
    assert len(numa) == 3 + 9
    assert "dist,src=0,dst=2,val=20" in numa


def test_it_is_always_emulated_in_one_thread() -> None:
    words = qemu.arguments(asked(), FILES)
    assert after(words, "-accel") == ["tcg,thread=single"]
    assert not any("kvm" in word for word in words)


def test_only_shared_folders_can_be_written_to() -> None:
    request = asked(shares=shares(Path("/o,ut"), Path("/d")))
    folders = after(qemu.arguments(request, FILES), "-fsdev")
    assert [",readonly=on" in folder for folder in folders] == [True, False, False]
    assert "path=/o,,ut" in folders[1]
    settings = job.settings(request, "t")
    assert "lab_shares='share0 /lab/out\nshare1 /lab/disk'\n" in settings


def test_the_users_words_come_last_on_the_kernels_command_line() -> None:
    request = asked(
        kernel_arguments=("numa_balancing=enable",),
        init=Init.SYSTEMD,
        hugepages=(ReservedPages(0, 2, 3),),
    )
    words = qemu.kernel_words(request)
    assert words[-1] == "numa_balancing=enable"
    assert "systemd.unit=numalet-lab.target" in words
    assert "hugepages=0:3" in words
    assert "systemd.unit=numalet-lab.target" not in qemu.kernel_words(asked())


def test_the_command_keeps_its_words_and_its_environment() -> None:
    request = asked(environment={"A": "x y"}, shares=shares(Path("/o"), None))
    script = job.command(request)
    assert shlex.split(script) == [
        *("export", "NUMALET_LAB_TOPOLOGY=3n4c-1memless"),
        *("export", "NUMALET_LAB_OUT=/lab/out"),
        *("export", "A=x y"),
        *("exec", "echo", "it's"),
    ]


def test_settings_are_assignments_of_a_shell() -> None:
    request = asked(hugepages=(ReservedPages(1, 1024, 2),), terminal=Terminal("xterm", 30, 90))
    done = subprocess.run(
        ["sh", "-c", job.settings(request, "tok") + 'echo "$lab_folder|$lab_pages|$lab_rows"'],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "/a b|1 1048576 2|30\n"


@pytest.mark.parametrize("name", ["init.sh", "run.sh"])
def test_the_scripts_are_scripts(name: str) -> None:
    path = Path(job.__file__).with_name("scripts") / name
    subprocess.run(["sh", "-n", str(path)], check=True)


@pytest.mark.skipif(shutil.which("cpio") is None, reason="there is no cpio to read it")
def test_another_program_reads_the_archive(tmp_path: Path) -> None:
    entries = (job.folder("a"), job.file("a/b", b"12345"), job.program("a/c", b"x"))
    command = ["cpio", "--extract", "--quiet"]
    subprocess.run(command, input=job.cpio_archive(entries), cwd=tmp_path, check=True)
    assert (tmp_path / "a" / "b").read_bytes() == b"12345"
    assert (tmp_path / "a" / "c").stat().st_mode & 0o777 == 0o755


def test_archives_can_be_put_after_each_other() -> None:
    archive = job.module_archive({"one": b"1", "two": b"22"})
    assert len(archive) % 4 == 0
    assert archive.count(b"070701") == 5
    assert b"one\ntwo" in archive


def bzimage(payload: bytes, sectors: int = 3) -> bytes:
    """A kernel's file: boot sectors with a header, then the payload, then its size."""
    header = bytearray((sectors + 1) * 512)
    header[0x1F1] = sectors
    header[0x202:0x206] = b"HdrS"
    struct.pack_into("<II", header, 0x248, 16, len(payload) + 4)
    return bytes(header) + b"\0" * 16 + payload + struct.pack("<I", 99)


def gzipped(data: bytes) -> bytes:
    packing = zlib.compressobj(wbits=31)
    return packing.compress(data) + packing.flush()


def no_zstd(data: bytes) -> bytes:
    raise AssertionError(data)


ELF = b"\x7fELF" + b"kernel" * 100


@pytest.mark.parametrize("pack", [lzma.compress, gzipped])
def test_a_kernel_is_taken_out_of_its_file(pack: Callable[[bytes], bytes]) -> None:
    assert kernel_cache.unpacked_kernel(bzimage(pack(ELF)), no_zstd) == ELF


def test_zstd_is_left_to_who_knows_it() -> None:
    packed = b"\x28\xb5\x2f\xfd" + b"packed"
    taken: list[bytes] = []

    def unzstd(data: bytes) -> bytes:
        taken.append(data)
        return ELF

    assert kernel_cache.unpacked_kernel(bzimage(packed), unzstd) == ELF
    assert taken == [packed]


@pytest.mark.parametrize(
    ("image", "why"),
    [
        (b"", "no boot header"),
        (b"x" * 4096, "no boot header"),
        (bzimage(b"what"), "unknown compression 77686174"),
        (bzimage(gzipped(b"no kernel")), "not an ELF"),
        (bzimage(lzma.compress(ELF)[:40] + b"\xff" * 60), "[Cc]orrupt"),
        (bzimage(b"\x1f\x8b" + b"\xff" * 60), "decompressing"),
    ],
)
def test_what_is_no_kernel_is_reported(image: bytes, why: str) -> None:
    with pytest.raises(KernelImageError, match=why):
        kernel_cache.unpacked_kernel(image, no_zstd)


MODULES = {
    "top": b"\0license=GPL\0depends=left-part,right\0",
    "left_part": b"\0depends=base\0",
    "right": b"\0depends=base,inside\0",
    "base": b"\0depends=\0",
}


def read_module(name: str) -> bytes:
    if name not in MODULES:
        raise NoSuchModuleError(name)
    return MODULES[name]


def test_modules_come_after_what_they_need() -> None:
    order = list(kernel_cache.in_order(["top", "base"], read_module, {"inside"}))
    assert order == ["base", "left_part", "right", "top"]


def test_a_module_that_is_not_there_is_named() -> None:
    with pytest.raises(NoSuchModuleError, match="inside"):
        kernel_cache.in_order(["right"], read_module, frozenset())


def heard(listener: OutputReader, *chunks: bytes) -> tuple[bytes, list[Said]]:
    """All output in one, and the lines of the lab."""
    parts = [part for chunk in chunks for part in listener.feed(chunk)]
    output = b"".join(part for part in parts if isinstance(part, bytes))
    return output + listener.rest(), [part for part in parts if isinstance(part, Said)]


def test_lines_of_the_lab_are_told_from_output() -> None:
    stream = b"\x1et ready\r\none\n\x1ex exit 1\ntwo without end\x1et exit 42\r\n"
    output, said = heard(OutputReader("t"), stream)
    assert output == b"one\n\x1ex exit 1\ntwo without end"
    assert said == [Said("ready", ""), Said("exit", "42")]


def test_what_never_ends_is_output() -> None:
    output, said = heard(OutputReader("t"), b"\x1et exit" + b"5" * 500)
    assert (len(output), said) == (507, [])
    assert heard(OutputReader("t"), b"\x1et exit 1") == (b"\x1et exit 1", [])


@pytest.mark.property
@given(st.lists(st.sampled_from([b"\x1e", b"t ", b"exit 1", b"\n", b"x", b"\x1et exit 2\n"])))
def test_it_does_not_matter_how_the_stream_is_cut(pieces: list[bytes]) -> None:
    stream = b"".join(pieces)
    whole = heard(OutputReader("t"), stream)
    assert heard(OutputReader("t"), *(bytes([byte]) for byte in stream)) == whole
