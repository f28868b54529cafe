"""``numalet top``: the node and its pods, redrawn regularly."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeAlias

from numalet.cli.agent_client import EXITS, OWN_API, AgentChoice
from numalet.cli.options import Options, option, with_options
from numalet.core.model.findings import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

Listed: TypeAlias = "tuple[Mapping[str, Any] | None, Sequence[Mapping[str, Any]]]"
"""The node, if there is one, and its pods."""

EPILOG = f"""Examples:

  numalet top

  # once, for a script
  numalet top --once

Keys: q or Ctrl-C ends it. The arrows up and down, PgUp, PgDn, Home and End scroll. Left and right
choose the column to sort by, r reverses the order. / filters by name or status. Esc shows all pods
again, first those that crash or were rejected.

{EXITS}"""


class TopOptions(Options):
    once: bool = option("Draw once and exit.")
    every: float = option("How often it is drawn.", "SECONDS", default=2.0, min=0.2)
    agent: AgentChoice


@with_options
def top(options: TopOptions) -> None:
    """Show NUMA nodes and pods as they are, live: promised memory, free memory, CPUs."""
    from numalet.cli import output, top_view
    from numalet.cli.ps_view import PodTable

    with options.agent.client() as client:

        def ask() -> Listed:
            try:
                (state,) = client.get(f"{OWN_API}/nodestates")["items"]
                return state, client.get(f"{OWN_API}/podplacements")["items"]
            except BadInput as bad:
                commands = options.agent.commands_without_agent(bad)
                return commands.node, commands.placements

        if options.once or not output.is_screen("stdout"):
            state, pods = ask()
            now = datetime.now(UTC)
            listed = top_view.ordered(pods, top_view.View(), now)
            output.print_all(top_view.picture(state, pods))
            output.print_drawn(f"\n{PodTable(listed, now, top_view.COLUMNS).text(listed)}")
        else:
            _live(ask, options.every)


def _live(ask: Callable[[], Listed], every_seconds: float) -> None:
    import shutil
    import time

    from rich.live import Live
    from rich.text import Text

    from numalet.cli import keyboard, output, top_view

    view: top_view.View | None = top_view.View()
    console = output.literal_console()
    with keyboard.keys() as pressed, Live(console=console, screen=True, auto_refresh=False) as live:
        state, pods = ask()
        asked = time.monotonic()
        while view is not None:
            height = shutil.get_terminal_size().lines
            nodes = output.drawn(top_view.picture(state, pods))
            screen = top_view.screen(nodes, pods, view, height, datetime.now(UTC))
            text = Text.from_ansi("\n".join(screen.lines), no_wrap=True, overflow="crop")
            live.update(text, refresh=True)
            for key in pressed(max(0.0, asked + every_seconds - time.monotonic())):
                view = None if view is None else top_view.pressed(view, key, screen)
            if time.monotonic() >= asked + every_seconds:
                state, pods = ask()
                asked = time.monotonic()
