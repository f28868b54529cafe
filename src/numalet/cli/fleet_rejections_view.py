"""Answers about rejected pods in tables: one pod, or all by owner, shape and reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from numalet.cli import breaking, fleet_view, output
from numalet.cli.fleet_view import MOST_ROWS, some
from numalet.cli.tables import Column, Columns, table
from numalet.core.cluster.cluster import Cluster
from numalet.insight.fleet.fit import Fit
from numalet.insight.fleet.rejected import FleetRejected, RejectedGroup
from numalet.insight.output.fleet_why_document import (
    FleetWhyDocument,
    Standing,
    ThereDocument,
    ThereVerdict,
    Way,
)
from numalet.wording import explanations, numbers

if TYPE_CHECKING:
    from rich.console import RenderableType


def why(cluster: Cluster, answer: FleetWhyDocument) -> None:
    """Print what is known about one pod."""
    output.print_all(_why(cluster, answer))


def rejected(cluster: Cluster, answer: FleetRejected) -> None:
    """Print the rejected pods."""
    output.print_all(_rejected(cluster, answer))


def _why(cluster: Cluster, answer: FleetWhyDocument) -> Iterator[RenderableType]:
    name, owner = f"{answer.namespace}/{answer.name}", answer.owner or "no controller"
    text = f"{name} ({owner}) {_STANDINGS[answer.standing]}"
    at = "" if answer.at_seconds is None else f" ({moment(answer.at_seconds)})"
    where = f" {answer.node}{at}" if answer.node else ""
    because = f": {answer.reason}" if answer.reason else ""
    is_bad = answer.standing in (Standing.REJECTED, Standing.FAILED)
    yield output.one_line(f"{text}{where}{because}", "red" if is_bad else "")
    if answer.message:
        yield output.one_line(f"  {answer.message}", "dim")
    yield output.one_line(f"It asks for {numbers.amounts(answer.amounts)}.")
    if answer.there is not None:
        yield from _there(answer.there)
    if answer.fit is not None:
        yield from _fit(cluster, answer, answer.fit)
    yield from fleet_view.ending(cluster)


_STANDINGS: Final[Mapping[Standing, str]] = {
    Standing.REJECTED: "was rejected on",
    Standing.FAILED: "failed on",
    Standing.SUCCEEDED: "has succeeded on",
    Standing.WAITING: "waits for a node",
    Standing.ON_NODE: "was not rejected: it is on",
}


def _there(there: ThereDocument) -> Iterator[RenderableType]:
    match there.verdict:
        case ThereVerdict.ADMITTED:
            yield output.one_line(f"Now {there.node} would admit it.", "green")
        case ThereVerdict.REJECTED:
            text = f"Now {there.node} would reject it: {there.reason}: {there.text.rstrip('.')}."
            yield output.one_line(text, "red")
        case ThereVerdict.NOT_SENT:
            text = f"Now {there.node} would admit it, but the scheduler would not send it there"
            yield output.one_line(f"{text}: {there.text}.", "yellow")
        case ThereVerdict.UNDECIDED:
            yield output.one_line(f"{there.node} is not decided on now: {there.text}", "yellow")
        case ThereVerdict.GONE:
            yield output.one_line(f"The cluster has no node {there.node} now.", "yellow")
    if there.contradiction:
        yield output.one_line(f"! {there.contradiction}. Correct its class (--class).", "yellow")


def _fit(cluster: Cluster, answer: FleetWhyDocument, fit: Fit) -> Iterator[RenderableType]:
    count = len(fit.nodes_that_fit)
    yield ""
    if not cluster.nodes:
        yield output.one_line("No node has enough data for a decision.", "yellow")
    elif fit.fits:
        nodes = numbers.counted(count, "node")
        yield output.one_line(f"It fits now on {nodes}: {some(fit.nodes_that_fit)}", "green")
    else:
        yield output.one_line("It fits on no node now.", "red")
    for at, way in enumerate(answer.ways_out):
        title = explanations.SUGGESTION if at == 0 else "Or"
        yield output.one_line(f"{title}: {way.text}.")
    if cluster.nodes and not answer.ways_out:
        yield output.one_line("Neither a smaller shape nor evictions were found to help.")
    if any(way.way is Way.EVICTIONS for way in answer.ways_out):
        yield output.one_line("  'numalet fleet free --plan' shows where evicted pods could run.")
    if fit.fits and answer.refusing:
        nodes = numbers.counted(len(answer.refusing), "node")
        verb = "rejects" if len(answer.refusing) == 1 else "reject"
        text = f"! The scheduler may also choose {nodes} that {verb} it: {some(answer.refusing)}."
        yield output.one_line(f"{text} 'numalet fleet traps' keeps pods away.", "yellow")
    yield from fleet_view.left_out(fit)


_GROUPS: Final[Columns[RejectedGroup]] = (
    Column("OWNER", lambda each: breaking.words(f"{each.namespace}/{each.owner or '-'}")),
    Column("LAST POD", lambda each: breaking.words(each.pod)),
    Column("ASKS FOR", lambda each: numbers.amounts(each.amounts)),
    Column("REASON", lambda each: each.reason),
    Column("ON", lambda each: _counts(each.nodes)),
    Column("SINCE", lambda each: moment(each.first_at_seconds)),
    Column("FITS NOW ON", lambda each: numbers.counted(len(each.fits_on), "node")),
)


def _rejected(cluster: Cluster, answer: FleetRejected) -> Iterator[RenderableType]:
    if not answer.groups:
        yield output.one_line("No pod of the cluster was rejected by a kubelet.", "green")
    else:
        was = "pod was" if answer.count == 1 else "pods were"
        text = f"{answer.count} {was} rejected at admission: {_counts(answer.nodes)}"
        yield output.one_line(text, "red")
        yield table(_GROUPS, answer.groups[:MOST_ROWS])
        if len(answer.groups) > MOST_ROWS:
            yield output.one_line(f"and {len(answer.groups) - MOST_ROWS} more (see -o json)")
        first = answer.groups[0]
        yield ""
        yield output.one_line(f"Next: numalet fleet why {first.namespace}/{first.pod}")
    yield from fleet_view.ending(cluster)


def _counts(nodes: Mapping[str, int]) -> str:
    return some(f"{name} {count}" for name, count in nodes.items())


def moment(at_seconds: float | None) -> str:
    """Format a moment to the minute, in UTC; ``-`` if it is unknown."""
    if at_seconds is None:
        return "-"
    return f"{datetime.fromtimestamp(at_seconds, UTC):%Y-%m-%d %H:%M} UTC"
