"""The state files of hollow nodes, a folder for each: as kubelets have them on their machines.

With them nodes that begin again hold what they held, and not what their pods would get today.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from numalet.core.model.findings import BadInput
from numalet.io import os_problem
from numalet.io.files import state_directory
from numalet.io.files.state_directory import StateDirectory


class StateFolder:
    """Reads and writes the state files of nodes below ``path``; only what differs is written."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[str, StateDirectory] = {}

    def read(self, name: str) -> Mapping[str, str]:
        """The state files of a node; none if it has not been there before.

        Raises:
            BadInput: they can not be read.
        """
        folder = self._path / name
        if not folder.is_dir():
            return {}
        known = self._known[name] = state_directory.read(folder)
        return known.files

    def write(self, name: str, files: Mapping[str, str]) -> str:
        """Write the state files of a node; what is wrong if that can not be done, else empty."""
        folder = self._path / name
        known = self._known.get(name) or StateDirectory(folder, {})
        try:
            folder.mkdir(parents=True, exist_ok=True)
            known.write(files)
        except (OSError, BadInput) as error:
            return f"{folder}: {os_problem.text(error)}"
        self._known[name] = known.holding(dict(files))
        return ""
