"""``numalet fleet``: predictions for a whole cluster: which pods fit, where, and why not."""

from __future__ import annotations

import typer

from numalet.cli import (
    fleet_classes,
    fleet_days,
    fleet_keeping_away,
    fleet_rejections,
    fleet_serving,
    fleet_sources,
)
from numalet.cli.fleet_keeping_away import KeepingOptions
from numalet.cli.fleet_sources import OUTPUT, POD, SHAPE, WATCH, Source
from numalet.cli.helping import Command, CommandsWithSynonyms, with_line_breaks
from numalet.cli.options import Options, option, with_options
from numalet.cli.output import RowsFormat
from numalet.core.model import input_error

EPILOG = """Examples:

  # where this job fits now, and why it does not fit elsewhere
  numalet fleet fit train.yaml
  numalet fleet fit nvidia.com/gpu=4,cpu=16,memory=128Gi --count 8

  # nodes that look free but reject every pod, and their cost
  numalet fleet traps

  # why this pod was rejected, and where it fits now; all rejected pods
  numalet fleet why train/llm-0
  numalet fleet rejected

  # which pods to evict so that a pod fits, and where they could run instead
  numalet fleet free train.yaml --plan

  # draft the class file: the machines and configurations of the nodes
  numalet fleet classes > classes.yaml
  numalet fleet fit train.yaml --class classes.yaml

  # the same for a dump of kubectl, or for a fleet file
  kubectl get nodes,pods,pdb -A -o json > dump.json
  numalet fleet fit --dump dump.json train.yaml
  numalet fleet fit --fleet fleet.yaml train.yaml

Exit status: 0 success, 1 the answer is no, 2 invalid input, 3 a bug.
See also 'numalet fleet COMMAND --help'.
"""

fleet_app = typer.Typer(
    name="fleet",
    cls=CommandsWithSynonyms,
    help="Analyse a whole cluster: free capacity, trap nodes, evictions, changes.",
    rich_markup_mode=None,
    no_args_is_help=True,
    epilog=with_line_breaks(EPILOG),
)


class FitOptions(Options):
    pod: str = POD
    count: int | None = option(
        "Number of copies; 0 for as many as fit. Default: the replicas of the object.", "N", min=0
    )
    source: Source
    watch: bool = WATCH
    output: RowsFormat = OUTPUT


class TrapsOptions(Options):
    shape: list[str] = SHAPE
    keeping: KeepingOptions
    source: Source
    watch: bool = WATCH
    output: RowsFormat = OUTPUT


class FreeOptions(Options):
    pod: str = POD
    plan: bool = option("Also show where the pods could run instead, step by step.")
    every_node: bool = option("Show the smallest set of every node, not only of the best one.")
    node: list[str] = option("Only this node; repeatable.", "NAME")
    lower_priority_only: bool = option("Pods of the pod's own priority stay, as in preemption.")
    keep_bare_pods: bool = option("Pods without a controller stay.")
    most_sets: int = option("Maximum number of pod sets to try.", "N", default=50_000, min=0)
    source: Source
    output: RowsFormat = OUTPUT


@fleet_app.command(
    "fit",
    cls=Command,
    short_help="Show how many copies of a pod fit, on which nodes, and why not on others.",
    epilog=with_line_breaks(
        """Examples:

  numalet fleet fit nvidia.com/gpu=4,cpu=16,memory=128Gi
  numalet fleet fit train.yaml --count 16 -o json
  numalet fleet fit nvidia.com/gpu=1 --count 0

Exit status: 0 all copies fit, 1 fewer fit, 2 invalid input, 3 a bug.
"""
    ),
)
@with_options
def fit(options: FitOptions) -> None:
    """Show how many copies of a pod fit now, on which nodes, and why not on the others.

    Each copy is placed on the fullest node that admits it, and the next copy sees the cluster with
    it. NUMA nodes, devices and CPUs are those that the kubelet would allocate.
    """
    from numalet.cli import fleet_answers
    from numalet.insight.fleet.assessing import Assessor

    shapes, assessor = fleet_sources.shapes([options.pod]), Assessor()
    raise typer.Exit(
        fleet_sources.answered(
            options.source,
            lambda cluster: fleet_answers.fit(
                cluster, shapes, options.count, options.output, assessor
            ),
            watch=options.watch,
            is_table=options.output is RowsFormat.TABLE,
        )
    )


@fleet_app.command(
    "traps",
    cls=Command,
    short_help="List nodes that seem free but reject every pod.",
    epilog=with_line_breaks(
        """Examples:

  numalet fleet traps
  numalet fleet traps --shape nvidia.com/gpu=4,cpu=16,memory=128Gi --cordon
  numalet fleet traps --shape train.yaml --taint --at-most 3 --yes
  numalet fleet traps --undo --yes

Exit status: 0 no node is a trap (or all changes are made), 1 some nodes are traps, 2 invalid input
or no node has enough data, 3 a bug.
"""
    ),
)
@with_options
def traps(options: TrapsOptions) -> None:
    """List nodes that seem free but reject every pod of these shapes, and the stranded resources.

    --cordon and --taint keep pods away from such nodes. Without --yes nothing is changed, and the
    planned changes are printed. --undo removes only cordons and taints of this command.
    """
    from numalet.cli import fleet_answers
    from numalet.insight.fleet.traps import TrapFinder

    shapes, finder = fleet_sources.shapes(options.shape), TrapFinder()
    keeping = options.keeping
    if keeping.how is not None:
        if options.watch:
            raise input_error.Conflict(
                f"--watch cannot be combined with --{keeping.how}"
            ).bad_input()
        raise typer.Exit(
            fleet_keeping_away.keep_away(keeping, options.source, shapes, options.output)
        )
    raise typer.Exit(
        fleet_sources.answered(
            options.source,
            lambda cluster: fleet_answers.traps(cluster, shapes, options.output, finder),
            watch=options.watch,
            is_table=options.output is RowsFormat.TABLE,
        )
    )


@fleet_app.command(
    "free",
    cls=Command,
    short_help="Find the smallest set of pods to evict so that a pod fits.",
    epilog=with_line_breaks(
        """Examples:

  numalet fleet free train.yaml
  numalet fleet free nvidia.com/gpu=8,cpu=32,memory=256Gi --plan
  numalet fleet free train.yaml --lower-priority-only --node gpu-7

Exit status: 0 all copies fit (after the evictions, or already), 1 they do not fit, 2 invalid input,
3 a bug.
"""
    ),
)
@with_options
def free(options: FreeOptions) -> None:
    """Find the smallest set of pods to evict so that a pod fits. Nothing is evicted.

    Pods of a higher priority, pods of DaemonSets and static pods stay, and disruption budgets are
    respected. Each answer is verified by a full admission.
    """
    from numalet.cli import fleet_answers
    from numalet.insight.fleet.evicting import FreeQuestion
    from numalet.insight.fleet.victims import VictimRules

    shapes = fleet_sources.shapes([options.pod])
    if len(shapes) != 1:
        raise input_error.Invalid(
            f"{options.pod!r} contains {len(shapes)} pod shapes",
            expected="a file with one shape, or a list of amounts",
        ).bad_input()
    question = FreeQuestion(
        rules=VictimRules(
            equal_priority=not options.lower_priority_only,
            without_controller=not options.keep_bare_pods,
        ),
        every_node=options.every_node,
        only=frozenset(options.node),
        most_sets=options.most_sets,
    )
    raise typer.Exit(
        fleet_sources.answered(
            options.source,
            lambda cluster: fleet_answers.free(
                cluster, shapes[0], question, options.output, plans=options.plan
            ),
        )
    )


fleet_rejections.register(fleet_app)
fleet_days.register(fleet_app)
fleet_classes.register(fleet_app)
fleet_serving.register(fleet_app)
