"""``numalet dashboard``: pages of a node for browsers."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from numalet.cli import kubelet_options as kubelet
from numalet.cli.agent_client import OWN_API, AgentChoice
from numalet.cli.dashboard_links import LinkFormat
from numalet.cli.node_options import DeviceOptions, MachineOptions, PodChoice
from numalet.cli.options import Options, argument, option, with_options
from numalet.core.model import input_error
from numalet.core.model.findings import BadInput

if TYPE_CHECKING:
    from numalet.insight.usecases.simulating import SimulateInputs

EPILOG = """Examples:

  # a link into the dashboard of the agent on this machine (agent --kube-api PORT)
  numalet dashboard

  # and open a browser
  numalet dashboard --open

  # a simulated node, until Ctrl-C
  numalet dashboard -m 2n16c2t --memory-per-node 64Gi -c kubelet.yaml pods.yaml

  # a built-in machine, without pods
  numalet dashboard -m profile:dgx-h100 -c kubelet.yaml

  # on port 8080
  numalet dashboard -m node7.tar.gz -c kubelet.yaml --listen 8080 pods.yaml

  # the kubelet of this machine, without an agent, until Ctrl-C
  numalet dashboard --kubelet-root /var/lib/kubelet

  # state files that were copied from another machine
  numalet dashboard --kubelet-root node7/kubelet -m node7.tar.gz -c node7/config.yaml

This command itself serves only on loopback.
From another machine, with --listen 8080: ssh -L 8080:127.0.0.1:8080 HOST

Exit status: 0 success, or ended by Ctrl-C; 1 the agent has no port for browsers; 2 invalid input,
no agent answers, or the kubelet would not start with the configuration; 3 a bug.
"""

_BESIDE_A_KUBELET: Final = frozenset(
    {
        *("--machine", "--memory-per-node", "--hugepages-per-node", "--config", "--node-name"),
        *("--kubelet-version", "--device", "--devices"),
    }
)
"""Options that complement the node of a kubelet."""

OPEN: Final = option("Open the link in a browser.", name="--open")


class DashboardOptions(Options):
    pods: list[str] = argument(
        "Manifests of pods for a simulated node (pods, lists, workloads; YAML or JSON), '-' for"
        " the standard input, or one scenario file.",
        "[PODS]...",
    )
    config: Path | None = kubelet.CONFIG_FILE
    machine: MachineOptions
    devices: DeviceOptions
    pod_choice: PodChoice
    listen: str = option(
        "Where to serve a node without an agent: an address of loopback; port 0, the default, is"
        " any that is free.",
        "[HOST:]PORT",
        default="",
    )
    opened: bool = OPEN
    kubelet_root: Path | None = option(
        "Show the kubelet with this root directory, without an agent. Default: /var/lib/kubelet, if"
        " no agent answers.",
        "DIR",
    )
    agent: AgentChoice
    output: LinkFormat = option("How the link is printed.", name="-o", default=LinkFormat.TEXT)
    flags: kubelet.KubeletFlags


@with_options
def dashboard(options: DashboardOptions) -> None:
    """Show a node in a browser: its NUMA nodes, who holds what, and why pods were rejected.

    Without a machine, a configuration or pods it is the node of the agent on this machine; without
    an agent, the node of the kubelet on this machine.
    """
    from numalet.insight.usecases.simulating import SimulateInputs

    pieces = SimulateInputs(
        machine=options.machine.choice(),
        config=options.flags.sources(options.config),
        pods=tuple(options.pods),
        **options.pod_choice.fields(),
        **options.devices.fields(),
    )
    given = (*pieces.beside_the_pods(), *pieces.pods[:1])
    if options.kubelet_root is not None:
        agent_options = ("--socket or --root",) if options.agent.is_named else ()
        _of_kubelet(options.kubelet_root, pieces, options, agent_options)
    elif not given:
        _of_agent(options)
    elif options.agent.is_named:
        raise input_error.Conflict(
            f"{', '.join(given)} cannot be combined with --socket or --root: the first "
            "describes a simulated node, the others name an agent"
        ).bad_input()
    else:
        raise typer.Exit(_simulated(pieces, options))


def _of_agent(options: DashboardOptions) -> None:
    """Get a link from the agent and print it; without an agent, serve the kubelet's node."""
    from numalet.cli import dashboard_links
    from numalet.cli.output import show_findings
    from numalet.insight.usecases.simulating import SimulateInputs
    from numalet.io import kubelets

    try:
        with options.agent.client() as client:
            if options.listen:
                client.get("/version")
                raise input_error.Conflict(
                    "--listen is not for a running agent, which serves its own pages; leave it "
                    "out, or name a kubelet with --kubelet-root"
                ).bad_input()
            answer = client.post(f"{OWN_API}/dashboardlinks", {})
    except BadInput as bad:
        if options.agent.is_named or bad.findings[0].code != "client/no-agent":
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
        _of_kubelet(kubelets.ROOT, SimulateInputs(), options)
        return
    link = dashboard_links.of_answer(answer)
    dashboard_links.say(link, options.output, is_opened=options.opened)


def _of_kubelet(
    kubelet_root: Path,
    pieces: SimulateInputs,
    options: DashboardOptions,
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
    address = dashboard_serving.address(options.listen or "0")
    node = observed_node.observed_node(
        AgentOptions(
            kubelet_root=kubelet_root,
            config_file=options.config,
            release=pieces.config.release,
            kubelet_version=next((each.version for each in pieces.config.kubelets), None),
            machine=pieces.machine,
            devices=pieces.devices,
            devices_file=pieces.device_file,
            node_name=pieces.node_name or _folder_name(kubelet_root, options),
        ),
        show_findings,
        dashboard_serving.complain,
    )
    dashboard_serving.serve(node, address, is_opened=options.opened, output=options.output)


def _folder_name(kubelet_root: Path, options: DashboardOptions) -> str:
    """Return the name of a copy, whose files do not name the node; empty for this machine."""
    return kubelet_root.resolve().name if options.machine.machine not in (None, "/") else ""


def _simulated(pieces: SimulateInputs, options: DashboardOptions) -> int:
    from datetime import UTC, datetime
    from functools import partial

    from numalet.cli import dashboard_serving, output, simulate_view
    from numalet.core.config.rules import StartRefused
    from numalet.dashboard import simulated
    from numalet.insight.usecases import simulating

    address = dashboard_serving.address(options.listen or "0")
    # A node without pods is useful, too.
    read = simulating.prepare if pieces.pods else partial(simulating.prepare_inputs, inputs=[])
    prepared = read(pieces)
    output.show_findings(prepared.notes)
    session = prepared.session
    if isinstance(session, StartRefused):
        release = prepared.scenario.behaviour.release
        simulate_view.show_start_error(session, prepared.state_dir, release)
        return 2
    title = pieces.node_name or pieces.machine.text or "this machine"
    node = simulated.source(title, prepared.scenario, session, datetime.now(UTC), prepared.notes)
    dashboard_serving.serve(
        contextlib.nullcontext(node), address, is_opened=options.opened, output=options.output
    )
    return 0
