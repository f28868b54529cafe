"""Options that name a cluster, of every command that works with one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Kubeconfig = Annotated[
    Path | None,
    typer.Option(
        "--kubeconfig",
        metavar="FILE",
        help="The cluster; default: $KUBECONFIG, ~/.kube/config, or the one around this pod.",
        show_default=False,
    ),
]
Context = Annotated[
    str | None,
    typer.Option(
        "--context",
        metavar="NAME",
        help="A context of the kubeconfig other than its current one.",
        show_default=False,
    ),
]
