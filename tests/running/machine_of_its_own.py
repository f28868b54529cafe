"""Processes that see another machine: its CPUs and NUMA nodes, folders and kernel settings.

They share a mount namespace, in which the files of a captured machine lie over ``/sys`` and
``/proc``, and empty folders over ``/run``, ``/var/lib`` and ``/var/log``. A kubelet sets settings
of the kernel; there it writes to copies, so that those of the host stay as they are. All processes
have one list of processes, and end with its first one, whatever becomes of the test. The network is
the host's.
"""

from __future__ import annotations

import os
import subprocess
import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from running.server_programs import PATIENCE_SECONDS, ServerProgram

EMPTY: Final = ("/run", "/var/lib", "/var/log")
SETTINGS: Final = (
    "vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops",
    "kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes",
)  # fmt: skip
"""What a kubelet sets: ``setupKernelTunables`` of its container manager, v1.37."""
_OF_MACHINE: Final = ("sys/devices/system", "proc/cpuinfo", "proc/meminfo")
_CGROUPS: Final = Path("/sys/fs/cgroup")
# The first process also waits for orphans, or they would stay in the list of processes for ever.
_FIRST: Final = """
while [ $# -gt 0 ]; do mount --bind "$1" "$2" || exit 1; shift 2; done
echo ready
while :; do sleep 1; done
"""


@dataclass(frozen=True)
class OwnMachine:
    """The namespaces of such processes; ``folder`` has what is mounted in them.

    All cgroups are below ``cgroup``; ``cgroups`` is the folder that has them as a host has its own.
    """

    folder: Path
    pid: int
    cgroup: str
    cgroups: Path

    def command(self, *words: str) -> list[str]:
        """The command line that runs these words inside; the program ends with its caller.

        Programs of numalet find the kubelet at its usual place, as on any node.
        """
        inside = ["nsenter", "--mount", "--pid", f"--target={self.pid}", "--"]
        usual = ["env", "--unset=NUMALET_KUBELET_ROOT"]
        return [*inside, "setpriv", "--pdeathsig", "KILL", "--", *usual, *words]

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """The end of a program inside, and what it wrote."""
        return subprocess.run(self.command(*words), capture_output=True, text=True, check=False)

    def path(self, inside: str) -> Path:
        """Where the host has a file of one of the folders that are empty at first."""
        return self.folder / "over" / inside.lstrip("/")


@contextmanager
def opened(folder: Path, machine: Path | None) -> Iterator[OwnMachine]:
    """The machine of this capture, or the host's; its processes and cgroups are gone afterwards."""
    mounts: list[tuple[Path, str]] = []
    if machine is not None:
        captured = folder / "machine"
        with tarfile.open(machine) as archive:
            archive.extractall(captured, filter="data")
        mounts += [(captured / each, f"/{each}") for each in _OF_MACHINE]
    for place in EMPTY:
        (folder / "over" / place.lstrip("/")).mkdir(parents=True)
        mounts.append((folder / "over" / place.lstrip("/"), place))
    for name in SETTINGS:
        copy = folder / "settings" / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(Path("/proc/sys", name).read_text())
        mounts.append((copy, f"/proc/sys/{name}"))
    pairs = [str(each) for mount in mounts for each in mount]
    log = folder / "namespaces.log"
    unshare = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    first = ServerProgram(
        "namespaces",
        [*unshare, "sh", "-c", _FIRST, "sh", *pairs],
        log,
        lambda: log.exists() and "ready" in log.read_text(),
    )
    cgroup = f"numalet-kubelet-{os.getpid()}-{folder.name}"
    try:
        first.start()
        for hierarchy in _hierarchies():
            (hierarchy / cgroup).mkdir()
        children = Path(f"/proc/{first.pid}/task/{first.pid}/children").read_text()
        yield OwnMachine(folder, int(children.split()[0]), f"/{cgroup}", _below(cgroup, folder))
    finally:
        first.kill()
        _remove(cgroup)


def _hierarchies() -> list[Path]:
    """The cgroup hierarchies of this machine: one of version 2, or several of version 1."""
    if (_CGROUPS / "cgroup.controllers").exists():
        return [_CGROUPS]
    return [each for each in _CGROUPS.iterdir() if each.is_dir() and not each.is_symlink()]


def _below(cgroup: str, folder: Path) -> Path:
    if _hierarchies() == [_CGROUPS]:
        return _CGROUPS / cgroup
    below = folder / "cgroups"
    below.mkdir()
    for each in _hierarchies():
        (below / each.name).symlink_to(each / cgroup)
    return below


def remove_empty(cgroup: str) -> None:
    """Remove it from every hierarchy, as a kubelet does with that of a pod that is gone."""
    for hierarchy in _hierarchies():
        with suppress(OSError):
            (hierarchy / cgroup.lstrip("/")).rmdir()


def _remove(cgroup: str) -> None:
    """Remove it from every hierarchy, as soon as the kernel has ended its processes."""
    last = time.monotonic() + PATIENCE_SECONDS
    roots = [each / cgroup for each in _hierarchies()]
    while left := [each for each in roots if each.exists()]:
        assert time.monotonic() < last, f"processes go on in {left}"
        for root in left:
            below = [Path(each) for each, _, _ in os.walk(root, topdown=False)]
            with suppress(OSError):
                for each in below:
                    each.rmdir()
        time.sleep(0.05)
