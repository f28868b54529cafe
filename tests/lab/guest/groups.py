"""Control groups, version 2, as plain as can be: made, written to, read, killed, removed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
CONTROLLERS = ("cpuset", "cpu", "memory", "hugetlb", "pids")
PATIENCE_SECONDS = 900.0


def wait_until(
    holds: Callable[[], bool], what: str, patience_seconds: float = PATIENCE_SECONDS
) -> None:
    """Look again and again until it holds; fails after a time that is long even here.

    All CPUs of a guest are one of the host: who looks takes the time of what is waited for, so
    that looking has a quarter of it.
    """
    began = time.monotonic()
    while True:
        looked = time.monotonic()
        if holds():
            return
        now = time.monotonic()
        assert now - began < patience_seconds, f"in vain: {what}"
        time.sleep(max(0.01, 3 * (now - looked)))


@dataclass(frozen=True)
class Group:
    """One group; its name is its folder."""

    path: Path

    @classmethod
    def top(cls, name: str) -> Group:
        """A new group below the root."""
        return cls._made(ROOT, name)

    def child(self, name: str) -> Group:
        """A new group in this one, which must have no process."""
        return self._made(self.path, name)

    @classmethod
    def _made(cls, parent: Path, name: str) -> Group:
        wanted = " ".join(f"+{controller}" for controller in CONTROLLERS)
        (parent / "cgroup.subtree_control").write_text(wanted)
        path = parent / name
        path.mkdir()
        return cls(path)

    def write(self, name: str, value: str) -> None:
        """One setting; the kernel's refusal is an ``OSError``."""
        (self.path / name).write_text(value)

    def read(self, name: str) -> str:
        """A file without its last line end."""
        return (self.path / name).read_text().rstrip("\n")

    def events(self, name: str = "memory.events") -> dict[str, int]:
        """Counts by name."""
        pairs = (line.split() for line in self.read(name).splitlines())
        return {name: int(count) for name, count in pairs}

    def bind(self, *, cpus: str = "", nodes: str = "") -> None:
        """Set cpuset.cpus and cpuset.mems, as far as given, and see that they are in effect."""
        for name, value in (("cpuset.cpus", cpus), ("cpuset.mems", nodes)):
            if value:
                self.write(name, value)
                assert value == self.read(f"{name}.effective")

    def add(self, pid: int) -> None:
        """Move a process here."""
        self.write("cgroup.procs", str(pid))

    def kill(self) -> None:
        """Kill everything in it, and wait until it is empty."""
        self.write("cgroup.kill", "1")
        wait_until(lambda: self.events("cgroup.events")["populated"] == 0, f"empty {self.path}")

    def remove(self) -> None:
        """Kill, and remove with all groups in it."""
        self.kill()
        for path in sorted(self.path.rglob("*"), reverse=True):
            if path.is_dir():
                path.rmdir()
        self.path.rmdir()
