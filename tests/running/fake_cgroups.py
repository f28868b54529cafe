"""A tree of cgroups on an ordinary file system that answers as a kernel answered.

The answers are those of Linux 6.1 and 6.12: which texts are refused with which error, how sizes
are rounded, and what is in force when a set has a NUMA node without memory or an offline CPU.
Only the files that the program uses are there. Nothing is enforced.
"""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path
from typing import Final

from numalet.agent.host.cgroup_v2.tree import CgroupTree
from numalet.core.model import cpu_set
from numalet.core.model.cpu_set import CpuSet

CONTROLLERS: Final = ("cpuset", "cpu", "memory", "hugetlb", "pids")
_PAGE: Final = 4096
_UNITS: Final = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}
_FILES: Final = {
    "cpuset": {"cpuset.cpus": "", "cpuset.mems": ""},
    "memory": {
        "memory.max": "max",
        "memory.high": "max",
        "memory.min": "0",
        "memory.swap.max": "max",
        "memory.oom.group": "0",
        "memory.events": "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\noom_group_kill 0",
        "memory.numa_stat": "anon N0=0\nfile N0=0\nshmem N0=0",
    },
    "cpu": {"cpu.max": "max 100000", "cpu.weight": "100"},
    "pids": {"pids.max": "max"},
    "hugetlb": {"hugetlb.2MB.max": "max", "hugetlb.1GB.max": "max"},
}
_SIZES: Final = {
    "memory.max": _PAGE,
    "memory.high": _PAGE,
    "memory.min": _PAGE,
    "memory.swap.max": _PAGE,
    "hugetlb.2MB.max": 2 << 20,
    "hugetlb.1GB.max": 1 << 30,
}


class FakeCgroups(CgroupTree):
    """CPUs 0 to 7 and NUMA nodes 0 to 3, all with memory and online unless told otherwise."""

    online: CpuSet = frozenset(range(8))
    possible: CpuSet = frozenset(range(8))
    with_memory: CpuSet = frozenset(range(4))
    nodes: CpuSet = frozenset(range(4))
    killed: list[str]

    def __init__(self, root: Path, top: Path | None = None) -> None:
        super().__init__(root)
        self.top = top or root
        self.killed = []
        if not (self.top / "cgroup.controllers").exists():
            self.top.mkdir(parents=True, exist_ok=True)
            self._put(self.top, "cgroup.controllers", " ".join(CONTROLLERS))
            self._put(self.top, "cgroup.subtree_control", "")
            self._put(self.top, "cgroup.procs", "")
            self._settle()

    def at(self, folder: Path) -> FakeCgroups:
        """The same file system, seen from another folder of it."""
        other = type(self)(folder, self.top)
        other.online, other.with_memory = self.online, self.with_memory
        other.killed = self.killed
        return other

    def write(self, path: str, file: str, text: str) -> None:
        folder = self.folder(path)
        if not (folder / file).exists():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(folder / file))
        if file == "cgroup.kill":
            self.killed.append(path)
            return
        if file == "cgroup.subtree_control":
            self._control(folder, text)
        elif file == "cgroup.procs":
            self._move(folder, text)
        else:
            self._put(folder, file, self._taken(file, text.strip()))
        self._settle()

    def _taken(self, file: str, text: str) -> str:
        """What the file reads after this was written."""
        if file.startswith("cpuset."):
            return self._set(file, text)
        if file in _SIZES:
            return _size(text, _SIZES[file])
        if file == "cpu.weight" and not 1 <= int(text) <= 10_000:
            raise _error(errno.ERANGE)
        if file == "cpu.max":
            quota, _, period = text.partition(" ")
            if quota != "max" and int(quota) < 1000:
                raise _error(errno.EINVAL)
            return f"{quota} {period or 100_000}"
        return text

    def _set(self, file: str, text: str) -> str:
        if not re.fullmatch(r"[0-9,-]*", text):
            raise _error(errno.EINVAL)
        numbers = cpu_set.parse(text)
        if file == "cpuset.cpus" and not numbers <= self.possible:
            raise _error(errno.ERANGE)
        if file == "cpuset.mems" and not numbers <= self.nodes:
            raise _error(errno.EINVAL)
        return cpu_set.text(numbers)

    def _move(self, folder: Path, pid: str) -> None:
        for each in self.top.rglob("cgroup.procs"):
            pids = [other for other in each.read_text().split() if other != pid]
            self._put(each.parent, each.name, "\n".join(pids))
        inside = (folder / "cgroup.procs").read_text().split()
        self._put(folder, "cgroup.procs", "\n".join([*inside, pid]))

    def _control(self, folder: Path, text: str) -> None:
        there = (folder / "cgroup.controllers").read_text().split()
        on = (folder / "cgroup.subtree_control").read_text().split()
        for word in text.split():
            if word[1:] not in there:
                raise _error(errno.EINVAL)
            if (folder / "cgroup.procs").read_text().split() and folder != self.top:
                raise _error(errno.EBUSY)
            on = [*on, word[1:]] if word[0] == "+" else [n for n in on if n != word[1:]]
        self._put(folder, "cgroup.subtree_control", " ".join(dict.fromkeys(on)))

    def _create(self, folder: Path) -> None:
        super()._create(folder)
        for name in ("cgroup.procs", "cgroup.subtree_control", "cgroup.kill"):
            self._put(folder, name, "")
        self._put(folder, "cgroup.events", "populated 0\nfrozen 0")
        self._settle()

    def _remove_one(self, path: str) -> None:
        folder = self.folder(path)
        if "populated 1" in (self.read(path, "cgroup.events") or ""):
            raise _error(errno.EBUSY)
        for each in list(folder.iterdir()):
            if each.is_dir():
                raise _error(errno.EBUSY)
            each.unlink()
        folder.rmdir()

    def _settle(self) -> None:
        """Let every level have the files of its controllers, and its effective sets."""
        for folder in sorted(path.parent for path in self.top.rglob("cgroup.procs")):
            if folder != self.top:
                on = (folder.parent / "cgroup.subtree_control").read_text().split()
                self._put(folder, "cgroup.controllers", " ".join(on))
                for controller in on:
                    for name, text in _FILES[controller].items():
                        if not (folder / name).exists():
                            self._put(folder, name, text)
            for name, all_of in (("cpuset.cpus", self.online), ("cpuset.mems", self.with_memory)):
                self._put(folder, f"{name}.effective", self._in_force(folder, name, all_of))

    def _in_force(self, folder: Path, name: str, there: CpuSet) -> str:
        above = folder.parent / f"{name}.effective"
        parents = cpu_set.parse(above.read_text().strip()) if folder != self.top else there
        file = folder / name
        own = cpu_set.parse(file.read_text().strip()) if file.exists() else cpu_set.EMPTY
        return cpu_set.text((own & parents) or parents)

    def _put(self, folder: Path, file: str, text: str) -> None:
        (folder / file).write_text(text + "\n", encoding="ascii")


def _size(text: str, step: int) -> str:
    match = re.fullmatch(r"([0-9]+)([KMGT]?)", text)
    if text == "max":
        return text
    if match is None:
        raise _error(errno.EINVAL)
    return str((int(match[1]) << _UNITS[match[2]]) // step * step)


def _error(number: int) -> OSError:
    return OSError(number, os.strerror(number))
