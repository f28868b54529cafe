"""``numalet fleet dashboard``, ``serve`` and ``wake``: commands that run until a signal comes."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import typer

from numalet.cli import dashboard, output
from numalet.cli.cluster_options import ClusterOptions
from numalet.cli.fleet_sources import SHAPE, Source
from numalet.cli.helping import Command, with_line_breaks
from numalet.cli.options import Options, option, with_options

_DASHBOARD: Final = """Examples:

  # the cluster of the kubeconfig, followed until Ctrl-C
  numalet fleet dashboard

  # what kubectl printed, on port 8080, in a browser
  numalet fleet dashboard --dump dump.json --listen 8080 --open

Pages are served on this machine alone; the link that is printed works once.
From another machine, with --listen 8080: ssh -L 8080:127.0.0.1:8080 HOST

Exit status: 0 ended by Ctrl-C, 2 invalid input, 3 a bug.
"""
_SERVE: Final = """Examples:

  numalet fleet serve
  numalet fleet serve --listen 0.0.0.0:9646 --shape train.yaml
  numalet fleet serve --dump dump.json --every 30

Exit status: 0 ended by Ctrl-C or SIGTERM, 2 invalid input, 3 a bug.
"""
_WAKE: Final = """Examples:

  # one for a cluster, where state is published and pods wait for it
  numalet fleet wake --kubeconfig cluster.yaml

It changes the label numalet.dev/changed of a node, only while a pod waits that the node would have
now; it needs get, list, watch of nodes, pods and numalet.dev, and patch of nodes.

Exit status: 0 ended by a signal, 2 invalid input or the API server refuses access, 3 a bug.
"""


class FleetDashboardOptions(Options):
    source: Source
    listen: str = option(
        "Where to serve the pages: a loopback address; port 0 chooses a free port.",
        "[HOST:]PORT",
        default="0",
    )
    opened: bool = dashboard.OPEN


@with_options
def fleet_dashboard(options: FleetDashboardOptions) -> None:
    """Show a cluster in a browser: traps, free room per NUMA node, and where a pod would fit."""
    from numalet.cli import dashboard_serving, fleet_sources
    from numalet.cluster.following import StillFleet

    address = dashboard_serving.address(options.listen)
    if options.source.is_live:
        import asyncio

        asyncio.run(
            fleet_sources.followed_dashboard(options.source, address, is_opened=options.opened)
        )
        return
    # Read before the files, which another program may be writing.
    paths = [options.source.fleet] if options.source.fleet else map(Path, options.source.dump)
    files = list(paths)
    made_at = fleet_sources.made_at(files)
    name = ", ".join("the standard input" if str(each) == "-" else each.name for each in files)
    still = StillFleet(fleet_sources.opened(options.source).cluster, name, made_at)
    dashboard_serving.serve(None, address, is_opened=options.opened, fleet=still)


class ServeOptions(Options):
    listen: str = option(
        "Where /metrics is; port 0 for any.", "HOST:PORT", default="127.0.0.1:9646"
    )
    every: float = option(
        "How often --dump or --fleet is read again; a cluster is followed instead.",
        "SECONDS",
        default=15.0,
        min=0.2,
    )
    shape: list[str] = SHAPE
    source: Source


@with_options
def serve(options: ServeOptions) -> None:
    """Serve metrics of each pool: stranded resources, trap nodes, fits of shapes, publishers' age.

    The metrics follow a change in the cluster within about a second. While the API server cannot
    be watched, they keep their last values, numalet_fleet_up is 0, and
    numalet_fleet_view_age_seconds is their age. Alert rules are in packaging/prometheus. Once the
    first answer is ready, the error stream has the line 'serving', and /readyz answers 200.
    /healthz always answers 200.
    """
    from numalet.cli import fleet_sources

    shapes = fleet_sources.shapes(options.shape)
    fleet_sources.serve(options.source, shapes, options.listen, options.every)


@with_options
def wake(cluster: ClusterOptions) -> None:
    """Touch nodes for which pods wait, so that the scheduler tries these pods again."""
    import asyncio

    from numalet.cluster import waker

    asyncio.run(waker.live(cluster.access(), output.say))


def register(app: typer.Typer) -> None:
    app.command(
        "dashboard",
        cls=Command,
        short_help="Show a cluster in a browser.",
        epilog=with_line_breaks(_DASHBOARD),
    )(fleet_dashboard)
    app.command(
        "serve",
        cls=Command,
        short_help="Export stranded resources, traps and fits to Prometheus.",
        epilog=with_line_breaks(_SERVE),
    )(serve)
    app.command(
        "wake",
        cls=Command,
        short_help="Requeue pending pods when a node can admit them.",
        epilog=with_line_breaks(_WAKE),
    )(wake)
