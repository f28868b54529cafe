"""``numalet fleet traps --cordon``, ``--taint`` and ``--undo``: a dry run without --yes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias

import typer

from numalet.cli.fleet_options import FleetFormat, SourceOptions
from numalet.cli.option_groups import OptionGroup, option
from numalet.core.model import input_error
from numalet.core.model.value import Value

if TYPE_CHECKING:
    from numalet.insight.fleet.traps import Trap
    from numalet.insight.output.fleet_fit_document import KeptAwayDocument
    from numalet.io.documents.pod_shapes import PodShape

MOST_NODES: Final = 10
"""Default limit of changed nodes."""

How: TypeAlias = Literal["cordon", "taint", "undo"]


class KeepingOptions(Value):
    """The chosen measures against traps."""

    how: How | None
    at_most: int
    is_meant: bool


def _made(cordon: bool, taint: bool, undo: bool, at_most: int, yes: bool) -> KeepingOptions:
    wanted: dict[How, bool] = {"cordon": cordon, "taint": taint, "undo": undo}
    chosen = [name for name, is_wanted in wanted.items() if is_wanted]
    if len(chosen) > 1:
        raise input_error.Conflict(
            f"--{chosen[0]} cannot be combined with --{chosen[1]}"
        ).bad_input()
    if yes and not chosen:
        raise input_error.Required("--yes needs --cordon, --taint or --undo").bad_input()
    return KeepingOptions(chosen[0] if chosen else None, at_most, yes)


_OPTIONS: Final = (
    option(
        "cordon",
        Annotated[bool, typer.Option("--cordon", help="Cordon the traps on which nothing fits.")],
        False,
    ),
    option(
        "taint",
        Annotated[
            bool, typer.Option("--taint", help="Taint them instead: numalet.dev/trap:NoSchedule.")
        ],
        False,
    ),
    option(
        "undo",
        Annotated[
            bool, typer.Option("--undo", help="Undo what this command did to nodes earlier.")
        ],
        False,
    ),
    option(
        "at_most",
        Annotated[
            int, typer.Option("--at-most", min=0, metavar="N", help="Change so many nodes at most.")
        ],
        MOST_NODES,
    ),
    option(
        "yes",
        Annotated[bool, typer.Option("--yes", help="Do it; without it nothing is changed.")],
        False,
    ),
)
Keeping = Annotated[KeepingOptions, OptionGroup(_OPTIONS, _made)]


def keep_away(
    keeping: KeepingOptions,
    source: SourceOptions,
    shapes: Sequence[PodShape],
    form: FleetFormat,
) -> int:
    """Return 0 if all is done, 1 if a dry run found changes, 2 if every node is undecided.

    Raises ``BadInput`` if reading or changing the cluster fails.
    """
    from numalet.cli import fleet_answers, fleet_sources
    from numalet.insight.fleet import traps as trapping

    if keeping.is_meant and not source.is_live:
        raise input_error.Conflict(
            "--undo, and --yes with --cordon or --taint, need a live cluster; leave --dump "
            "and --fleet out"
        ).bad_input()
    cluster = fleet_sources.opened(source).cluster
    asked = [each.pod for each in shapes] if shapes else None
    answer = trapping.traps(cluster, asked)
    if keeping.how == "undo":
        done = _undone(keeping, source)
    else:
        done = _kept(keeping, source, answer.traps)
    fleet_answers.print_traps(cluster, shapes, answer, form, done)
    if not cluster.nodes:
        return 2
    return 1 if done.is_dry_run and done.nodes else 0


def _kept(
    keeping: KeepingOptions, source: SourceOptions, traps: Sequence[Trap]
) -> KeptAwayDocument:
    import asyncio

    from numalet.cluster import keeping as carrying_out
    from numalet.insight.fleet import keeping_away
    from numalet.insight.fleet.keeping_away import KeepAway
    from numalet.insight.output.fleet_fit_document import KeptAwayDocument
    from numalet.io.kube_api import access

    assert keeping.how in ("cordon", "taint")
    plan = keeping_away.plan(traps, KeepAway(keeping.how), keeping.at_most)
    changed: list[str] = []
    if keeping.is_meant and plan.nodes:
        server = access.of(source.kubeconfig, source.context)
        changed = asyncio.run(carrying_out.keep_away(server, plan.nodes, plan.how))
    return KeptAwayDocument(
        how=keeping.how,
        is_dry_run=not keeping.is_meant,
        can_change=source.is_live,
        nodes=list(plan.nodes),
        over_the_cap=list(plan.over_the_cap),
        still_used=list(plan.still_used),
        changed=changed,
    )


def _undone(keeping: KeepingOptions, source: SourceOptions) -> KeptAwayDocument:
    import asyncio

    from numalet.cluster import keeping as carrying_out
    from numalet.insight.output.fleet_fit_document import KeptAwayDocument
    from numalet.io.kube_api import access

    if not source.is_live:
        raise input_error.Conflict(
            "--undo, and --yes with --cordon or --taint, need a live cluster; leave --dump "
            "and --fleet out"
        ).bad_input()
    server = access.of(source.kubeconfig, source.context)
    every = asyncio.run(carrying_out.kept_away(server))
    nodes, over = every[: keeping.at_most], every[keeping.at_most :]
    changed = asyncio.run(carrying_out.undo(server, nodes)) if keeping.is_meant else []
    return KeptAwayDocument(
        how="undo",
        is_dry_run=not keeping.is_meant,
        can_change=source.is_live,
        nodes=nodes,
        over_the_cap=over,
        still_used=[],
        changed=changed,
    )
