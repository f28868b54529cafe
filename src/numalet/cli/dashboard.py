"""``numalet dashboard``: pages of a node for browsers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from numalet.cli import kubelet_options as kubelet
from numalet.cli import machine_options, simulate
from numalet.cli.agent_client import OWN_API, Root, Socket, agent
from numalet.cli.dashboard_links import LinkFormat
from numalet.cli.findings import DashboardAgentAndPieces
from numalet.cli.option_groups import expanded
from numalet.core.model.findings import BadInput

if TYPE_CHECKING:
    from numalet.insight.usecases.simulating import SimulateInputs

EPILOG = """Examples:

  # a link into the dashboard of the agent on this machine (agent --kube-api PORT)
  numalet dashboard

  # and open a browser
  numalet dashboard --open

  # a node that is simulated, until Ctrl-C
  numalet dashboard -m 2n16c2t --memory-per-node 64Gi -c kubelet.yaml pods.yaml

  # a machine that comes with numalet, without any pods
  numalet dashboard -m profile:dgx-h100 -c kubelet.yaml

  # on port 8080
  numalet dashboard -m node7.tar.gz -c kubelet.yaml --listen 8080 pods.yaml

A simulated node is served on this machine alone.
From another machine, with --listen 8080: ssh -L 8080:127.0.0.1:8080 HOST

Exit status: 0 fine, or ended by Ctrl-C; 1 the agent has no port for browsers; 2 unusable input
(also where no agent answers, and a configuration with which the kubelet would not start), 3 a bug.
"""

Listen = Annotated[
    str,
    typer.Option(
        "--listen",
        metavar="[HOST:]PORT",
        help="Where to serve a simulated node: an address of loopback; port 0 is any that is free.",
    ),
]


Output = Annotated[LinkFormat, typer.Option("-o", "--output", help="How the link is printed.")]
Open = Annotated[bool, typer.Option("--open", help="Open the link in a browser.")]


@expanded
def dashboard(
    pods: simulate.Pods = None,
    *,
    config: kubelet.ConfigFile = None,
    machine: machine_options.Chosen,
    devices: machine_options.Devices,
    pod_choice: machine_options.ChosenPods,
    listen: Listen = "0",
    opened: Open = False,
    socket: Socket = None,
    root: Root = None,
    output: Output = LinkFormat.TEXT,
    flags: kubelet.AllFlags,
) -> None:
    """Show a node in a browser: its NUMA nodes, who holds what, and why pods were rejected.

    Without a machine, a configuration or pods it is the node of the agent on this machine.
    """
    from numalet.insight.usecases.simulating import SimulateInputs

    pieces = SimulateInputs(
        machine=machine.choice(),
        config=flags.sources(config),
        pods=tuple(pods or ()),
        **pod_choice.fields(),
        devices=devices.texts,
        device_file=devices.file,
    )
    given = pieces.beside_the_pods()
    if not pieces.pods and not given:
        _of_agent(socket, root, output, is_opened=opened)
        return
    if socket is not None or root is not None:
        beside = ", ".join((*given, *pieces.pods[:1]))
        raise BadInput([DashboardAgentAndPieces(given=beside)])
    raise typer.Exit(_simulated(pieces, listen, output, is_opened=opened))


def _of_agent(
    socket: Path | None, root: Path | None, output: LinkFormat, *, is_opened: bool
) -> None:
    """Ask the agent for a link, and print it."""
    from numalet.cli import dashboard_links

    with agent(socket, root) as client:
        answer = client.post(f"{OWN_API}/dashboardlinks", {})
    link = dashboard_links.of_answer(answer)
    dashboard_links.say(link, output, is_opened=is_opened)


def _simulated(pieces: SimulateInputs, listen: str, link: LinkFormat, *, is_opened: bool) -> int:
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
    dashboard_serving.serve(node, address, is_opened=is_opened, output=link)
    return 0
