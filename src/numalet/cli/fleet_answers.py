"""The subcommands of ``numalet fleet``: each computes its answer, prints it, returns a status."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from numalet.cli import output, progress
from numalet.cli.output import RowsFormat
from numalet.core.cluster.cluster import Cluster
from numalet.core.model import input_error
from numalet.core.model.findings import BadInput
from numalet.wording import numbers

if TYPE_CHECKING:
    from numalet.core.cluster.cluster import Arrival, Cluster
    from numalet.insight.fleet.assessing import Assessor
    from numalet.insight.fleet.evicting import FreeQuestion
    from numalet.insight.fleet.kube_scheduler import Scoring
    from numalet.insight.fleet.replay import ReplayRules
    from numalet.insight.fleet.traps import TrapFinder, Traps
    from numalet.insight.fleet.variants import NodeVariants
    from numalet.io.documents.pods.pod_shapes import PodShape


_ASKING: Final = "asking the nodes"


def fit(
    cluster: Cluster,
    shapes: Sequence[PodShape],
    count: int | None,
    form: RowsFormat,
    assessor: Assessor | None = None,
) -> int:
    """Return whether this many copies of each shape fit; 0: count all that fit.

    By default each shape's object determines the number.
    """
    from numalet.cli import fleet_view
    from numalet.insight.fleet import fit as fitting
    from numalet.insight.output import fleet_rows

    asked = [
        (each.name, each.pod, each.count if count is None else count or None) for each in shapes
    ]
    with progress.waiting(_ASKING):
        answer = fitting.fit_each(cluster, asked, assessor)
    match form:
        case RowsFormat.TABLE:
            fleet_view.fits(cluster, answer.shapes)
        case RowsFormat.CSV:
            output.print_rows(fleet_rows.fits(answer.shapes))
        case _:
            output.print_document(answer, form)
    return 0 if answer.fits else 1


def traps(
    cluster: Cluster,
    shapes: Sequence[PodShape],
    form: RowsFormat,
    finder: TrapFinder | None = None,
) -> int:
    """Find nodes that are traps for these shapes, by default those of the cluster's pods."""
    with progress.waiting(_ASKING):
        answer = find_traps(cluster, shapes, finder)
    print_traps(cluster, answer, form)
    return exit_status(cluster, answer)


def find_traps(
    cluster: Cluster, shapes: Sequence[PodShape], finder: TrapFinder | None = None
) -> Traps:
    from numalet.insight.fleet import traps as trapping

    asked = [each.pod for each in shapes] if shapes else None
    return trapping.traps(cluster, asked, finder, [each.name for each in shapes])


def exit_status(cluster: Cluster, answer: Traps) -> int:
    """Return 1 if some nodes are traps, 2 if every node is undecided, else 0."""
    return 2 if not cluster.nodes else 1 if answer.traps else 0


def print_traps(cluster: Cluster, answer: Traps, form: RowsFormat) -> None:
    """Print the traps, and the measures against them."""
    from numalet.cli import fleet_view
    from numalet.insight.output import fleet_rows

    match form:
        case RowsFormat.TABLE:
            fleet_view.traps(cluster, answer)
        case RowsFormat.CSV:
            output.print_rows(fleet_rows.traps(answer))
        case _:
            output.print_document(answer, form)


def free(
    cluster: Cluster, shape: PodShape, question: FreeQuestion, form: RowsFormat, *, plans: bool
) -> int:
    """Find pods to evict so that copies of the shape fit, and new places for them.

    Raises ``BadInput`` if an unknown node was named.
    """
    from numalet.cli import fleet_view
    from numalet.insight.fleet import evicting, moves
    from numalet.insight.output import fleet_free_document, fleet_rows

    check_nodes(cluster, question.only)
    with progress.waiting(_ASKING):
        answer = evicting.free_copies(cluster, shape.pod, shape.count, question)
        planned = [
            moves.plan(each.before, each.answer) if plans else None for each in answer.copies
        ]
    match form:
        case RowsFormat.TABLE:
            fleet_view.free(cluster, shape.name, answer, planned)
        case RowsFormat.CSV:
            output.print_rows(fleet_rows.free(answer))
        case _:
            document = fleet_free_document.of(cluster, shape.name, answer, planned)
            output.print_document(document, form)
    return 0 if answer.is_enough else 1


def what_if(
    cluster: Cluster, others: NodeVariants, scoring: Scoring | None, form: RowsFormat
) -> int:
    from numalet.cli import fleet_csv, fleet_days_view
    from numalet.insight.fleet import variants as asking

    with progress.steps(len(others), "nodes") as bar:
        answer = asking.what_if(cluster, others, other_scoring=scoring, done=bar.advance)
    match form:
        case RowsFormat.TABLE:
            fleet_days_view.what_if(cluster, answer)
        case RowsFormat.CSV:
            output.print_rows(fleet_csv.what_if(answer))
        case _:
            output.print_document(answer, form)
    return 0


def replay(cluster: Cluster, trace: Sequence[Arrival], rules: ReplayRules, form: RowsFormat) -> int:
    from numalet.cli import fleet_csv, fleet_days_view
    from numalet.insight.fleet import replay as replaying
    from numalet.insight.output import fleet_days_document

    with progress.waiting(f"replaying {len(trace)} pods twice"):
        answer = replaying.replay(cluster, trace, rules)
    match form:
        case RowsFormat.TABLE:
            fleet_days_view.replay(cluster, answer, rules)
        case RowsFormat.CSV:
            output.print_rows(fleet_csv.replay(answer))
        case _:
            document = fleet_days_document.of_replay(cluster, answer, rules)
            output.print_document(document, form)
    return 0


def check_pools(cluster: Cluster, names: Iterable[str]) -> None:
    """Raise ``BadInput`` for an unknown pool."""
    known = list(cluster.pools())
    unknown = [each for each in names if each not in known]
    if unknown:
        text = _listed(known)
        raise BadInput(
            [input_error.NotFound(f"unknown pool {each!r}; pools: {text}") for each in unknown]
        )


def check_nodes(cluster: Cluster, names: Iterable[str]) -> None:
    """Raise ``BadInput`` for a node that is unknown or undecided."""
    unknown = [each for each in names if each not in cluster.nodes]
    if unknown:
        text = _listed(sorted(cluster.nodes))
        raise BadInput(
            [
                input_error.NotFound(f"unknown or undecided node {each!r}; nodes: {text}")
                for each in unknown
            ]
        )


def _listed(names: Sequence[str]) -> str:
    return numbers.some(each or "''" for each in names) or "none"
