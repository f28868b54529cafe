"""Names for backups: FILE.bak, then FILE.bak.2, and so on."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Final

_SUFFIX: Final = ".bak"


def free_name(path: Path) -> Path:
    """The first unused name for a backup of this file."""
    first = path.with_name(path.name + _SUFFIX)
    further = (path.with_name(f"{first.name}.{number}") for number in itertools.count(2))
    return next(
        name
        for name in itertools.chain([first], further)
        # A dangling link does not exist but must not be overwritten.
        if not name.exists() and not name.is_symlink()
    )
