"""Where an agent stores its files, and where its socket is."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

SYSTEM_ROOT: Final = Path("/var/lib/numalet")
SOCKET_NAME: Final = "agent.sock"
KUBECONFIG: Final = "admin.kubeconfig"


def default_root() -> Path:
    """The system folder for root, the user's own state folder for others."""
    if os.geteuid() == 0:
        return SYSTEM_ROOT
    # The XDG specification says to ignore a relative path.
    named = Path(os.environ.get("XDG_STATE_HOME", ""))
    state = named if named.is_absolute() else Path.home() / ".local" / "state"
    return state / "numalet"


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
