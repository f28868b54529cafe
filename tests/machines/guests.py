"""The project's own machines: guests whose /sys was put into tarballs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"
FIGURES: dict[str, dict[str, Any]] = json.loads((DATA / "figures.json").read_text())
NAMES = sorted(FIGURES)


def tarball(name: str) -> Path:
    """The tarball of a guest."""
    return DATA / f"{name}.tar.gz"
