"""The state files of hollow nodes, in a folder for each, as kubelets have them on their machines.

With them restarted nodes have their former allocations, not those that their pods would get today.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from numalet.core.model.findings import BadInput
from numalet.io import os_problem
from numalet.io.files import state_directory
from numalet.io.files.state_directory import StateDirectory


class StateFolder:
    """Reads and writes the state files of nodes below ``path``; writes only changes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[str, StateDirectory] = {}

    def read(self, name: str) -> Mapping[str, str]:
        """Return the state files of a node; empty for a new node.

        Raises ``BadInput`` if they cannot be read.
        """
        folder = self._path / name
        if not folder.is_dir():
            return {}
        known = self._known[name] = state_directory.read(folder)
        return known.files

    def write(self, name: str, files: Mapping[str, str]) -> str:
        """Write the state files of a node; return the error, or an empty text."""
        folder = self._path / name
        known = self._known.get(name) or StateDirectory(folder, {})
        try:
            folder.mkdir(parents=True, exist_ok=True)
            known.write(files)
        except (OSError, BadInput) as error:
            return f"{folder}: {os_problem.text(error)}"
        self._known[name] = known.holding(dict(files))
        return ""
