"""Debian's podman with a storage of its own, for containers of one image.

Nothing of the machine's own containers is seen or touched. Limits and control groups are set as a
machine allows that is itself a container.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

PROGRAMS: Final = ("podman", "runc", "conmon")
_LIMITS: Final = ("--ulimit=nofile=1024:1024", "--ulimit=nproc=1000:1000")
_WRITES_NOTHING: Final = ("--network=none", "--read-only", "--read-only-tmpfs=false")
_PATIENCE_SECONDS: Final = 300


class Podman:
    """Containers below this folder."""

    def __init__(self, folder: Path) -> None:
        self._command = [
            "podman",
            f"--root={folder / 'root'}",
            f"--runroot={folder / 'run'}",
            *("--storage-driver=vfs", "--cgroup-manager=cgroupfs", "--events-backend=none"),
            "--runtime=runc",
        ]

    def say(self, *words: str, status: int = 0) -> str:
        """What podman or a container says, to either stream; another exit status fails the test."""
        done = subprocess.run(
            [*self._command, *words],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, check=False, timeout=_PATIENCE_SECONDS,
        )  # fmt: skip
        assert done.returncode == status, done.stdout
        return done.stdout

    def run(self, image: str, *words: str, options: Sequence[str] = (), status: int = 0) -> str:
        """What a container says that has no network and can write nothing; it is removed."""
        return self.say(
            "run", "--rm", *_LIMITS, *_WRITES_NOTHING, *options, image, *words, status=status
        )

    @contextlib.contextmanager
    def running(self, image: str, *words: str, options: Sequence[str] = ()) -> Iterator[str]:
        """The name of such a container that goes on until the end of the block."""
        name = self.say("run", "--detach", *_LIMITS, *_WRITES_NOTHING, *options, image, *words)
        try:
            yield name.strip()
        finally:
            self.say("rm", "--force", "--time=0", name.strip())


def missing() -> list[str]:
    """The programs that are not installed."""
    return [each for each in PROGRAMS if not _is_there(each)]


def _is_there(program: str) -> bool:
    return shutil.which(program) is not None or Path(f"/usr/libexec/podman/{program}").exists()
