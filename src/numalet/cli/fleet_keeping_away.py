"""``numalet fleet traps --cordon``, ``--taint`` and ``--undo``: a dry run without --yes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from numalet.cli.fleet_sources import SourceOptions
from numalet.cli.options import Options, option
from numalet.cli.output import RowsFormat
from numalet.core.model import input_error
from numalet.core.model.findings import BadInput

if TYPE_CHECKING:
    from numalet.insight.fleet.traps import KeptAway, Trap
    from numalet.io.documents.pods.pod_shapes import PodShape

How: TypeAlias = Literal["cordon", "taint", "undo"]


class KeepingOptions(Options):
    """The chosen measures against traps."""

    cordon: bool = option("Cordon the traps that reject every shape.")
    taint: bool = option("Taint them instead: numalet.dev/trap:NoSchedule.")
    undo: bool = option("Undo what this command did to nodes earlier.")
    at_most: int = option("Maximum number of nodes to change.", "N", default=10, min=0)
    yes: bool = option("Do it; without it nothing is changed.")

    def check(self) -> None:
        chosen = self._chosen()
        if len(chosen) > 1:
            raise input_error.Conflict(
                f"--{chosen[0]} cannot be combined with --{chosen[1]}"
            ).bad_input()
        if self.yes and not chosen:
            raise input_error.Required("--yes needs --cordon, --taint or --undo").bad_input()

    def _chosen(self) -> list[How]:
        names: tuple[How, ...] = ("cordon", "taint", "undo")
        return [name for name in names if getattr(self, name)]

    @property
    def how(self) -> How | None:
        """What is done, if anything."""
        return next(iter(self._chosen()), None)


def keep_away(
    keeping: KeepingOptions,
    source: SourceOptions,
    shapes: Sequence[PodShape],
    form: RowsFormat,
) -> int:
    """Return 0 if all is done, 1 if a dry run found changes, 2 if every node is undecided.

    Raises ``BadInput`` if reading or changing the cluster fails.
    """
    from numalet.cli import fleet_answers, fleet_sources
    from numalet.core.model.value import replace

    if keeping.yes and not source.is_live:
        raise _needs_live_cluster()
    cluster = fleet_sources.opened(source).cluster
    answer = fleet_answers.find_traps(cluster, shapes)
    if keeping.how == "undo":
        done = _undone(keeping, source)
    else:
        done = _kept(keeping, source, answer.traps)
    fleet_answers.print_traps(cluster, replace(answer, kept_away=done), form)
    if not cluster.nodes:
        return 2
    return 1 if done.is_dry_run and done.nodes else 0


def _kept(keeping: KeepingOptions, source: SourceOptions, traps: Sequence[Trap]) -> KeptAway:
    import asyncio

    from numalet.cluster import keeping as carrying_out
    from numalet.core.model.value import replace
    from numalet.insight.fleet import keeping_away
    from numalet.insight.fleet.keeping_away import KeepAway

    assert keeping.how in ("cordon", "taint")
    how = KeepAway(keeping.how)
    plan = keeping_away.plan(traps, how, keeping.at_most, can_change=source.is_live)
    if not keeping.yes:
        return plan
    changed: list[str] = []
    if plan.nodes:
        server = source.cluster.access()
        changed = asyncio.run(carrying_out.keep_away(server, plan.nodes, how))
    return replace(plan, is_dry_run=False, changed=changed)


def _needs_live_cluster() -> BadInput:
    return input_error.Conflict(
        "--undo, and --yes with --cordon or --taint, need a live cluster; leave --dump and "
        "--fleet out"
    ).bad_input()


def _undone(keeping: KeepingOptions, source: SourceOptions) -> KeptAway:
    import asyncio

    from numalet.cluster import keeping as carrying_out
    from numalet.insight.fleet.traps import KeptAway

    if not source.is_live:
        raise _needs_live_cluster()
    server = source.cluster.access()
    every = asyncio.run(carrying_out.kept_away(server))
    nodes, over = every[: keeping.at_most], every[keeping.at_most :]
    changed = asyncio.run(carrying_out.undo(server, nodes)) if keeping.yes else []
    return KeptAway(
        how="undo",
        is_dry_run=not keeping.yes,
        can_change=source.is_live,
        nodes=nodes,
        over_the_cap=over,
        still_used=[],
        changed=changed,
    )
