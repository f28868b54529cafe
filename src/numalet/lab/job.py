"""The first archive of a guest: its scripts, settings and command."""

from __future__ import annotations

import shlex
from importlib import resources
from typing import Final

from numalet.lab import cpio, qemu
from numalet.lab.request import IN_GUEST, GuestRequest

_UNITS: Final = ("numalet-lab.service", "numalet-lab.target")


def archive(request: GuestRequest, token: str, busybox: bytes) -> bytes:
    """Return the archive without the modules, which have a separate one."""
    return cpio.archive(
        (
            cpio.folder("bin"),
            cpio.program("bin/busybox", busybox),
            cpio.folder("lab"),
            cpio.file("lab/settings", settings(request, token).encode()),
            cpio.file("lab/command", command(request).encode()),
            cpio.program("init", _script("init.sh")),
            cpio.file("lab/run", _script("run.sh")),
            *(cpio.file(f"lab/{name}", _script(name)) for name in _UNITS),
        )
    )


def module_archive(modules: dict[str, bytes]) -> bytes:
    return cpio.archive(
        (
            cpio.folder("modules"),
            *(cpio.file(f"modules/{name}.ko", data) for name, data in modules.items()),
            cpio.file("modules/order", "\n".join(modules).encode()),
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
