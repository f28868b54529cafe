"""The architecture of this host in Go's spelling, as in Kubernetes labels and image names."""

from __future__ import annotations

import platform
from typing import Final

_GO_NAMES: Final = {"x86_64": "amd64", "aarch64": "arm64", "i686": "386"}


def architecture() -> str:
    machine = platform.machine()
    return _GO_NAMES.get(machine, machine)
