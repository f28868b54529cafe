"""The recorded decisions of a kubelet v1.32: which files there are, and their lines."""

from __future__ import annotations

import gzip
import lzma
from collections.abc import Iterator
from pathlib import Path
from typing import Final

DATA: Final = Path(__file__).parents[1] / "conformance" / "data"
COUNTS: Final = {
    "memory": 780,
    "startup": 460,
    "topology": 545,
    "restart": 368,
    "cpu": 760,
    "device": 381,
    "mixed": 361,
    "windows": 390,
    "odd": 2500,
}
"""How many scenarios each file has."""


def path(name: str) -> Path:
    """The file of this name, however it is packed."""
    (found,) = DATA.glob(f"vectors-{name}.jsonl.*")
    return found


def lines(name: str) -> Iterator[bytes]:
    """The lines of a file, one scenario each."""
    file = path(name)
    with lzma.open(file) if file.suffix == ".xz" else gzip.open(file) as opened:
        yield from opened
