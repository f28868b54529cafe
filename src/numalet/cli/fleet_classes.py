"""``numalet fleet classes``: drafts the class file of a cluster."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Final

import typer

from numalet.cli import output, progress
from numalet.cli.cluster_options import ClusterOptions
from numalet.cli.helping import Command, with_line_breaks
from numalet.cli.options import Options, Part, option, with_options
from numalet.core.model import input_error

if TYPE_CHECKING:
    from numalet.core.cluster.objects import ClusterObjects

_EPILOG: Final = """Examples:

  # the cluster of the kubeconfig, then ask about it
  numalet fleet classes > classes.yaml
  numalet fleet fit train.yaml --class classes.yaml

  # a dump, and the configuration of all its kubelets
  kubectl get nodes,pods,pdb -A -o json > dump.json
  numalet fleet classes --dump dump.json --configuration kubelet.yaml

  # without that file: policies as you know them
  numalet fleet classes --dump dump.json --policy single-numa-node --scope pod

Machines are from labels of clouds, NFD and GPU operators, and from
NodeResourceTopologies; add noderesourcetopologies to what kubectl gets.

Exit status: 0 drafted, 2 invalid input, 3 a bug.
"""


class ClassesFormat(StrEnum):
    YAML = "yaml"
    JSON = "json"


class PolicyOption(StrEnum):
    NONE = "none"
    BEST_EFFORT = "best-effort"
    RESTRICTED = "restricted"
    SINGLE_NUMA_NODE = "single-numa-node"


class ScopeOfTopology(StrEnum):
    CONTAINER = "container"
    POD = "pod"


class MemoryPolicyOption(StrEnum):
    NONE = "None"
    STATIC = "Static"


class DraftSourceOptions(Options):
    cluster: ClusterOptions
    dump: list[str] = option(
        "Output of 'kubectl get nodes,pods -A -o json', a folder of such files (must-gather), the"
        " same as .gz or .tar.gz, or '-'; repeatable.",
        "PATH",
    )
    pool_label: str | None = option(
        "Label of nodes that names their pool. Default: node.kubernetes.io/instance-type.", "LABEL"
    )


DraftSource = Annotated[
    DraftSourceOptions, Part(panel="The cluster (by default that of the kubeconfig)")
]


class FleetClassesOptions(Options):
    source: DraftSource
    configuration: str | None = option(
        "Configuration file of all kubelets, entered as it is written here.", "FILE"
    )
    policy: PolicyOption | None = option(
        "Topology policy of the kubelets; their CPU Manager is then static, and their reservation"
        " what capacity and allocatable differ by."
    )
    scope: ScopeOfTopology | None = option("Topology scope, with --policy. Default: container.")
    memory_policy: MemoryPolicyOption | None = option(
        "Policy of the Memory Manager, with --policy. Default: None."
    )
    output: ClassesFormat = option(
        "How the draft is printed.", name="-o", default=ClassesFormat.YAML
    )


@with_options
def fleet_classes(options: FleetClassesOptions) -> None:
    """Draft the class file that --class takes: nodes grouped, with a machine for each group.

    Each machine is proposed with its reason. What the cluster does not show is left blank, with a
    note on where to find it; nodes of such a pool stay undecided until you fill it in.
    """
    from numalet.core.cluster import building
    from numalet.insight.fleet.class_draft import KubeletSettings
    from numalet.insight.output import class_file
    from numalet.insight.usecases import class_drafts

    _check(options)
    label = options.source.pool_label or building.POOL_LABEL
    with progress.waiting("reading the cluster"):
        given, name = _objects(options.source)
    output.show_findings(given.notes)
    settings = KubeletSettings(
        file=options.configuration,
        policy=options.policy,
        scope=options.scope,
        memory_policy=options.memory_policy,
    )
    draft = class_drafts.drafted(given, label, settings)
    if options.output is ClassesFormat.JSON:
        output.print_document(draft, output.OutputFormat.JSON)
    else:
        output.print_text(class_file.text(draft, name))


def _check(options: FleetClassesOptions) -> None:
    if options.configuration is not None and options.policy is not None:
        raise input_error.Conflict("--configuration cannot be combined with --policy").bad_input()
    if options.policy is None and (options.scope or options.memory_policy):
        raise input_error.Required("--scope and --memory-policy need --policy").bad_input()
    cluster = options.source.cluster
    if options.source.dump and (cluster.kubeconfig or cluster.context):
        raise input_error.Conflict(
            "--dump cannot be combined with --kubeconfig or --context"
        ).bad_input()


def _objects(source: DraftSourceOptions) -> tuple[ClusterObjects, str]:
    """Return the objects, and what to call their source. Raises ``BadInput``."""
    if source.dump:
        from numalet.insight.usecases import class_drafts

        return class_drafts.dumped(source.dump), ", ".join(source.dump)
    import asyncio

    from numalet.cluster import api_objects

    server = source.cluster.access()
    return asyncio.run(api_objects.listed(server)), server.cluster or server.server


def register(app: typer.Typer) -> None:
    app.command(
        "classes",
        cls=Command,
        short_help="Draft the class file: machines and configurations of the nodes.",
        epilog=with_line_breaks(_EPILOG),
    )(fleet_classes)
