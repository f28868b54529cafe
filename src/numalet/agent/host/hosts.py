"""What this host is, in the words that Kubernetes has for it."""

from __future__ import annotations

import platform
from typing import Final

_GO_NAMES: Final = {"x86_64": "amd64", "aarch64": "arm64", "i686": "386"}


def architecture() -> str:
    """The architecture as Go calls it, which labels and images do too."""
    machine = platform.machine()
    return _GO_NAMES.get(machine, machine)
