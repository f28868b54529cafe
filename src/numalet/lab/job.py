"""The first archive of a guest: its scripts, settings and command."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from importlib import resources
from typing import Final

from numalet.core.model.value import Value
from numalet.lab import qemu
from numalet.lab.request import IN_GUEST, GuestRequest

# The kernel accepts several consecutive archives as one. Format (cpio ``newc``): the kernel's
# ``Documentation/driver-api/early-userspace/buffer-format.rst``.
_FOLDER: Final = 0o040755
_FILE: Final = 0o100644
_PROGRAM: Final = 0o100755
_TRAILER: Final = "TRAILER!!!"


class CpioEntry(Value):
    """One folder, file or program; ``name`` without a leading slash."""

    name: str
    data: bytes
    mode: int


def folder(name: str) -> CpioEntry:
    return CpioEntry(name, b"", _FOLDER)


def file(name: str, data: bytes) -> CpioEntry:
    return CpioEntry(name, data, _FILE)


def program(name: str, data: bytes) -> CpioEntry:
    return CpioEntry(name, data, _PROGRAM)


def cpio_archive(entries: Iterable[CpioEntry]) -> bytes:
    """Return the archive; everything belongs to root and has no date."""
    packed = bytearray()
    for number, entry in enumerate([*entries, CpioEntry(_TRAILER, b"", 0)], start=1):
        name = entry.name.encode() + b"\0"
        links = 1
        # inode, mode, uid, gid, links, date, size, four device numbers, length of name, check
        fields = (number, entry.mode, 0, 0, links, 0, len(entry.data), 0, 0, 0, 0, len(name), 0)
        packed += b"070701" + b"".join(b"%08X" % field for field in fields)
        packed += _padded(name, len(packed))
        packed += _padded(entry.data, len(packed))
    return bytes(packed)


def _padded(data: bytes, place: int) -> bytes:
    return data + b"\0" * (-(place + len(data)) % 4)


_UNITS: Final = ("numalet-lab.service", "numalet-lab.target")


def archive(request: GuestRequest, token: str, busybox: bytes) -> bytes:
    """Return the archive without the modules, which have a separate one."""
    return cpio_archive(
        (
            folder("bin"),
            program("bin/busybox", busybox),
            folder("lab"),
            file("lab/settings", settings(request, token).encode()),
            file("lab/command", command(request).encode()),
            program("init", _script("init.sh")),
            file("lab/run", _script("run.sh")),
            *(file(f"lab/{name}", _script(name)) for name in _UNITS),
        )
    )


def module_archive(modules: dict[str, bytes]) -> bytes:
    return cpio_archive(
        (
            folder("modules"),
            *(file(f"modules/{name}.ko", data) for name, data in modules.items()),
            file("modules/order", "\n".join(modules).encode()),
        )
    )


def _script(name: str) -> bytes:
    return (resources.files("numalet.lab") / "scripts" / name).read_bytes()


def settings(request: GuestRequest, token: str) -> str:
    terminal = request.terminal
    values = {
        "lab_token": token,
        "lab_folder": str(request.folder),
        "lab_init": request.init.value,
        "lab_shares": "\n".join(f"{tag} {share.guest}" for tag, share in qemu.tagged(request)),
        "lab_pages": "\n".join(
            f"{each.node_id} {each.page_size_mib * 1024} {each.count}" for each in request.hugepages
        ),
        "lab_terminal": "none" if terminal is None else terminal.kind,
        "lab_rows": "24" if terminal is None else str(terminal.rows),
        "lab_columns": "80" if terminal is None else str(terminal.columns),
    }
    return "".join(f"{name}={shlex.quote(value)}\n" for name, value in values.items())


def command(request: GuestRequest) -> str:
    variables = {
        IN_GUEST: request.topology.name,
        **{share.variable: str(share.guest) for share in request.shares},
        **request.environment,
    }
    exports = [f"export {shlex.quote(f'{name}={value}')}" for name, value in variables.items()]
    return "\n".join([*exports, f"exec {shlex.join(request.command)}", ""])
