"""Names for what a file was before it is replaced: FILE.bak, then FILE.bak.2, and so on.

A backup never takes the place of an earlier one, nor of anything else that is there, a link to
nothing among it.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Final

_SUFFIX: Final = ".bak"


def free_name(path: Path) -> Path:
    """The first name for a backup of this file that is not used yet."""
    first = path.with_name(path.name + _SUFFIX)
    further = (path.with_name(f"{first.name}.{number}") for number in itertools.count(2))
    return next(
        name
        for name in itertools.chain([first], further)
        if not name.exists() and not name.is_symlink()
    )
