"""``numalet top``: the node and its pods, drawn again and again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from numalet.cli import agent_client
from numalet.cli.agent_client import EXITS, OWN_API

if TYPE_CHECKING:
    from rich.console import RenderableType

    from numalet.adapters.agent_client.client import AgentClient

EPILOG = f"""Examples:

  numalet top

  # once, for a script
  numalet top --once

Ends with Ctrl-C.

{EXITS}"""


def top(
    *,
    once: Annotated[bool, typer.Option("--once", help="Draw one picture and end.")] = False,
    every: Annotated[
        float,
        typer.Option("--every", metavar="SECONDS", min=0.2, help="How often it is drawn."),
    ] = 2.0,
    socket: agent_client.Socket = None,
    root: agent_client.Root = None,
) -> None:
    """Show NUMA nodes and pods as they are, live: promised memory, free memory, CPUs."""
    import sys

    with agent_client.agent(socket, root) as client:
        if once or not sys.stdout.isatty():
            from numalet.cli import output

            nodes, pods = _picture(client)
            output.print_all(nodes)
            sys.stdout.write(f"\n{pods}")
        else:
            _live(client, every)


def _picture(client: AgentClient) -> tuple[list[RenderableType], str]:
    from numalet.cli import top_view

    (state,) = client.get(f"{OWN_API}/nodestates")["items"]
    pods: list[Any] = client.get(f"{OWN_API}/podplacements")["items"]
    return top_view.picture(state, pods)


def _live(client: AgentClient, every_seconds: float) -> None:
    import time

    from rich.console import Console, Group
    from rich.live import Live
    from rich.text import Text

    def drawn() -> Group:
        nodes, pods = _picture(client)
        return Group(*nodes, "", Text.from_ansi(pods, no_wrap=True))

    with Live(drawn(), console=Console(highlight=False), screen=True) as live:
        while True:
            time.sleep(every_seconds)
            live.update(drawn())
