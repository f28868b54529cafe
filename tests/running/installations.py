"""The checkout, the source package and the wheel, installed by plain pip."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import numalet
from architecture import tree

TRY: Final = tree.TESTS / "systems" / "installed.py"
_NOT_IN_A_CLONE: Final = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache", "build")
MOST: Final = ("sdist", "agent,cluster")
COMBINATIONS: Final = (("checkout", ""), MOST, ("wheel", "agent"))
"""What is installed, with which extras."""

Run = Callable[..., str]
"""Runs a command in the system of the environment; fails with what it prints if it fails."""


def artefacts(folder: Path) -> dict[str, Path]:
    """A copy of this checkout, and what hatchling makes of it."""
    checkout = folder / "numalet"
    shutil.copytree(tree.ROOT, checkout, ignore=_NOT_IN_A_CLONE)
    build = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    run(*build, cwd=checkout)
    (sdist,) = folder.glob("*.tar.gz")
    (wheel,) = folder.glob("*.whl")
    return {"checkout": checkout, "sdist": sdist, "wheel": wheel}


def run(*words: str, cwd: Path | None = None) -> str:
    """Run a command on this machine, without what the tests' own environment tells Python."""
    done = subprocess.run(
        words, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout[-8000:]}"
    return done.stdout


def try_one(
    run: Run, python: str, folder: str, what: str, extras: str,
    *, pip_release: str = "", options: Sequence[str] = (), script: str = str(TRY),
) -> None:  # fmt: skip
    """Install ``what`` for this Python into a new folder, and try all that its extras promise.

    ``pip_release`` is the pip to use, such as ``pip==23.0``, empty for the one Python brings;
    ``options`` are for pip; ``script`` is where the system of the folder has ``installed.py``.
    """
    run(python, "-m", "venv", folder)
    program = f"{folder}/bin/python"
    pip = (program, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    if pip_release:
        run(*pip, "--upgrade", pip_release)
    run(*pip, *options, f"{what}[{extras}]" if extras else what)
    run(program, "-m", "pip", "check")
    run(program, script, numalet.__version__, *extras.split(","))
