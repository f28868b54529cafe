"""Root folders of nodes with short names: the name of a socket has at most 107 bytes."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def root() -> Iterator[Path]:
    """A root folder, gone after the test."""
    with tempfile.TemporaryDirectory(prefix="node") as folder:
        yield Path(folder)
