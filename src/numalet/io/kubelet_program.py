"""The version of a kubelet, read from the file of its program; the program is never executed.

A Go program carries what it was built with: the flags of the linker, by which Kubernetes and its
distributions write the version into it, and the versions of its modules.
"""

from __future__ import annotations

import mmap
import re
from pathlib import Path
from typing import Final

_LARGEST_BYTES: Final = 1 << 30
_TAIL: Final = rb"(v[0-9]+\.[0-9]+\.[0-9]+(?:[-+][-+.0-9A-Za-z]{1,60})?)"
_PATTERNS: Final = (
    re.compile(rb"k8s\.io/component-base/version\.gitVersion=" + _TAIL),
    re.compile(rb"(?:mod|dep)\tk8s\.io/kubernetes\t" + _TAIL),
)
"""What the flags of the linker say, and else the version of the module; the former wins."""


def version(program: Path) -> str:
    """The version that a program was built as; empty if it does not say, or can not be read."""
    try:
        with program.open("rb") as file:
            if not 0 < file.seek(0, 2) <= _LARGEST_BYTES:
                return ""
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                matches = (pattern.search(content) for pattern in _PATTERNS)
                return next((match[1].decode() for match in matches if match), "")
    except (OSError, ValueError):
        return ""
