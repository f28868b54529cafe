"""The text of one file of a process below ``/proc``."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from numalet.agent.findings.host import ProcfsUnreadable
from numalet.core.model.findings import BadInput

PROC: Final = Path("/proc")


def text_of(path: Path, errors: str) -> str | None:
    """Read a file of a process, if the process still exists. ``errors`` as in ``open``.

    Raises ``BadInput`` if it is unreadable.
    """
    try:
        return path.read_text(encoding="utf-8", errors=errors)
    except (FileNotFoundError, ProcessLookupError):
        # The kernel returns ESRCH if the process ends between open and read.
        return None
    except OSError as error:
        raise BadInput([ProcfsUnreadable(path=str(path), error=error.strerror)]) from None
