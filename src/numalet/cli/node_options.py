"""Options shared by commands that work on a node together with its kubelet, or for long."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final

import typer

from numalet.wording.log_line import LogFormat

KUBELET_ROOT: Final = Path("/var/lib/kubelet")
"""The default root directory of a kubelet."""

Form = Annotated[LogFormat, typer.Option("--log-format", help="Form of the log.")]
Verbosity = Annotated[int, typer.Option("--v", min=0, max=10, help="Level of the log.")]


def kubelet_root(help_text: str) -> Any:
    """Return the option for a kubelet's root directory, with this help text."""
    return typer.Option(
        "--kubelet-root", metavar="DIR", envvar="NUMALET_KUBELET_ROOT", help=help_text
    )
