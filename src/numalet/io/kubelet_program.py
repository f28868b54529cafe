"""Reads the version of a kubelet from its program file, without executing it.

The build info of a Go program has the linker flags, where Kubernetes and distributions set the
version, and the versions of modules.
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
"""Linker flags first, which win over the module version."""


def version(program: Path) -> str:
    """The version that a program was built as; empty if unknown."""
    try:
        with program.open("rb") as file:
            if not 0 < file.seek(0, 2) <= _LARGEST_BYTES:
                return ""
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                matches = (pattern.search(content) for pattern in _PATTERNS)
                return next((match[1].decode() for match in matches if match), "")
    except (OSError, ValueError):
        return ""
