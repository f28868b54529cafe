"""The end of a container's output, limited in size."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

MOST_BYTES: Final = 64 * 1024
MOST_LINES: Final = 200


def tail(path: Path) -> str | None:
    """Return the last lines, with marks for invalid bytes; None for an unreadable file."""
    try:
        with path.open("rb") as file:
            size_bytes = os.fstat(file.fileno()).st_size
            start = max(size_bytes - MOST_BYTES, 0)
            file.seek(start)
            text = file.read(MOST_BYTES).decode(errors="replace")
    except OSError:
        return None
    lines = text.split("\n")
    if start:
        lines = lines[1:]
    is_ended = lines[-1:] == [""]
    return "\n".join(lines[-(MOST_LINES + is_ended) :])
