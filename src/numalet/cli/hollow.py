"""``numalet hollow``: simulated nodes of a cluster that decide like their kubelets."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from numalet.cli import kubelet_options as kubelet
from numalet.cli import node_options, output
from numalet.cli.cluster_options import ClusterOptions
from numalet.cli.options import Options, option, with_options

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

Annotations control a pod:

  numalet.dev/runs-for: 90s       each app container; default: unlimited
  numalet.dev/exit-code: "1"      its exit code; default: 0
  numalet.dev/init-runs-for: 2s   each init container; default: 0s
  numalet.dev/ends-after: 5s      after a request to stop; default: 0s

A Node with the annotation numalet.dev/hollow-fault fails: reboot, lose or lie. Without it the node
recovers.

Exit status: 0 stopped (Ctrl-C, SIGTERM, --for), 2 invalid input or the API server
refuses access, 3 a bug.
"""

_failing: Final = functools.partial(option, panel="Nodes that fail")


class HollowOptions(Options):
    nodes: int = option("How many nodes, machines in turn.", "N", default=1)
    machine: list[str] = node_options.MACHINES
    sizes: node_options.Sizes
    config: list[Path] = kubelet.CONFIG_FILES
    devices: node_options.DeviceOptions
    cluster: ClusterOptions
    pool: str = option("Value of the label numalet.dev/pool of the nodes.", "NAME", default="")
    name_prefix: str = option("Nodes are PREFIX-0, PREFIX-1, ...", "PREFIX", default="hollow")
    node_labels: str | None = option("Labels of every node.", "KEY=VALUE,...")
    untaint: bool = option("Take the taint not-ready off new nodes, as a controller-manager does.")
    events: str = option("Events of pods: all, warnings or none.", "KIND", default="all")
    publish: bool = option(
        "Publish the state of each node as its NumaNode object.",
        name="--publish/--no-publish",
        default=True,
    )
    node_resource_topology: bool = option(
        "Publish the NodeResourceTopology of each node too, which existing schedulers read."
    )
    numa_placement: bool = option(
        "Publish it with the NUMA node of each container, for the preemption of"
        " NodeResourceTopologyMatch."
    )
    kai: bool = option(
        "Write KAI's annotations on the pods of the nodes: NUMA placement and memory groups."
    )
    state: Path | None = option(
        "Keep the state files of each node below this folder, and begin again with them.", "DIR"
    )
    reboot: list[str] = _failing(
        "Reboot the node this long after the start, such as hollow-3@30s; repeatable.", "NODE@TIME"
    )
    reboot_lasts: str = _failing("How long a node that reboots is away.", "TIME", default="10s")
    lose: list[str] = _failing("The node is silent from then on; repeatable.", "NODE@TIME")
    lie: list[str] = _failing(
        "The node publishes the state of an empty one from then on; repeatable.", "NODE@TIME"
    )
    lasts: str | None = option("End after this time, such as 5m.", "TIME", "--for")
    remove: bool = option("Remove the nodes from the cluster at the end.")
    flags: kubelet.KubeletFlags


@with_options
def hollow(options: HollowOptions) -> None:
    """Be nodes that do not exist: admit pods on them as kubelets would, NUMA nodes and all."""
    from numalet.cluster.hollow.command import HollowInputs
    from numalet.cluster.hollow.fleet_members import Fault
    from numalet.cluster.hollow.kinds import KindInputs
    from numalet.io.machines import MachineChoice

    size = options.sizes.choice()
    machines: list[str | None] = [*options.machine] or [None]
    configs: list[Path | None] = [*options.config] or [None]
    inputs = HollowInputs(
        nodes=options.nodes,
        kinds=KindInputs(
            machines=tuple(
                MachineChoice(each, size.memory_per_node, size.hugepages_per_node)
                for each in machines
            ),
            configs=tuple(options.flags.sources(each) for each in configs),
            **options.devices.fields(),
        ),
        kubeconfig=options.cluster.kubeconfig,
        context=options.cluster.context,
        pool=options.pool,
        prefix=options.name_prefix,
        labels=options.node_labels,
        untaints=options.untaint,
        events=options.events,
        publishes=options.publish,
        has_topology=options.node_resource_topology or options.numa_placement,
        has_placement=options.numa_placement,
        has_kai=options.kai,
        state=options.state,
        faults=(
            *((Fault.REBOOT, each) for each in options.reboot),
            *((Fault.LOSE, each) for each in options.lose),
            *((Fault.LIE, each) for each in options.lie),
        ),
        reboot_lasts=options.reboot_lasts,
        lasts=options.lasts,
        removes=options.remove,
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
