"""``numalet fleet dashboard``: pages of a whole cluster for browsers."""

from __future__ import annotations

from typing import Annotated

import typer

from numalet.cli import dashboard, fleet_options
from numalet.cli.option_groups import expanded

EPILOG = """Examples:

  # the cluster of the kubeconfig, followed until Ctrl-C
  numalet fleet dashboard

  # what kubectl printed, on port 8080, in a browser
  numalet fleet dashboard --dump dump.json --listen 8080 --open

Pages are served on this machine alone; the link that is printed works once.
From another machine, with --listen 8080: ssh -L 8080:127.0.0.1:8080 HOST

Exit status: 0 ended by Ctrl-C, 2 unusable input, 3 a bug.
"""

Listen = Annotated[
    str,
    typer.Option(
        "--listen",
        metavar="[HOST:]PORT",
        help="Where to serve the pages: an address of loopback; port 0 is any that is free.",
    ),
]


@expanded
def fleet_dashboard(
    *,
    source: fleet_options.Source,
    listen: Listen = "0",
    opened: dashboard.Open = False,
) -> None:
    """Show a cluster in a browser: traps, free room per NUMA node, and where a pod would fit."""
    from numalet.cli import dashboard_serving, fleet_sources
    from numalet.cluster.shown_fleet import StillFleet

    address = dashboard_serving.address(listen)
    if source.is_live:
        import asyncio

        asyncio.run(fleet_sources.followed_dashboard(source, address, is_opened=opened))
        return
    still = StillFleet(fleet_sources.opened(source).cluster)
    dashboard_serving.serve(None, address, is_opened=opened, fleet=still)


def register(app: typer.Typer) -> None:
    from numalet.cli.helping import Command, with_line_breaks

    app.command(
        "dashboard",
        cls=Command,
        short_help="Show a cluster in a browser.",
        epilog=with_line_breaks(EPILOG),
    )(fleet_dashboard)
