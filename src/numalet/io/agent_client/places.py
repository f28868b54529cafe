"""Where an agent stores its files, and where its socket is."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from numalet.io.agent_client import root as root_folder
from numalet.io.agent_client.root import SOCKET_NAME as SOCKET_NAME

SYSTEM_ROOT: Final = Path(root_folder.SYSTEM)
KUBECONFIG: Final = "admin.kubeconfig"
PLUGIN_FOLDER: Final = "nri"
"""The folder of the runtime's plugin, by default below the system's root folder of an agent."""


def default_root() -> Path:
    return Path(root_folder.default())


def socket_path(socket: Path | None, root: Path | None) -> Path:
    if socket is not None:
        return socket
    if root is not None:
        return root / SOCKET_NAME
    own = default_root() / SOCKET_NAME
    system = SYSTEM_ROOT / SOCKET_NAME
    # Without an own agent, use the system's, which may grant access.
    return own if own.exists() or not _exists(system) else system


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    # The folder exists but is closed to this user, so its agent is not an option.
    except PermissionError:
        return False
