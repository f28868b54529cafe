"""Check that this machine can run a guest, before anything is started."""

from __future__ import annotations

import platform
import re
import shutil
from pathlib import Path
from typing import Final

from numalet.core.model import input_error
from numalet.core.model.findings import BadInput, Finding, Findings, Location
from numalet.lab import qemu
from numalet.lab.request import GuestRequest
from numalet.lab.topology import MOST_CPUS, MOST_NODES

PROGRAMS: Final = {
    qemu.PROGRAM: "qemu-system-x86",
    # Kills QEMU when its parent dies.
    "setpriv": "util-linux",
}
BUSYBOX: Final = Path("/bin/busybox")

_MEM_TOTAL: Final = re.compile(r"^MemTotal:\s+([0-9]+) kB", re.MULTILINE)


def missing() -> tuple[Finding, ...]:
    """Return findings on all missing programs; empty if a guest can run."""
    system, kind = platform.system(), platform.machine()
    if system != "Linux":
        return (
            input_error.NotSupported(
                f"the lab needs Linux, because guests use this machine's root; this is {system}"
            ),
        )
    findings = Findings()
    if kind not in ("x86_64", "AMD64"):
        findings.add(
            input_error.NotSupported(
                f"the lab needs x86-64, because guests run this machine's programs; this is {kind}"
            )
        )
    lacking = [package for name, package in PROGRAMS.items() if shutil.which(name) is None]
    if not _is_static(BUSYBOX):
        lacking.append("busybox-static")
    if lacking:
        findings.add(
            input_error.Unavailable(
                f"missing packages: {' '.join(lacking)}; on Debian and Ubuntu: apt-get install "
                f"{' '.join(lacking)}"
            )
        )
    return findings.all


def _is_static(program: Path) -> bool:
    """Return whether it runs without libraries: an ELF file that names no interpreter."""
    try:
        data = program.read_bytes()
    except OSError:
        return False
    # In the first archive there are no libraries yet, so a dynamic busybox could not start.
    return data.startswith(b"\x7fELF") and b"/ld-linux" not in data[:4096]


def refuse_impossible(request: GuestRequest) -> None:
    """Raise ``BadInput`` for a request that this machine or QEMU cannot fulfil."""
    findings = Findings()
    findings.extend(missing())
    topology = request.topology
    where = Location("--topology")
    if len(topology.nodes) > MOST_NODES or topology.cpu_count > MOST_CPUS:
        findings.add(
            input_error.TooLarge(
                f"{len(topology.nodes)} NUMA nodes with {topology.cpu_count} CPUs exceed QEMU's "
                f"limit of {MOST_NODES} nodes and {MOST_CPUS} CPUs",
                where=where,
            )
        )
    memory_mib = _memory_mib()
    if memory_mib is not None and topology.memory_mib > memory_mib:
        asked = topology.memory_mib
        findings.add(
            input_error.TooLarge(
                f"the guest needs {asked} MiB of memory; this machine has {memory_mib} MiB",
                where=where,
            )
        )
    folders = [(share.host, str(share.host)) for share in request.shares]
    for folder, place in (*folders, (request.root, "--root")):
        if not folder.is_dir():
            findings.add(
                input_error.NotFound(
                    f"no such directory: {str(folder)!r}; create it first", where=Location(place)
                )
            )
    if findings.has_errors:
        raise BadInput(findings.all)


def _memory_mib() -> int | None:
    """Return all memory of this machine, if the kernel reports it."""
    try:
        found = _MEM_TOTAL.search(Path("/proc/meminfo").read_text())
    except OSError:
        return None
    return None if found is None else int(found[1]) // 1024
