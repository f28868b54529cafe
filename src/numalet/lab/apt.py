"""The newest package of a name by apt's own lists, downloaded and unpacked, never installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

from numalet.core.model import input_error
from numalet.core.model.value import Value

_DEPENDS: Final = re.compile(r"^Depends:.*?\b(linux-image-[\w.+-]+) \(= ([^)]+)\)", re.MULTILINE)
_VERSION: Final = re.compile(r"^Version: (\S+)", re.MULTILINE)


class Package(Value):
    name: str
    version: str


def newest(name: str) -> Package:
    """Resolve a package name; the name of a kernel stands for the newest kernel.

    Raises ``BadInput`` if apt is missing, or does not know the package.
    """
    shown = _run(name, "apt-cache", "show", "--no-all-versions", name)
    # ``linux-image-amd64`` is a metapackage; the kernel is in the package that it depends on.
    if real := _DEPENDS.search(shown):
        return Package(real[1], real[2])
    version = _VERSION.search(shown)
    if version is None:
        raise input_error.Unavailable(
            f"cannot fetch package {name!r}: no version; if its lists are missing or old, "
            "run 'apt-get update'"
        ).bad_input()
    return Package(name, version[1])


def download(package: Package, folder: Path) -> Path:
    """Download the package into this folder; apt verifies its origin. Raises ``BadInput``."""
    wanted = f"{package.name}={package.version}"
    # apt would otherwise download as the user _apt, who cannot write to this folder.
    options = ("-q", "-o", "APT::Sandbox::User=root")
    _run(package.name, "apt-get", *options, "download", wanted, folder=folder)
    return next(folder.glob("*.deb"))


def unpack(package: Path, folder: Path) -> None:
    _run(package.name, "dpkg-deb", "--extract", str(package), str(folder))


def _run(about: str, program: str, *arguments: str, folder: Path | None = None) -> str:
    """Return a program's output; if it fails, raise its last line as a finding."""
    if shutil.which(program) is None:
        raise input_error.Unavailable(
            f"{program} is needed to fetch package {about!r}; the lab boots Debian's kernel"
        ).bad_input()
    done = subprocess.run(
        [program, *arguments],
        cwd=folder,
        # The output is parsed, so it must not be translated.
        env={**os.environ, "LC_ALL": "C"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines() or [f"status {done.returncode}"]
        raise input_error.Unavailable(
            f"cannot fetch package {about!r}: {lines[-1].removeprefix('E: ')}; if its lists "
            "are missing or old, run 'apt-get update'"
        ).bad_input()
    return done.stdout
