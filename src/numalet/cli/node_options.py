"""Options of commands that work on a node, beside its kubelet or for long, written once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final

import typer

from numalet.wording.log_line import LogFormat

KUBELET_ROOT: Final = Path("/var/lib/kubelet")
"""Where a kubelet keeps its state if nothing else is said."""

Form = Annotated[LogFormat, typer.Option("--log-format", help="Form of the log.")]
Verbosity = Annotated[int, typer.Option("--v", min=0, max=10, help="Level of the log.")]


def kubelet_root(help_text: str) -> Any:
    """The option that names a kubelet's root directory, with what it is for."""
    return typer.Option(
        "--kubelet-root", metavar="DIR", envvar="NUMALET_KUBELET_ROOT", help=help_text
    )
