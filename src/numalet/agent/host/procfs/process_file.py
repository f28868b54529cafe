"""The text of one file of a process below ``/proc``."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from numalet.agent.findings.host import ProcfsUnreadable
from numalet.core.model.findings import BadInput

PROC: Final = Path("/proc")


def text_of(path: Path, errors: str) -> str | None:
    """The content of the file; None if the process is gone. ``errors`` is for odd bytes in it.

    Raises ``BadInput`` if it may not be read.
    """
    try:
        return path.read_text(encoding="utf-8", errors=errors)
    except (FileNotFoundError, ProcessLookupError):
        return None
    except OSError as error:
        raise BadInput([ProcfsUnreadable(path=str(path), error=error.strerror)]) from None
