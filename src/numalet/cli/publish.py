"""``numalet publish``: keep a node's objects in the cluster current, together with its kubelet."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Final

import typer

from numalet.cli import node_options, output
from numalet.cli.cluster_options import ClusterOptions
from numalet.cli.node_options import LogOptions, MachineOptions, ReleaseOptions
from numalet.cli.options import Options, option, with_options
from numalet.cli.output import OutputFormat

EPILOG = """Examples:

  # on a node, next to its kubelet, until a signal stops it
  numalet publish

  # print the objects of this node, without a cluster
  numalet publish --dry-run

  # once, with a kubeconfig, and exit
  numalet publish --once --kubeconfig admin.conf --node-name node7

  # take over the NodeResourceTopology from a stopped publisher
  numalet publish --take-over

  # for the preemption of NodeResourceTopologyMatch
  numalet publish --numa-placement

  # for KAI: what each pod holds on which NUMA node, on the pod
  numalet publish --kai

  # leave the NodeResourceTopology to another publisher
  numalet publish --no-topology

The command writes nothing on the node and changes no process. Its permissions are in
packaging/kubernetes.

Exit status: 0 stopped, or all objects are stored; 1 the API server refused an object (--once);
2 there is nothing to publish, or no API server; 3 a bug.
"""

EXIT_REFUSED: Final = 1


class ObjectFormat(StrEnum):
    YAML = "yaml"
    JSON = "json"


class PublishOptions(Options):
    cluster: ClusterOptions
    node_name: str = option(
        "Name of the Node; default: what the kubelet's command line says, else the host's name.",
        "NAME",
        default="",
        envvar="NODE_NAME",
    )
    kubelet_root: Path = node_options.kubelet_root("Root directory of the kubelet.")
    pod_resources: Path | None = option(
        "Its PodResources socket; default: pod-resources/kubelet.sock in its root.", "SOCKET"
    )
    config: Path | None = option(
        "Its KubeletConfiguration, and perhaps a NumaletConfiguration with publish: after it;"
        " default: the file and flags of its process.",
        "FILE",
        "-c",
    )
    configz: bool | None = option(
        "Read the kubelet's configuration through the API server. Needs nodes/proxy, which is"
        " equivalent to root on every node. Default: off.",
        name="--configz/--no-configz",
    )
    release: ReleaseOptions
    machine: MachineOptions
    topology: bool | None = option(
        "Whether to write the NodeResourceTopology too. Default: it is written.",
        name="--topology/--no-topology",
    )
    force: bool | None = option(
        "Write the NodeResourceTopology although another publisher owns its zones, and KAI's"
        " annotations although another one wrote them. Default: not.",
        name="--take-over/--no-take-over",
    )
    numa_placement: bool | None = option(
        "Add the NUMA node of each container to the NodeResourceTopology, in the attributes"
        " numaplacement that NodeResourceTopologyMatch reads for preemption. Default: not.",
        name="--numa-placement/--no-numa-placement",
    )
    kai: bool | None = option(
        "Write KAI's annotations on the pods of this node: NUMA placement and memory groups. Needs"
        " list, watch and patch of pods. Default: not.",
        name="--kai/--no-kai",
    )
    refresh: float | None = option(
        "Write at least this often, so that readers know that the publisher lives. Default: 3600.",
        "SECONDS",
        min=10,
    )
    once: bool = option("Write the objects once, and exit.")
    dry_run: bool = option("Print the objects of the node, and ask no API server.")
    output: ObjectFormat = option(
        "Form of the objects with --dry-run.", name="-o", default=ObjectFormat.YAML
    )
    proc: Path = option(
        "Where the processes of the host are; for a container that has its own /proc.",
        "DIR",
        default=Path("/proc"),
    )
    metrics: str = option(
        "Serve metrics for Prometheus here; without a host, on the loopback address.",
        "[HOST:]PORT",
        default="",
    )
    log: LogOptions


@with_options
def publish(options: PublishOptions) -> None:
    """Publish which CPUs, memory and devices of this node are held, for schedulers and fleet."""
    from numalet.agent.publish import command
    from numalet.core.config.numalet_config import PublishSettings

    kubeconfig = options.cluster.kubeconfig
    inputs = command.PublishOptions(
        given=PublishSettings(
            kubeconfig=None if kubeconfig is None else str(kubeconfig),
            context=options.cluster.context,
            node_resource_topology=options.topology,
            force=options.force,
            numa_placement=options.numa_placement,
            kai=options.kai,
            refresh_seconds=options.refresh,
            configz=options.configz,
        ),
        node_name=options.node_name,
        kubelet_root=options.kubelet_root,
        pod_resources=options.pod_resources,
        config_file=options.config,
        machine=options.machine.choice(),
        release=options.release.release,
        kubelet_version=options.release.kubelet_version,
        metrics=options.metrics,
        log_format=options.log.log_format.value,
        verbosity=options.log.verbosity,
        proc=options.proc,
    )
    if options.dry_run:
        document, findings = command.shown(inputs)
        output.print_document(document, OutputFormat(options.output))
        output.show_findings(findings)
    elif options.once:
        if not command.once(inputs):
            raise typer.Exit(EXIT_REFUSED)
    else:
        command.run(inputs)
