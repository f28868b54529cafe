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
from numalet.core.model.findings import Severity
from numalet.wording import numbers

if TYPE_CHECKING:
    from numalet.core.cluster.objects import ClusterObjects
    from numalet.insight.fleet.class_draft import KubeletSettings

_EPILOG: Final = """Examples:

  # the cluster of the kubeconfig, then ask about it
  numalet fleet classes > classes.yaml
  numalet fleet fit train.yaml --class classes.yaml

  # a dump, and the configuration of all its kubelets
  kubectl get nodes,pods,pdb -A -o json > dump.json
  numalet fleet classes --dump dump.json --configuration kubelet.yaml

  # a live cluster: ask every kubelet for its configuration (needs nodes/proxy)
  numalet fleet classes --configz > classes.yaml

  # without these: policies as you know them
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
    configz: bool = option(
        "Ask every ready node's kubelet for its configuration, through the API server. This needs"
        " the right to nodes/proxy, which amounts to root on every node."
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
    if options.configz:
        settings = _reported(options.source.cluster, given)
    draft = class_drafts.drafted(given, label, settings)
    if options.output is ClassesFormat.JSON:
        output.print_document(draft, output.OutputFormat.JSON)
    else:
        output.print_text(class_file.text(draft, name))


def _check(options: FleetClassesOptions) -> None:
    if options.configuration is not None and options.policy is not None:
        raise input_error.Conflict("--configuration cannot be combined with --policy").bad_input()
    if options.configz and (options.configuration or options.policy or options.source.dump):
        raise input_error.Conflict(
            "--configz cannot be combined with --configuration, --policy or --dump"
        ).bad_input()
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

    from numalet.io.kube_api import api_objects

    server = source.cluster.access()
    return asyncio.run(api_objects.listed(server)), server.cluster or server.server


def _reported(cluster: ClusterOptions, given: ClusterObjects) -> KubeletSettings:
    """Ask the kubelets; print one warning for all that do not answer.

    Raises ``BadInput`` if none of those that were asked answers.
    """
    import asyncio

    from numalet.cluster import kubelet_configurations
    from numalet.insight.fleet import class_groups
    from numalet.insight.fleet.class_draft import KubeletSettings

    asked = [
        each
        for name, each in given.nodes.items()
        if each.is_ready and not class_groups.is_published(name, given)
    ]
    with progress.waiting("asking the kubelets"):
        made = asyncio.run(kubelet_configurations.reported(cluster.access(), asked))
    if made.unread and not made.fields:
        raise made.unread[min(made.unread)]
    unread = {name: str(bad.findings[0]) for name, bad in made.unread.items()}
    if unread:
        first = min(unread)
        kubelets = numbers.counted(len(unread), "kubelet")
        text = f"the configuration of {kubelets} was not read; {first}: {unread[first]}"
        output.show_findings([input_error.Invalid(text, severity=Severity.WARNING)])
    return KubeletSettings(reported=made.fields, unread=unread)


def register(app: typer.Typer) -> None:
    app.command(
        "classes",
        cls=Command,
        short_help="Draft the class file: machines and configurations of the nodes.",
        epilog=with_line_breaks(_EPILOG),
    )(fleet_classes)
