"""Where an agent keeps its things, and where its socket is."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

SYSTEM_ROOT: Final = Path("/var/lib/numalet")
SOCKET_NAME: Final = "agent.sock"
KUBECONFIG: Final = "admin.kubeconfig"


def default_root() -> Path:
    """The system's place for root, else the user's own."""
    if os.geteuid() == 0:
        return SYSTEM_ROOT
    # A relative path counts for none, by the XDG specification: it is another one in each folder.
    named = Path(os.environ.get("XDG_STATE_HOME", ""))
    state = named if named.is_absolute() else Path.home() / ".local" / "state"
    return state / "numalet"


def socket_path(socket: Path | None, root: Path | None) -> Path:
    """The socket that is meant: the one named, that of a root, or that of the default root.

    A user without an agent of their own means the system's, which may let them in.
    """
    if socket is not None:
        return socket
    if root is not None:
        return root / SOCKET_NAME
    own = default_root() / SOCKET_NAME
    system = SYSTEM_ROOT / SOCKET_NAME
    return own if own.exists() or not _exists(system) else system


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except PermissionError:
        return False
