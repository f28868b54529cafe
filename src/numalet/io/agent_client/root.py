"""The root folder of an agent, as a text.

``numalet run`` loads this before it calls an agent; ``pathlib`` would double the time of its start.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterator
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

SYSTEM: Final = "/var/lib/numalet"
SOCKET_NAME: Final = "agent.sock"
LOCK: Final = "node-state.lock"
"""An agent has this file locked as long as it runs."""


def default() -> str:
    """The system folder for root, the user's own state folder for others."""
    if os.geteuid() == 0:
        return SYSTEM
    # The XDG specification says to ignore a relative path.
    named = os.environ.get("XDG_STATE_HOME", "")
    return f"{named}/numalet" if named.startswith("/") else _of_home(os.path.expanduser("~"))


def usual() -> Iterator[str]:
    """The system's folder, this user's and the sudo caller's."""
    yield SYSTEM
    state = os.environ.get("XDG_STATE_HOME")
    if state:
        yield f"{state}/numalet"
    yield _of_home(os.path.expanduser("~"))
    with suppress(KeyError, ValueError):
        yield _of_home(pwd.getpwuid(int(os.environ["SUDO_UID"])).pw_dir)


def _of_home(home: str) -> str:
    return f"{home}/.local/state/numalet"
