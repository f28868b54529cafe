"""Answers about rejected pods in tables: one pod, or all by owner, shape and reason."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from numalet.cli import fleet_view, output
from numalet.cli.fleet_view import MOST_ROWS
from numalet.cli.tables import Column, Columns, table
from numalet.core.cluster.cluster import Cluster
from numalet.insight.fleet.rejected import FleetRejected, RejectedGroup
from numalet.insight.output.fleet_why_document import FleetWhyDocument
from numalet.insight.output.fleet_why_text import Tone, moment, sentences
from numalet.wording import numbers

if TYPE_CHECKING:
    from rich.console import RenderableType

_STYLES: Final = {
    Tone.GOOD: "green",
    Tone.BAD: "red",
    Tone.WARNING: "yellow",
    Tone.QUIET: "dim",
    Tone.PLAIN: "",
}


def why(cluster: Cluster, answer: FleetWhyDocument) -> None:
    """Print what is known about one pod."""
    output.print_all(_why(cluster, answer))


def rejected(cluster: Cluster, answer: FleetRejected) -> None:
    """Print the rejected pods."""
    output.print_all(_rejected(cluster, answer))


def _why(cluster: Cluster, answer: FleetWhyDocument) -> Iterator[RenderableType]:
    for text, tone in sentences(answer):
        yield output.one_line(text, _STYLES[tone])
    if answer.fit is not None:
        yield from fleet_view.left_out(answer.fit)
    yield from fleet_view.ending(cluster)


_GROUPS: Final[Columns[RejectedGroup]] = (
    Column("OWNER", lambda each: f"{each.namespace} {each.owner or f'Pod/{each.pod}'}"),
    Column("ASKS FOR", lambda each: numbers.amounts(each.amounts)),
    Column("REASON", lambda each: each.reason),
    Column("ON", lambda each: each.on_nodes),
    Column("SINCE", lambda each: moment(each.first_at_seconds)),
    Column("FITS ON", lambda each: numbers.counted(len(each.fits_on), "node")),
)


def _rejected(cluster: Cluster, answer: FleetRejected) -> Iterator[RenderableType]:
    if not answer.groups:
        yield output.one_line("No pod of the cluster was rejected by a kubelet.", "green")
    else:
        was = "pod was" if answer.count == 1 else "pods were"
        text = f"{answer.count} {was} rejected at admission: {answer.on_nodes}"
        yield output.one_line(text, "red")
        yield table(_GROUPS, answer.groups[:MOST_ROWS])
        if len(answer.groups) > MOST_ROWS:
            yield output.one_line(f"and {len(answer.groups) - MOST_ROWS} more (see -o json)")
        first = answer.groups[0]
        yield ""
        yield output.one_line(f"Next: numalet fleet why {first.namespace}/{first.pod}")
    yield from fleet_view.ending(cluster)
