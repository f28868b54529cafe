"""``numalet delete``: delete pods of an agent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from numalet.cli import agent_client, output
from numalet.cli.agent_client import EXIT_REFUSED, EXITS

if TYPE_CHECKING:
    from numalet.io.agent_client.client import AgentClient

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
            help="How long its programs may take to end; default: as in the pod's spec.",
            show_default=False,
        ),
    ] = None,
    socket: agent_client.Socket = None,
    root: agent_client.Root = None,
) -> None:
    """Ask pods to end and go; what they held is free when they are gone."""
    options = {} if grace_period is None else {"gracePeriodSeconds": grace_period}
    with agent_client.agent(socket, root) as client:
        results = [_deleted(client, name, options) for name in pods]
    raise typer.Exit(0 if all(results) else EXIT_REFUSED)


def _deleted(client: AgentClient, name: str, options: Mapping[str, int]) -> bool:
    """Delete one pod and print the result; a failure does not stop the others."""
    from numalet.cli.output import complain
    from numalet.core.model.findings import Severity
    from numalet.io.agent_client.client import AgentRefused

    try:
        client.delete(agent_client.pods_path(name), options)
    except AgentRefused as refused:
        complain(Severity.ERROR, f"{refused.reason}: {refused.message}")
        return False
    output.print_line(f"pod/{name} is deleted")
    return True
