"""Root folders of nodes."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def root(short_path: Path) -> Path:
    """A root folder, gone after the test."""
    return short_path
