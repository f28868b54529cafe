"""``numalet fleet what-if`` and ``fleet replay``: a changed cluster, and a trace of pods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import typer

from numalet.cli import fleet_changes, fleet_sources
from numalet.cli.cluster_options import ScoreOption
from numalet.cli.fleet_changes import ChangeOptions, StrategyOption
from numalet.cli.fleet_sources import OUTPUT, Source
from numalet.cli.helping import Command, with_line_breaks
from numalet.cli.options import REQUIRED, Options, argument, option, with_options
from numalet.cli.output import RowsFormat
from numalet.core.model import input_error

_WHAT_IF: Final = """Examples:

  numalet fleet what-if --policy best-effort
  numalet fleet what-if --policy restricted --scope pod --pool p5.48xlarge
  numalet fleet what-if --release 1.36 --cpu-options full-pcpus-only=true
  numalet fleet what-if --fleet fleet.yaml --machine profile:dgx-h100
  numalet fleet what-if -m p4d=profile:dgx-h100,nodes=25% \\
      --strategy MostAllocated

Exit status: 0 compared, 2 invalid input, 3 a bug.
"""

_REPLAY: Final = """Examples:

  numalet fleet replay day.csv --fleet fleet.yaml
  numalet fleet replay day.jsonl --shapes jobs.yaml --strategy MostAllocated \\
      --weights nvidia.com/gpu=5,cpu=1 --empty
  numalet fleet replay day.csv --score spread

A trace has the columns arrival, duration, shape and count (CSV, or JSON lines). A number without
a unit is in seconds; an arrival may also be a moment such as 2026-05-01T08:00:00Z:

  arrival,duration,shape,count
  0,2h,"nvidia.com/gpu=4,cpu=16,memory=128Gi",3
  90s,30m,train,1

Exit status: 0 replayed, 2 invalid input, 3 a bug.
"""


class FleetWhatIfOptions(Options):
    change: ChangeOptions
    source: Source
    output: RowsFormat = OUTPUT


class FleetReplayOptions(Options):
    trace: str = argument("CSV or JSON lines, or '-'.", "TRACE", default=REQUIRED)
    shapes: list[str] = option(
        "Pods and workloads that rows name as their shape; repeatable.", "FILE"
    )
    score: ScoreOption = option(
        "What numalet extender prefers of nodes that admit a pod.", default=ScoreOption.PACK
    )
    strategy: StrategyOption = option(
        "How the blind scheduler scores nodes.", default=StrategyOption.LEAST_ALLOCATED
    )
    weights: str | None = option(
        "Resources that count in the score. Default: cpu=1,memory=1.", "RESOURCE=N,..."
    )
    attempts: int | None = option(
        "A pod that was rejected so often is not made again. Default: for ever.", "N", min=1
    )
    empty: bool = option("Begin without the pods that run in the cluster.")
    source: Source
    output: RowsFormat = OUTPUT


@with_options
def what_if(options: FleetWhatIfOptions) -> None:
    """Compare the cluster with a changed one: which pods run, and which wait.

    The pods of a changed node are admitted again in the order of their start. Rejected pods, and
    then the waiting pods, are tried on all nodes.
    """
    from numalet.cli import fleet_answers
    from numalet.insight.fleet.kube_scheduler import Scoring, Strategy

    opened = fleet_sources.opened(options.source)
    others = fleet_changes.variants(opened, options.change)
    strategy = options.change.strategy
    scoring = None if strategy is None else Scoring(Strategy(strategy.value))
    raise typer.Exit(fleet_answers.what_if(opened.cluster, others, scoring, options.output))


@with_options
def replay(options: FleetReplayOptions) -> None:
    """Replay a trace of pods with a NUMA-unaware scheduler, and with numalet extender.

    The difference is the cost of the NUMA-unaware scheduler: rejections, waiting, idle devices.
    """
    from numalet.cli import fleet_answers
    from numalet.insight.fleet.kube_scheduler import Scoring, Strategy
    from numalet.insight.fleet.preference import Preference
    from numalet.insight.fleet.replay import ReplayRules
    from numalet.io.documents.pods import pod_trace

    named = {each.name: each.pod for each in fleet_sources.shapes(options.shapes)}
    arrivals = pod_trace.load(options.trace, named)
    scoring = Scoring(Strategy(options.strategy.value))
    if options.weights is not None:
        scoring = Scoring(scoring.strategy, _whole_numbers("--weights", options.weights))
    rules = ReplayRules(
        scoring=scoring,
        preference=Preference(options.score.value),
        most_attempts=options.attempts,
    )
    cluster = fleet_sources.opened(options.source).cluster
    if options.empty:
        cluster = fleet_sources.emptied(cluster)
    raise typer.Exit(fleet_answers.replay(cluster, arrivals, rules, options.output))


def _whole_numbers(option: str, given: str) -> Mapping[str, int]:
    found = fleet_changes.pairs(option, [given])
    if not found or not all(each.isascii() and each.isdigit() for each in found.values()):
        raise input_error.Invalid(
            f"invalid {option} {given!r}", expected="RESOURCE=N,..."
        ).bad_input()
    return {name: int(value[:9]) for name, value in found.items()}


def register(app: typer.Typer) -> None:
    app.command(
        "what-if",
        cls=Command,
        short_help="Run the same pods with another policy, scope, release or machine.",
        epilog=with_line_breaks(_WHAT_IF),
    )(what_if)
    app.command(
        "replay",
        cls=Command,
        short_help="Replay a trace of pods: the cost of NUMA-unaware scheduling.",
        epilog=with_line_breaks(_REPLAY),
    )(replay)
