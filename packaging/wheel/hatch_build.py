"""What a wheel has besides the package: documentation, pages of the manual, and completions.

Of ``docs`` it has what is read, and not what builds the site. Pages of the manual and completions
are made of the commands themselves while the wheel is built, so they need what it depends on.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

COMPLETIONS = {
    "bash": "share/bash-completion/completions/numalet",
    "zsh": "share/zsh/site-functions/_numalet",
    "fish": "share/fish/vendor_completions.d/numalet.fish",
}
BUILDS_THE_SITE = ("conf.py", "_extensions")
"""Entries of ``docs`` that are of no use to who reads it."""


class SharedDataHook(BuildHookInterface[Any]):
    """Writes the files before a wheel is put together, and removes them after it."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the files to the wheel; one that is installed editable has none."""
        if version == "editable":
            return
        source = Path(self.root, "src")
        sys.path.insert(0, str(source))
        from numalet.cli import manual

        self._folder = tempfile.TemporaryDirectory(prefix="numalet-wheel")
        folder = Path(self._folder.name)
        shared: dict[str, str] = build_data["shared_data"]
        shared.update(_documentation(Path(self.root)))
        for path in manual.write(folder / "man", self.metadata.version):
            shared[str(path)] = f"share/man/man1/{path.name}"
        for shell, place in COMPLETIONS.items():
            path = folder / shell
            path.write_text(_completion(shell, source), encoding="utf-8")
            shared[str(path)] = place

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was written."""
        if version != "editable":
            self._folder.cleanup()


def _documentation(root: Path) -> dict[str, str]:
    """Where the files of ``docs`` are to be installed, by the place where they are."""
    docs = root / "docs"
    entries = [each for each in sorted(docs.iterdir()) if each.name not in BUILDS_THE_SITE]
    return {str(each): f"share/doc/numalet/{each.name}" for each in entries}


def _completion(shell: str, source: Path) -> str:
    """The script with which a shell completes command lines."""
    done = subprocess.run(
        [sys.executable, "-c", "from numalet.__main__ import main; main()"],
        env={**os.environ, "PYTHONPATH": str(source), "_NUMALET_COMPLETE": f"source_{shell}"},
        stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    # Typer names the program as it was started here.
    return done.stdout.strip() + "\n"
