"""``numalet fleet what-if`` and ``fleet replay``: a changed cluster, and a trace of pods."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Final

import typer

from numalet.cli import fleet_options, release_options
from numalet.cli.fleet_options import FleetFormat, Output, Source
from numalet.cli.helping import Command, with_line_breaks
from numalet.cli.option_groups import expanded
from numalet.cli.scores import ScoreOption
from numalet.core.model import input_error

_WHAT_IF: Final = """Examples:

  numalet fleet what-if --policy best-effort
  numalet fleet what-if --policy restricted --scope pod --pool p5.48xlarge
  numalet fleet what-if --release 1.36 --cpu-options full-pcpus-only=true
  numalet fleet what-if --fleet fleet.yaml --machine profile:dgx-h100
  numalet fleet what-if -m p4d=profile:dgx-h100,nodes=25% \\
      --strategy MostAllocated

Exit status: 0 compared, 2 unusable input, 3 a bug.
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

Exit status: 0 replayed, 2 unusable input, 3 a bug.
"""


class StrategyOption(StrEnum):
    LEAST_ALLOCATED = "LeastAllocated"
    MOST_ALLOCATED = "MostAllocated"


@expanded
def what_if(
    *,
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy",
            metavar="POLICY",
            help="Topology policy: none, best-effort, restricted or single-numa-node.",
            show_default=False,
        ),
    ] = None,
    scope: Annotated[
        str | None,
        typer.Option(
            "--scope",
            metavar="SCOPE",
            help="Topology scope: container or pod.",
            show_default=False,
        ),
    ] = None,
    options: Annotated[
        list[str] | None,
        typer.Option(
            "--options",
            metavar="KEY=VALUE,...",
            help="Options of the topology policy, added; 'KEY=' takes one away.",
            show_default=False,
        ),
    ] = None,
    cpu_options: Annotated[
        list[str] | None,
        typer.Option(
            "--cpu-options",
            metavar="KEY=VALUE,...",
            help="Options of the CPU Manager, in the same way.",
            show_default=False,
        ),
    ] = None,
    memory_policy: Annotated[
        str | None,
        typer.Option(
            "--memory-policy",
            metavar="POLICY",
            help="Policy of the Memory Manager: None or Static.",
            show_default=False,
        ),
    ] = None,
    release: Annotated[
        str | None,
        release_options.named("Release of the kubelets, such as 1.36."),
    ] = None,
    machine: Annotated[
        list[str] | None,
        typer.Option(
            "-m",
            "--machine",
            metavar="[POOL=]MACHINE[,nodes=N]",
            help="Other machines, with the devices of their description: for all nodes, those of a"
            " pool, or so many of them (10, 25%), the first ones by name; repeatable.",
            show_default=False,
        ),
    ] = None,
    strategy: Annotated[
        StrategyOption | None,
        typer.Option(
            "--strategy",
            help="How the scheduler scores nodes then. Now it is LeastAllocated.",
            show_default=False,
        ),
    ] = None,
    pool: Annotated[
        list[str] | None,
        typer.Option(
            "--pool",
            metavar="NAME",
            help="Only nodes of this pool; repeatable.",
            show_default=False,
        ),
    ] = None,
    source: Source,
    output: Output = FleetFormat.TABLE,
) -> None:
    """Compare the cluster as it is with one whose nodes are otherwise: who runs, who waits.

    On each node that changes its pods come again in the order in which they started; those that it
    rejects, and then those that wait, are tried on all nodes.
    """
    from numalet.cli import fleet_answers, fleet_sources
    from numalet.insight.fleet.scoring import Scoring, Strategy

    change = fleet_sources.ChangeOptions(
        policy=policy,
        scope=scope,
        options=_pairs("--options", options),
        cpu_options=_pairs("--cpu-options", cpu_options),
        memory_policy=memory_policy,
        release=release,
        machines=tuple(machine or ()),
        strategy=strategy,
        pools=tuple(pool or ()),
    )
    opened = fleet_sources.opened(source)
    others = fleet_sources.variants(opened, change)
    scoring = None if strategy is None else Scoring(Strategy(strategy.value))
    raise typer.Exit(fleet_answers.what_if(opened.cluster, others, scoring, output))


@expanded
def replay(
    trace: Annotated[
        str, typer.Argument(metavar="TRACE", help="CSV or JSON lines, or '-'.", show_default=False)
    ],
    *,
    shapes: Annotated[
        list[str] | None,
        typer.Option(
            "--shapes",
            metavar="FILE",
            help="Pods and workloads that rows name as their shape; repeatable.",
            show_default=False,
        ),
    ] = None,
    score: Annotated[
        ScoreOption,
        typer.Option("--score", help="What numalet extender prefers of nodes that admit a pod."),
    ] = ScoreOption.PACK,
    strategy: Annotated[
        StrategyOption, typer.Option("--strategy", help="How the blind scheduler scores nodes.")
    ] = StrategyOption.LEAST_ALLOCATED,
    weights: Annotated[
        str | None,
        typer.Option(
            "--weights",
            metavar="RESOURCE=N,...",
            help="Resources that count in the score. Default: cpu=1,memory=1.",
            show_default=False,
        ),
    ] = None,
    attempts: Annotated[
        int | None,
        typer.Option(
            "--attempts",
            min=1,
            metavar="N",
            help="A pod that was rejected so often is not made again. Default: for ever.",
            show_default=False,
        ),
    ] = None,
    empty: Annotated[
        bool, typer.Option("--empty", help="Begin without the pods that run in the cluster.")
    ] = False,
    source: Source,
    output: Output = FleetFormat.TABLE,
) -> None:
    """Replay a trace of pods twice: sent to nodes by sums alone, and as numalet extender answers.

    The difference is what the blind scheduler costs: rejections, waiting, idle devices.
    """
    from numalet.cli import fleet_answers, fleet_sources
    from numalet.insight.fleet.preference import Preference
    from numalet.insight.fleet.replay import ReplayRules
    from numalet.insight.fleet.scoring import Scoring, Strategy
    from numalet.io.documents import pod_trace

    named = {each.name: each.pod for each in fleet_options.shapes(shapes or [])}
    arrivals = pod_trace.load(trace, named)
    scoring = Scoring(Strategy(strategy.value))
    if weights is not None:
        scoring = Scoring(scoring.strategy, _whole_numbers("--weights", weights))
    preference = Preference(score.value)
    rules = ReplayRules(scoring=scoring, preference=preference, most_attempts=attempts)
    cluster = fleet_sources.opened(source).cluster
    if empty:
        cluster = fleet_sources.emptied(cluster)
    raise typer.Exit(fleet_answers.replay(cluster, arrivals, rules, output))


def _pairs(option: str, given: list[str] | None) -> dict[str, str]:
    """Parse ``KEY=VALUE,...`` of a repeatable option."""
    pairs: dict[str, str] = {}
    for part in ",".join(given or ()).split(","):
        key, equals, value = part.strip().partition("=")
        if not equals and key:
            raise input_error.Invalid(
                f"invalid {option} {part!r}", expected="KEY=VALUE,..."
            ).bad_input()
        if key:
            pairs[key] = value
    return pairs


def _whole_numbers(option: str, given: str) -> Mapping[str, int]:
    pairs = _pairs(option, [given])
    if not pairs or not all(each.isascii() and each.isdigit() for each in pairs.values()):
        raise input_error.Invalid(
            f"invalid {option} {given!r}", expected="RESOURCE=N,..."
        ).bad_input()
    return {name: int(value[:9]) for name, value in pairs.items()}


def register(app: typer.Typer) -> None:
    app.command(
        "what-if",
        cls=Command,
        short_help="The same pods under another policy, scope, release or machine.",
        epilog=with_line_breaks(_WHAT_IF),
    )(what_if)
    app.command(
        "replay",
        cls=Command,
        short_help="A day of pods: what a scheduler costs that goes by sums.",
        epilog=with_line_breaks(_REPLAY),
    )(replay)
