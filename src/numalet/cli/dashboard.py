"""``numalet dashboard``: pages of a node for browsers."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from numalet.cli import kubelet_options as kubelet
from numalet.cli import machine_options
from numalet.cli.agent_client import OWN_API, Root, Socket, agent
from numalet.cli.dashboard_links import LinkFormat
from numalet.cli.option_groups import expanded
from numalet.core.model import input_error
from numalet.core.model.findings import BadInput
from numalet.core.model.value import Value

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

  # a kubelet without an agent, by what it leaves on this machine, until Ctrl-C
  numalet dashboard --kubelet-root /var/lib/kubelet

  # state files that were copied from another machine
  numalet dashboard --kubelet-root node7/kubelet -m node7.tar.gz -c node7/config.yaml

What this command serves itself is served on this machine alone.
From another machine, with --listen 8080: ssh -L 8080:127.0.0.1:8080 HOST

Exit status: 0 fine, or ended by Ctrl-C; 1 the agent has no port for browsers; 2 unusable input
(also where no agent answers, and a configuration with which the kubelet would not start), 3 a bug.
"""

_BESIDE_A_KUBELET: Final = frozenset(
    {
        *("--machine", "--memory-per-node", "--hugepages-per-node", "--config", "--node-name"),
        *("--kubelet-version", "--device", "--devices"),
    }
)
"""Options that complement the node of a kubelet."""

Pods = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[PODS]...",
        help="Manifests of pods for a simulated node (pods, lists, workloads; YAML or JSON), '-'"
        " for the standard input, or one scenario file.",
        show_default=False,
    ),
]
Listen = Annotated[
    str,
    typer.Option(
        "--listen",
        metavar="[HOST:]PORT",
        help="Where to serve a node without an agent: an address of loopback; port 0, the default,"
        " is any that is free.",
        show_default=False,
    ),
]
KubeletRoot = Annotated[
    Path | None,
    typer.Option(
        "--kubelet-root",
        metavar="DIR",
        help="Show the kubelet of this root directory by what it leaves there; no agent is asked."
        " Default: /var/lib/kubelet, where no agent answers.",
        show_default=False,
    ),
]

Output = Annotated[LinkFormat, typer.Option("-o", "--output", help="How the link is printed.")]
Open = Annotated[bool, typer.Option("--open", help="Open the link in a browser.")]


@expanded
def dashboard(
    pods: Pods = None,
    *,
    config: kubelet.ConfigFile = None,
    machine: machine_options.Chosen,
    devices: machine_options.Devices,
    pod_choice: machine_options.ChosenPods,
    listen: Listen = "",
    opened: Open = False,
    kubelet_root: KubeletRoot = None,
    socket: Socket = None,
    root: Root = None,
    output: Output = LinkFormat.TEXT,
    flags: kubelet.AllFlags,
) -> None:
    """Show a node in a browser: its NUMA nodes, who holds what, and why pods were rejected.

    Without a machine, a configuration or pods it is the node of the agent on this machine; without
    an agent, the node of the kubelet on this machine.
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
    wanted = Wanted(listen, output, is_opened=opened)
    given = (*pieces.beside_the_pods(), *pieces.pods[:1])
    names_agent = socket is not None or root is not None
    if kubelet_root is not None:
        agent_options = ("--socket or --root",) if names_agent else ()
        _of_kubelet(kubelet_root, config, pieces, wanted, agent_options)
    elif not given:
        _of_agent(socket, root, wanted)
    elif names_agent:
        raise input_error.Conflict(
            f"{', '.join(given)} cannot be combined with --socket or --root: the first "
            "describes a simulated node, the others name an agent"
        ).bad_input()
    else:
        raise typer.Exit(_simulated(pieces, wanted))


class Wanted(Value):
    """The listen address, and the format of the link."""

    listen: str
    link: LinkFormat
    is_opened: bool


def _of_agent(socket: Path | None, root: Path | None, wanted: Wanted) -> None:
    """Get a link from the agent and print it; without an agent, serve the kubelet's node."""
    from numalet.cli import dashboard_links
    from numalet.cli.output import show_findings
    from numalet.insight.usecases.simulating import SimulateInputs
    from numalet.io import kubelets

    try:
        with agent(socket, root) as client:
            if wanted.listen:
                client.get("/version")
                raise input_error.Conflict(
                    "--listen is not for a running agent, which serves its own pages; leave it "
                    "out, or name a kubelet with --kubelet-root"
                ).bad_input()
            answer = client.post(f"{OWN_API}/dashboardlinks", {})
    except BadInput as bad:
        is_named = socket is not None or root is not None
        if is_named or bad.findings[0].code != "client/no-agent":
            raise
        from numalet.agent.controller import observed_node

        if not observed_node.is_there(kubelets.ROOT):
            raise
        show_findings(
            [
                input_error.Assumed(
                    f"no agent answers; showing the kubelet in {kubelets.ROOT!s}: its state "
                    "files, PodResources and cgroups"
                )
            ]
        )
        _of_kubelet(kubelets.ROOT, None, SimulateInputs(), wanted)
        return
    link = dashboard_links.of_answer(answer)
    dashboard_links.say(link, wanted.link, is_opened=wanted.is_opened)


def _of_kubelet(
    kubelet_root: Path,
    config: Path | None,
    pieces: SimulateInputs,
    wanted: Wanted,
    others: tuple[str, ...] = (),
) -> None:
    """Serve the node of the kubelet with this root directory."""
    from numalet.agent.controller import observed_node
    from numalet.agent.controller.settings import AgentOptions
    from numalet.cli import dashboard_serving
    from numalet.cli.output import show_findings

    without = tuple(each for each in pieces.beside_the_pods() if each not in _BESIDE_A_KUBELET)
    given = (*others, *without, *pieces.pods[:1])
    if given:
        raise input_error.Conflict(
            f"--kubelet-root cannot be combined with {', '.join(given)}; only --machine, "
            "--config, devices, --node-name and --kubelet-version can"
        ).bad_input()
    if not observed_node.is_there(kubelet_root):
        raise input_error.NotFound(
            f"no kubelet runs in {kubelet_root!s}, and no readable state files are there"
        ).bad_input()
    address = dashboard_serving.address(wanted.listen or "0")
    node = observed_node.observed_node(
        AgentOptions(
            kubelet_root=kubelet_root,
            config_file=config,
            release=pieces.config.release,
            kubelet_version=next((each.version for each in pieces.config.kubelets), None),
            machine=pieces.machine,
            devices=pieces.devices,
            devices_file=pieces.device_file,
            node_name=pieces.node_name or "",
        ),
        show_findings,
        dashboard_serving.complain,
    )
    dashboard_serving.serve(node, address, is_opened=wanted.is_opened, output=wanted.link)


def _simulated(pieces: SimulateInputs, wanted: Wanted) -> int:
    from datetime import UTC, datetime
    from functools import partial

    from numalet.cli import dashboard_serving, output, simulate_view
    from numalet.cli.output import OutputFormat
    from numalet.core.config.rules import StartRefused
    from numalet.dashboard import simulated
    from numalet.insight.usecases import simulating

    address = dashboard_serving.address(wanted.listen or "0")
    # A node without pods is useful, too.
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
    dashboard_serving.serve(
        contextlib.nullcontext(node), address, is_opened=wanted.is_opened, output=wanted.link
    )
    return 0
