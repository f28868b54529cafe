"""``numalet fleet dashboard``: pages of a whole cluster for browsers."""

from __future__ import annotations

import typer

from numalet.cli import dashboard, fleet_options
from numalet.cli.options import Options, option, with_options

EPILOG = """Examples:

  # the cluster of the kubeconfig, followed until Ctrl-C
  numalet fleet dashboard

  # what kubectl printed, on port 8080, in a browser
  numalet fleet dashboard --dump dump.json --listen 8080 --open

Pages are served on this machine alone; the link that is printed works once.
From another machine, with --listen 8080: ssh -L 8080:127.0.0.1:8080 HOST

Exit status: 0 ended by Ctrl-C, 2 unusable input, 3 a bug.
"""


class FleetDashboardOptions(Options):
    source: fleet_options.Source
    listen: str = option(
        "Where to serve the pages: an address of loopback; port 0 is any that is free.",
        "[HOST:]PORT",
        default="0",
    )
    opened: bool = dashboard.OPEN


@with_options
def fleet_dashboard(options: FleetDashboardOptions) -> None:
    """Show a cluster in a browser: traps, free room per NUMA node, and where a pod would fit."""
    from numalet.cli import dashboard_serving, fleet_sources
    from numalet.cluster.shown_fleet import StillFleet

    address = dashboard_serving.address(options.listen)
    if options.source.is_live:
        import asyncio

        asyncio.run(
            fleet_sources.followed_dashboard(options.source, address, is_opened=options.opened)
        )
        return
    still = StillFleet(fleet_sources.opened(options.source).cluster)
    dashboard_serving.serve(None, address, is_opened=options.opened, fleet=still)


def register(app: typer.Typer) -> None:
    from numalet.cli.helping import Command, with_line_breaks

    app.command(
        "dashboard",
        cls=Command,
        short_help="Show a cluster in a browser.",
        epilog=with_line_breaks(EPILOG),
    )(fleet_dashboard)
