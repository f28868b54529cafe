"""``numalet dashboard``: pages of a node for browsers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from numalet.cli import kubelet_options as kubelet
from numalet.cli import machine_options
from numalet.cli.option_groups import expanded

if TYPE_CHECKING:
    from numalet.insight.usecases.simulating import SimulateInputs

EPILOG = """Examples:

  # a node that is simulated, until Ctrl-C
  numalet dashboard -m 2n16c2t --memory-per-node 64Gi -c kubelet.yaml pods.yaml

  # a machine that comes with numalet, without any pods
  numalet dashboard -m profile:dgx-h100 -c kubelet.yaml

  # on port 8080, and open a browser
  numalet dashboard -m node7.tar.gz -c kubelet.yaml --listen 8080 --open pods.yaml

Pages are served on this machine alone. From another one: ssh -L 8080:127.0.0.1:8080 NODE

Exit status: 0 ended by Ctrl-C, 2 unusable input (also a configuration with which the kubelet
would not start), 3 a bug.
"""

Pods = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="PODS...",
        help=(
            "Manifests (pods, lists, workloads; YAML or JSON), '-' for the standard input,"
            " or one scenario file."
        ),
        show_default=False,
    ),
]
Listen = Annotated[
    str,
    typer.Option(
        "--listen",
        metavar="[HOST:]PORT",
        help="Where to serve the pages: an address of loopback; port 0 is any that is free.",
    ),
]
Open = Annotated[bool, typer.Option("--open", help="Open the link in a browser.")]


@expanded
def dashboard(
    pods: Pods = None,
    *,
    config: kubelet.ConfigFile = None,
    machine: machine_options.Chosen,
    devices: machine_options.Devices,
    pod_choice: machine_options.ChosenPods,
    listen: Listen = "0",
    opened: Open = False,
    flags: kubelet.AllFlags,
) -> None:
    """Show a node in a browser: its NUMA nodes, who holds what, and why pods were rejected."""
    from numalet.insight.usecases.simulating import SimulateInputs

    pieces = SimulateInputs(
        machine=machine.choice(),
        config=flags.sources(config),
        pods=tuple(pods or ()),
        **pod_choice.fields(),
        devices=devices.texts,
        device_file=devices.file,
    )
    raise typer.Exit(_simulated(pieces, listen, is_opened=opened))


def _simulated(pieces: SimulateInputs, listen: str, *, is_opened: bool) -> int:
    """Serve a simulated node; the exit status."""
    from datetime import UTC, datetime
    from functools import partial

    from numalet.cli import dashboard_serving, output, simulate_view
    from numalet.cli.output import OutputFormat
    from numalet.core.config.rules import StartRefused
    from numalet.dashboard import simulated
    from numalet.insight.usecases import simulating

    address = dashboard_serving.address(listen)
    # A node without pods is worth seeing, too.
    read = simulating.prepare if pieces.pods else partial(simulating.prepare_inputs, inputs=[])
    prepared = read(pieces)
    output.show_findings(prepared.notes)
    session = prepared.session
    if isinstance(session, StartRefused):
        release = prepared.scenario.behaviour.release
        simulate_view.show_start_error(session, OutputFormat.TABLE, prepared.state_dir, release)
        return 2
    title = pieces.node_name or pieces.machine.text or "this machine"
    node = simulated.source(title, prepared.scenario, session, datetime.now(UTC), prepared.notes)
    dashboard_serving.serve(node, address, is_opened=is_opened)
    return 0
