"""``numalet delete``: delete pods of an agent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import typer

from numalet.cli import agent_client, output
from numalet.cli.agent_client import EXIT_REFUSED, EXITS, AgentChoice
from numalet.cli.options import REQUIRED, Options, argument, option, with_options

if TYPE_CHECKING:
    from numalet.io.agent_client.client import AgentClient

EPILOG = f"""Examples:

  numalet delete web

  # at once, without waiting for it to end by itself
  numalet delete web --grace-period 0

{EXITS}"""


class DeleteOptions(Options):
    pods: list[str] = argument("Names, or namespace/name.", "POD...", default=REQUIRED)
    grace_period: int | None = option(
        "How long its programs may take to end; default: as in the pod's spec.", "SECONDS", min=0
    )
    agent: AgentChoice


@with_options
def delete(options: DeleteOptions) -> None:
    """Stop and delete pods; their resources are released when their containers have ended."""
    seconds = options.grace_period
    wanted = {} if seconds is None else {"gracePeriodSeconds": seconds}
    with options.agent.client() as client:
        results = [_deleted(client, name, wanted) for name in options.pods]
    raise typer.Exit(0 if all(results) else EXIT_REFUSED)


def _deleted(client: AgentClient, name: str, wanted: Mapping[str, int]) -> bool:
    """Delete one pod and print the result; a failure does not stop the others."""
    from numalet.cli.output import complain
    from numalet.core.model.findings import Severity
    from numalet.io.agent_client.client import AgentRefused

    try:
        client.delete(agent_client.pods_path(name), wanted)
    except AgentRefused as refused:
        complain(Severity.ERROR, f"{refused.reason}: {refused.message}")
        return False
    output.print_line(f"pod/{name} is deleted")
    return True
