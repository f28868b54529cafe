"""Options for the connection to a cluster, shared by all commands that use one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from numalet.core.model import input_error

if TYPE_CHECKING:
    from numalet.cluster.leading import LeaseName

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


def lease_name(text: str) -> LeaseName:
    """Parse ``NAMESPACE/NAME``. Raises ``BadInput``."""
    from numalet.cluster.leading import LeaseName

    namespace, _, name = text.partition("/")
    if not namespace or not name or "/" in name:
        raise input_error.Invalid(
            f"invalid --lease {text!r}", expected="NAMESPACE/NAME"
        ).bad_input()
    return LeaseName(namespace, name)
