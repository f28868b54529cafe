"""Reads a file of a process below ``/proc``."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from numalet.core.model import input_error
from numalet.io import os_problem

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
        problem = f"cannot read {str(path)!r}: {os_problem.text(error)}"
        raise input_error.Unreadable(problem).bad_input() from None
