"""A folder with a fresh Debian of some release in it, in which commands run as on its own machine.

It has a list of processes of its own, and the network and the /sys of the host, without cgroups.
Root makes it, with mmdebstrap; mounts that this needs are seen in no other process.
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_MIRROR: Final = "http://deb.debian.org/debian"
_CERTIFICATES: Final = Path("etc/ssl/certs/ca-certificates.crt")
_PACKAGES: Final = ("python3", "python3-venv", "ca-certificates")
_LEFT_OUT: Final = ("doc", "man", "locale", "info")


@dataclass(frozen=True)
class DebianFolder:
    """A Debian below ``root``."""

    root: Path

    def command(self, *words: str) -> list[str]:
        """The command line that runs these words inside."""
        return [
            *("unshare", "--mount", "--pid", "--fork", "--kill-child"),
            *(f"--mount-proc={self.root}/proc", "sh", "-c"),
            *('mount --bind /sys "$0/sys" && exec chroot "$0" "$@"', str(self.root), *words),
        ]

    def run(self, *words: str) -> str:
        """What a command printed; fails with that if it fails."""
        done = subprocess.run(
            self.command(*words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            check=False, env={"PATH": "/usr/bin:/usr/sbin:/root/.local/bin", "HOME": "/root"},
        )  # fmt: skip
        assert done.returncode == 0, done.stdout[-8000:]
        return done.stdout

    def copy(self, source: Path, name: str) -> None:
        """Put a file or a folder into its root folder, under this name."""
        if source.is_dir():
            ignored = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache", "build")
            shutil.copytree(source, self.root / name, ignore=ignored)
        else:
            shutil.copy(source, self.root / name)


def missing() -> list[str]:
    """What this machine lacks for it."""
    return [each for each in ("mmdebstrap", "unshare", "chroot") if shutil.which(each) is None]


def make(suite: str, root: Path, *packages: str) -> DebianFolder:
    """A Debian of this release with Python and these packages."""
    command = ["mmdebstrap", "--quiet", "--variant=apt"]
    # A mirror may be behind; which Python a release has is all that matters here.
    command.append('--aptopt=Acquire::Check-Valid-Until "false"')
    command += [f"--dpkgopt=path-exclude=/usr/share/{each}/*" for each in _LEFT_OUT]
    command.append(f"--include={','.join((*_PACKAGES, *packages))}")
    done = subprocess.run(
        [*command, suite, str(root), _MIRROR], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]
    made = DebianFolder(root)
    # A machine behind a proxy of its own trusts that one's certificate too.
    if Path("/", _CERTIFICATES).exists():
        shutil.copy(Path("/", _CERTIFICATES), root / _CERTIFICATES)
    return made
