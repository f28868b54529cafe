"""The example notebook, run by a kernel of its own; ``make pictures`` writes what it shows."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final
from unittest import mock

import nbformat
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

NOTEBOOK: Final = Path(__file__).parents[2] / "docs" / "notebooks" / "numalet.ipynb"
_LIMIT_SECONDS: Final = 250
_FORMAT: Final[Any] = nbformat
"""Its functions have no types."""
_FOLDERS: Final = ("JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR")


def run() -> Any:
    """The notebook with what its cells show now.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell ended with an exception.
    """
    notebook = _FORMAT.read(NOTEBOOK, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        # Nothing is left in the home folder, and nobody's settings count.
        own = dict.fromkeys((*_FOLDERS, "HOME"), folder)
        with mock.patch.dict(os.environ, own):
            client = NotebookClient(
                notebook,
                # Sockets in the folder, because who can reach a port could run code.
                km=AsyncKernelManager(transport="ipc", ip=f"{folder}/kernel"),
                timeout=_LIMIT_SECONDS,
                record_timing=False,
                resources={"metadata": {"path": str(NOTEBOOK.parent)}},
            )
            client.execute()
    # The kernel says which Python it is, and that is no part of the example.
    notebook.metadata["language_info"] = {"name": "python"}
    return notebook


def process(target: Path) -> Any:
    """The same by a process of its own, because a client leaves sockets open; by way of a file."""
    command = [sys.executable, "-m", "running.notebooks", str(target)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    done = subprocess.run(
        command,
        env=environment,
        capture_output=True,
        text=True,
        timeout=_LIMIT_SECONDS,
        check=False,
    )
    if done.returncode:
        raise AssertionError(done.stderr)
    return kept(target)


def kept(path: Path = NOTEBOOK) -> Any:
    """What a file has, with what its cells showed."""
    return _FORMAT.read(path, as_version=4)


if __name__ == "__main__":
    _FORMAT.write(run(), Path(sys.argv[1]) if len(sys.argv) > 1 else NOTEBOOK)
