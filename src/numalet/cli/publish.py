"""``numalet publish``: keep a node's objects in the cluster current, together with its kubelet."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from numalet.cli import machine_options, node_options, output, release_options
from numalet.cli.cluster_options import Context, Kubeconfig
from numalet.cli.option_groups import expanded
from numalet.cli.output import OutputFormat
from numalet.wording.log_line import LogFormat

EPILOG = """Examples:

  # on a node, beside its kubelet, until it is stopped
  numalet publish

  # what would be written of this node, without any cluster
  numalet publish --dry-run

  # once, with a kubeconfig, and exit
  numalet publish --once --kubeconfig admin.conf --node-name node7

  # take the NodeResourceTopology over from another publisher that was stopped
  numalet publish --take-over

  # leave the NodeResourceTopology to another publisher
  numalet publish --no-topology

Nothing on the node is written, and no process is changed. The verbs that it needs are in
packaging/kubernetes.

Exit status: 0 stopped, or everything was stored; 1 the API server refused an object (--once);
2 there is nothing to publish, or no API server; 3 a bug.
"""

EXIT_REFUSED: Final = 1


class ObjectFormat(StrEnum):
    YAML = "yaml"
    JSON = "json"


@expanded
def publish(
    *,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    node_name: Annotated[
        str,
        typer.Option(
            "--node-name",
            metavar="NAME",
            envvar="NODE_NAME",
            help="Name of the Node; default: what the kubelet's command line says, else the"
            " host's name.",
            show_default=False,
        ),
    ] = "",
    kubelet_root: Annotated[
        Path,
        node_options.kubelet_root("Root directory of the kubelet."),
    ] = node_options.KUBELET_ROOT,
    pod_resources: Annotated[
        Path | None,
        typer.Option(
            "--pod-resources",
            metavar="SOCKET",
            help="Its PodResources socket; default: pod-resources/kubelet.sock in its root.",
            show_default=False,
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            "-c",
            "--config",
            metavar="FILE",
            help="Its KubeletConfiguration, and perhaps a NumaletConfiguration with publish: after"
            " it; default: the file and flags of its process.",
            show_default=False,
        ),
    ] = None,
    configz: Annotated[
        bool | None,
        typer.Option(
            "--configz/--no-configz",
            help="Ask the kubelet for its configuration through the API server. That needs"
            " nodes/proxy, with which one is root on every node. Default: not.",
            show_default=False,
        ),
    ] = None,
    release: release_options.Release,
    machine: machine_options.Chosen,
    topology: Annotated[
        bool | None,
        typer.Option(
            "--topology/--no-topology",
            help="Whether to write the NodeResourceTopology too. Default: it is written.",
            show_default=False,
        ),
    ] = None,
    force: Annotated[
        bool | None,
        typer.Option(
            "--take-over/--no-take-over",
            help="Write the NodeResourceTopology although another publisher owns its zones."
            " Default: not.",
            show_default=False,
        ),
    ] = None,
    refresh: Annotated[
        float | None,
        typer.Option(
            "--refresh",
            min=10,
            metavar="SECONDS",
            help="Write at least this often, so that readers know that the publisher lives."
            " Default: 3600.",
            show_default=False,
        ),
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Write the objects once, and exit.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the objects, and ask no API server.")
    ] = False,
    output_format: Annotated[
        ObjectFormat,
        typer.Option("-o", "--output", help="Form of the objects with --dry-run."),
    ] = ObjectFormat.YAML,
    proc: Annotated[
        Path,
        typer.Option(
            "--proc",
            metavar="DIR",
            help="Where the processes of the host are; for a container that has its own /proc.",
        ),
    ] = Path("/proc"),
    metrics: Annotated[
        str,
        typer.Option(
            "--metrics",
            metavar="[HOST:]PORT",
            help="Serve metrics for Prometheus here; without a host on the loopback address.",
        ),
    ] = "",
    log_format: node_options.Form = LogFormat.CONSOLE,
    verbosity: node_options.Verbosity = 2,
) -> None:
    """Publish which CPUs, memory and devices of this node are held, for schedulers and fleet."""
    from numalet.agent.publish import command
    from numalet.agent.publish.command import PublishOptions
    from numalet.core.config.publish_settings import PublishSettings

    options = PublishOptions(
        given=PublishSettings(
            kubeconfig=None if kubeconfig is None else str(kubeconfig),
            context=context,
            node_resource_topology=topology,
            force=force,
            refresh_seconds=refresh,
            configz=configz,
        ),
        node_name=node_name,
        kubelet_root=kubelet_root,
        pod_resources=pod_resources,
        config_file=config,
        machine=machine.choice(),
        release=release.name,
        kubelet_version=release.kubelet_version,
        metrics=metrics,
        log_format=log_format.value,
        verbosity=verbosity,
        proc=proc,
    )
    if dry_run:
        document, findings = command.shown(options)
        output.print_document(document, OutputFormat(output_format))
        output.show_findings(findings)
    elif once:
        if not command.once(options):
            raise typer.Exit(EXIT_REFUSED)
    else:
        command.run(options)
