"""``numalet top``: the node and its pods, redrawn regularly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numalet.cli.agent_client import EXITS, OWN_API, AgentChoice
from numalet.cli.options import Options, option, with_options
from numalet.core.model.findings import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import RenderableType

    from numalet.agent.run.listing import Listing
    from numalet.io.agent_client.client import AgentClient

EPILOG = f"""Examples:

  numalet top

  # once, for a script
  numalet top --once

Ends with Ctrl-C.

{EXITS}"""


class TopOptions(Options):
    once: bool = option("Draw once and exit.")
    every: float = option("How often it is drawn.", "SECONDS", default=2.0, min=0.2)
    agent: AgentChoice


@with_options
def top(options: TopOptions) -> None:
    """Show NUMA nodes and pods as they are, live: promised memory, free memory, CPUs."""
    import sys

    with options.agent.client() as client:

        def picture() -> tuple[list[RenderableType], str]:
            try:
                return _of_agent(client)
            except BadInput as bad:
                return _of_commands(options.agent.commands_without_agent(bad))

        if options.once or not sys.stdout.isatty():
            from numalet.cli import output

            nodes, pods = picture()
            output.print_all(nodes)
            output.print_drawn(f"\n{pods}")
        else:
            _live(picture, options.every)


def _of_agent(client: AgentClient) -> tuple[list[RenderableType], str]:
    from numalet.cli import top_view

    (state,) = client.get(f"{OWN_API}/nodestates")["items"]
    pods: list[Any] = client.get(f"{OWN_API}/podplacements")["items"]
    return top_view.picture(state, pods)


def _of_commands(commands: Listing) -> tuple[list[RenderableType], str]:
    """Return the commands of ``numalet run``, and their shared node."""
    from datetime import UTC, datetime

    from numalet.cli import top_view
    from numalet.cli.ps_view import PodTable

    if commands.node is None:
        return [], PodTable(commands.placements, datetime.now(UTC), is_wide=False).text(
            commands.placements
        )
    return top_view.picture(commands.node, commands.placements)


def _live(picture: Callable[[], tuple[list[RenderableType], str]], every_seconds: float) -> None:
    import time

    from rich.console import Group
    from rich.live import Live
    from rich.text import Text

    from numalet.cli import output

    def drawn() -> Group:
        nodes, pods = picture()
        return Group(*nodes, "", Text.from_ansi(pods, no_wrap=True))

    with Live(drawn(), console=output.literal_console(), screen=True) as live:
        while True:
            time.sleep(every_seconds)
            live.update(drawn())
