"""``numalet fleet why`` and ``fleet rejected``: pods that kubelets rejected, and where they fit."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import typer

from numalet.cli import fleet_sources, output, progress
from numalet.cli.fleet_sources import OUTPUT, WATCH, Source
from numalet.cli.helping import Command, with_line_breaks
from numalet.cli.options import REQUIRED, Options, argument, with_options
from numalet.cli.output import RowsFormat

if TYPE_CHECKING:
    from numalet.core.cluster.cluster import Cluster
    from numalet.insight.fleet.assessing import Assessor

_WHY: Final = """Examples:

  numalet fleet why train/llm-0
  numalet fleet why train/llm-0 -o json

  # from a dump; the class file describes nodes that publish nothing
  kubectl get nodes,pods,pdb -A -o json > dump.json
  numalet fleet why train/llm-0 --dump dump.json --class classes.yaml

'numalet fleet rejected' lists the pods that kubelets rejected.

Exit status: 0 a new pod of its shape fits now (or the pod is on its node), 1 none fits, 2 invalid
input or no node has enough data, 3 a bug.
"""

_REJECTED: Final = """Examples:

  numalet fleet rejected
  numalet fleet rejected --watch
  numalet fleet rejected --dump dump.json --class classes.yaml -o csv

Exit status: 0 no pod was rejected, 1 some were, 2 invalid input, 3 a bug.
"""


class WhyOptions(Options):
    pod: str = argument("NAMESPACE/POD, a name, or a uid.", "POD", default=REQUIRED)
    source: Source
    output: RowsFormat = OUTPUT


class RejectedOptions(Options):
    source: Source
    watch: bool = WATCH
    output: RowsFormat = OUTPUT


@with_options
def why(options: WhyOptions) -> None:
    """Explain why a kubelet rejected this pod, where it fits now, and the cheapest way out.

    The pod, its node and all other nodes are those of the cluster. A pod that waits for a node is
    explained in the same way.
    """
    raise typer.Exit(
        fleet_sources.answered(
            options.source, lambda cluster: _why(cluster, options.pod, options.output)
        )
    )


@with_options
def rejected(options: RejectedOptions) -> None:
    """List the pods that kubelets rejected, by owner, shape and reason, and where they fit now.

    A rejected pod has failed with a reason such as TopologyAffinityError, SMTAlignmentError,
    UnexpectedAdmissionError or OutOfcpu. Pods that were deleted since are not known.
    """
    from numalet.insight.fleet.assessing import Assessor

    raise typer.Exit(
        fleet_sources.answered(
            options.source,
            partial(_rejected, assessor=Assessor(), form=options.output),
            watch=options.watch,
            is_table=options.output is RowsFormat.TABLE,
        )
    )


def _why(cluster: Cluster, text: str, form: RowsFormat) -> int:
    """Print the answer. Raises ``BadInput`` if the pod is not found."""
    from numalet.cli import fleet_rejections_view
    from numalet.insight.fleet import named_pod
    from numalet.insight.output import fleet_rows, fleet_why_document

    pod = named_pod.find(cluster, text)
    with progress.waiting("asking the nodes"):
        answer = fleet_why_document.of(cluster, pod)
    match form:
        case RowsFormat.CSV:
            output.print_rows(fleet_rows.fits([] if answer.fit is None else [answer.fit]))
        case RowsFormat.TABLE:
            fleet_rejections_view.why(cluster, answer)
        case _:
            output.print_document(answer, form)
    return 0 if answer.is_yes else 1 if answer.is_decided else 2


def _rejected(cluster: Cluster, assessor: Assessor, form: RowsFormat) -> int:
    from numalet.cli import fleet_rejections_view
    from numalet.insight.fleet import rejected as rejecting
    from numalet.insight.output import fleet_rows

    with progress.waiting("asking the nodes"):
        answer = rejecting.rejected(cluster, assessor)
    match form:
        case RowsFormat.CSV:
            output.print_rows(fleet_rows.rejected(answer))
        case RowsFormat.TABLE:
            fleet_rejections_view.rejected(cluster, answer)
        case _:
            output.print_document(answer, form)
    return 1 if answer.groups else 0


def register(app: typer.Typer) -> None:
    app.command(
        "why",
        cls=Command,
        short_help="Explain why a pod was rejected, and where it fits now.",
        epilog=with_line_breaks(_WHY),
    )(why)
    app.command(
        "rejected",
        cls=Command,
        short_help="List the pods that kubelets rejected, and where they fit now.",
        epilog=with_line_breaks(_REJECTED),
    )(rejected)
