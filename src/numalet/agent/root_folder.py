"""Whether a folder may be a root folder: empty, or with nothing in it but what agents leave there.

An agent closes its root folder to others and removes what it knows nothing of below ``runs``; in a
folder that was named by mistake, be it ``/etc`` or one with experiments of somebody, that would be
a disaster. The lock of the books is the mark of one that has been a root folder.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from numalet.adapters.agent_client.places import KUBECONFIG, SOCKET_NAME
from numalet.adapters.files import state_directory
from numalet.agent import journal, record_file
from numalet.model.findings import BadInput, Finding, Location

LOCK: Final = "books.lock"
_KNOWN: Final = frozenset(
    {
        *state_directory.FILE_NAMES,
        state_directory.DEVICE_PLUGINS,
        record_file.FILE_NAME,
        journal.FILE_NAME,
        journal.OLDER_NAME,
        KUBECONFIG,
        SOCKET_NAME,
        # Folders that an administrator may have made before the first start.
        "manifests",
        "lost+found",
    }
)
_NAMED: Final = 3


def check(root: Path) -> None:
    """Raise ``BadInput`` if there is something in this folder that is not an agent's."""
    try:
        if (root / LOCK).exists():
            return
        others = sorted(_others(root))
    except FileNotFoundError:
        return
    if others:
        more = ", ..." if len(others) > _NAMED else ""
        fields = {"path": str(root), "others": ", ".join(others[:_NAMED]) + more}
        raise BadInput([Finding("agent/root-in-use", fields, Location(str(root)))])


def _others(root: Path) -> Iterator[str]:
    return (each.name for each in root.iterdir() if each.name not in _KNOWN)
