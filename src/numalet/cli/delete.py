"""``numalet delete``: let pods end."""

from __future__ import annotations

from typing import Annotated

import typer

from numalet.cli import agent_client
from numalet.cli.agent_client import EXITS

EPILOG = f"""Examples:

  numalet delete web

  # at once, without waiting for it to end by itself
  numalet delete web --grace-period 0

{EXITS}"""


def delete(
    pods: Annotated[list[str], typer.Argument(metavar="POD...", help="Names, or namespace/name.")],
    *,
    grace_period: Annotated[
        int | None,
        typer.Option(
            "--grace-period",
            metavar="SECONDS",
            min=0,
            help="How long its programs may take to end; default: as the pod says.",
            show_default=False,
        ),
    ] = None,
    socket: agent_client.Socket = None,
    root: agent_client.Root = None,
) -> None:
    """Ask pods to end and go; what they held is free when they are gone."""
    options = {} if grace_period is None else {"gracePeriodSeconds": grace_period}
    with agent_client.agent(socket, root) as client:
        for name in pods:
            client.delete(agent_client.pods_path(name), options)
            typer.echo(f"pod/{name} is deleted")
