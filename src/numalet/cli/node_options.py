"""Options shared by commands that work on a node together with its kubelet, or for long."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from numalet.cli.options import Options, option
from numalet.wording.log_line import LogFormat

KUBELET_ROOT: Final = Path("/var/lib/kubelet")
"""The default root directory of a kubelet."""


class LogOptions(Options):
    log_format: LogFormat = option("Form of the log.", default=LogFormat.CONSOLE)
    verbosity: int = option("Level of the log.", name="--v", default=2, min=0, max=10)


def kubelet_root(text: str) -> Any:
    """Make a field the option that names a kubelet's root directory, with this help text."""
    return option(text, "DIR", default=KUBELET_ROOT, envvar="NUMALET_KUBELET_ROOT")
