"""``numalet hollow``: simulated nodes of a cluster that decide like their kubelets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from numalet.cli import kubelet_options as kubelet
from numalet.cli import machine_options, output
from numalet.cli.cluster_options import Context, Kubeconfig
from numalet.cli.option_groups import expanded

if TYPE_CHECKING:
    from numalet.cluster.hollow.command import HollowInputs

EPILOG = """Examples:

  # 200 nodes with 8 GPUs each, which decide on pods that the scheduler binds
  numalet hollow --nodes 200 -m profile:dgx-h100 -c kubelet.yaml \\
      --kubeconfig test-cluster.yaml

  # the same GPUs on another machine
  numalet hollow --nodes 200 -m profile:xeon-2n -c kubelet.yaml \\
      --device nvidia.com/gpu=g0@0,g1@0,g2@0,g3@0,g4@1,g5@1,g6@1,g7@1 \\
      --kubeconfig test-cluster.yaml

  # 1000 kubelets of 1.34, every other one with sub-NUMA clusters, in a pool
  numalet hollow --nodes 1000 -m profile:xeon-2n -m profile:snc4 \\
      -c kubelet.yaml --release 1.34 --pool batch \\
      --kubeconfig test-cluster.yaml

  # for five minutes, with a node that reboots and one that is lost
  numalet hollow --nodes 10 -m 2n16c2t --for 5m --remove \\
      --reboot hollow-3@30s --lose hollow-4@1m --kubeconfig test-cluster.yaml

Annotations say what a pod does:

  numalet.dev/runs-for: 90s       each app container; default: for ever
  numalet.dev/exit-code: "1"      with what it ends then; default: 0
  numalet.dev/init-runs-for: 2s   each init container; default: 0s
  numalet.dev/ends-after: 5s      once it was asked to end; default: 0s

A Node with the annotation numalet.dev/hollow-fault fails: reboot, lose or lie. Without it the node
recovers.

Exit status: 0 ended as asked (Ctrl-C, SIGTERM, --for), 2 unusable input or an API server that
refuses, 3 a bug.
"""

Nodes = Annotated[
    int, typer.Option("--nodes", metavar="N", help="How many nodes, machines in turn.")
]
Pool = Annotated[
    str,
    typer.Option(
        "--pool",
        metavar="NAME",
        help="Value of the label numalet.dev/pool of the nodes.",
        show_default=False,
    ),
]
NamePrefix = Annotated[
    str, typer.Option("--name-prefix", metavar="PREFIX", help="Nodes are PREFIX-0, PREFIX-1, ...")
]
Labels = Annotated[
    str | None,
    typer.Option(
        "--node-labels",
        metavar="KEY=VALUE,...",
        help="Labels of every node.",
        show_default=False,
    ),
]
Untaint = Annotated[
    bool,
    typer.Option(
        "--untaint",
        help="Take the taint not-ready off new nodes, as a controller-manager does.",
    ),
]
Events = Annotated[
    str,
    typer.Option("--events", metavar="KIND", help="Which events of pods: all, warnings or none."),
]
Publish = Annotated[
    bool,
    typer.Option(
        "--publish/--no-publish", help="Publish the state of each node as its NumaNode object."
    ),
]
Topology = Annotated[
    bool,
    typer.Option(
        "--node-resource-topology",
        help="Publish the NodeResourceTopology of each node too, which existing schedulers read.",
    ),
]
State = Annotated[
    Path | None,
    typer.Option(
        "--state",
        metavar="DIR",
        help="Keep the state files of each node below this folder, and begin again with them.",
        show_default=False,
    ),
]
_FAULTS: Final = "NODE@TIME"
_FAILING: Final = "Nodes that fail"
Reboot = Annotated[
    list[str] | None,
    typer.Option(
        "--reboot",
        metavar=_FAULTS,
        rich_help_panel=_FAILING,
        help="The node reboots so long after the start, such as hollow-3@30s; repeatable.",
        show_default=False,
    ),
]
Lose = Annotated[
    list[str] | None,
    typer.Option(
        "--lose",
        metavar=_FAULTS,
        rich_help_panel=_FAILING,
        help="The node is silent from then on; repeatable.",
        show_default=False,
    ),
]
Lie = Annotated[
    list[str] | None,
    typer.Option(
        "--lie",
        metavar=_FAULTS,
        rich_help_panel=_FAILING,
        help="The node publishes the state of an empty one from then on; repeatable.",
        show_default=False,
    ),
]
RebootLasts = Annotated[
    str,
    typer.Option(
        "--reboot-lasts",
        metavar="TIME",
        rich_help_panel=_FAILING,
        help="How long a node that reboots is away.",
    ),
]
Lasts = Annotated[
    str | None,
    typer.Option("--for", metavar="TIME", help="End after this time, such as 5m."),
]
Remove = Annotated[
    bool, typer.Option("--remove", help="Remove the nodes from the cluster at the end.")
]


@expanded
def hollow(
    *,
    nodes: Nodes = 1,
    machine: machine_options.Machines = None,
    sizes: machine_options.Sizes,
    config: kubelet.ConfigFiles = None,
    devices: machine_options.Devices,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    pool: Pool = "",
    name_prefix: NamePrefix = "hollow",
    node_labels: Labels = None,
    untaint: Untaint = False,
    events: Events = "all",
    publish: Publish = True,
    node_resource_topology: Topology = False,
    state: State = None,
    reboot: Reboot = None,
    reboot_lasts: RebootLasts = "10s",
    lose: Lose = None,
    lie: Lie = None,
    lasts: Lasts = None,
    remove: Remove = False,
    flags: kubelet.AllFlags,
) -> None:
    """Be nodes that do not exist: admit pods on them as kubelets would, NUMA nodes and all."""
    from numalet.cluster.hollow.command import HollowInputs
    from numalet.cluster.hollow.faults import Fault
    from numalet.cluster.hollow.kinds import KindInputs
    from numalet.io.machines import MachineChoice

    size = sizes.choice()
    machines: list[str | None] = list(machine) if machine else [None]
    configs: list[Path | None] = list(config) if config else [None]
    inputs = HollowInputs(
        nodes=nodes,
        kinds=KindInputs(
            machines=tuple(
                MachineChoice(each, size.memory_per_node, size.hugepages_per_node)
                for each in machines
            ),
            configs=tuple(flags.sources(each) for each in configs),
            device_file=devices.file,
            devices=devices.texts,
        ),
        kubeconfig=kubeconfig,
        context=context,
        pool=pool,
        prefix=name_prefix,
        labels=node_labels,
        untaints=untaint,
        events=events,
        publishes=publish,
        has_topology=node_resource_topology,
        state=state,
        faults=(
            *((Fault.REBOOT, each) for each in reboot or ()),
            *((Fault.LOSE, each) for each in lose or ()),
            *((Fault.LIE, each) for each in lie or ()),
        ),
        reboot_lasts=reboot_lasts,
        lasts=lasts,
        removes=remove,
    )
    raise typer.Exit(_run(inputs))


def _run(inputs: HollowInputs) -> int:
    import asyncio

    from numalet.cli.output import show_findings
    from numalet.cli.progress import Progress
    from numalet.cluster.hollow import command

    prepared = command.prepare(inputs)
    show_findings(prepared.notes)
    progress = Progress(len(prepared.members), "nodes registered")

    def say(text: str) -> None:
        progress.finish()
        output.say(text)

    asyncio.run(command.live(prepared, say, progress.advance))
    return 0
