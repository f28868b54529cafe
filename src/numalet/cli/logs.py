"""``numalet logs``: the output of a container."""

from __future__ import annotations

from typing import Annotated

import typer

from numalet.cli import agent_client, output, streams
from numalet.cli.agent_client import EXITS, PodName

EPILOG = f"""Examples:

  numalet logs web
  numalet logs -f web --tail 20

  # of the attempt before the last restart
  numalet logs -p web -c app

{EXITS}"""


def logs(
    pod: PodName,
    *,
    container: Annotated[
        str | None,
        typer.Option(
            "-c", "--container", metavar="NAME", help="The container, if the pod has several."
        ),
    ] = None,
    follow: Annotated[
        bool, typer.Option("-f", "--follow", help="Keep printing until it ends.")
    ] = False,
    previous: Annotated[
        bool, typer.Option("-p", "--previous", help="The previous attempt.")
    ] = False,
    tail: Annotated[
        int | None,
        typer.Option("--tail", metavar="LINES", min=0, help="Only the last lines."),
    ] = None,
    socket: agent_client.Socket = None,
    root: agent_client.Root = None,
) -> None:
    """Print what a container has written to its output."""
    query: dict[str, str | int | bool | None] = {
        "container": container,
        "follow": follow or None,
        "previous": previous or None,
        "tailLines": tail,
    }
    with agent_client.agent(socket, root) as client:
        for line in client.stream(f"{agent_client.pods_path(pod)}/log", query):
            output.print_log(line)
            streams.flush()
