"""``numalet doctor``: diagnose a cluster and print the commands that fix it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from numalet.cli.cluster_options import ClusterOptions
from numalet.cli.helping import Command, with_line_breaks
from numalet.cli.options import RESULT, Options, option, with_options
from numalet.cli.output import OutputFormat

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence, Sized

    from rich.console import RenderableType

    from numalet.cluster.doctor.facts import ClusterFacts
    from numalet.insight.lint.rows import FindingRow

EPILOG = """Examples:

  numalet doctor cluster
  numalet doctor cluster --kubeconfig admin.conf --context production
  numalet doctor cluster --scheduler-config scheduler.yaml
  numalet doctor cluster -o json | jq -r '.findings[].fix'

Exit status: 0 nothing is missing (and no warnings with --strict), 1 something is missing,
2 the cluster cannot be reached, 3 a bug.
"""

doctor_app = typer.Typer(
    name="doctor",
    help="Find what is missing, and print the command that fixes it.",
    rich_markup_mode=None,
    no_args_is_help=True,
    epilog=with_line_breaks(EPILOG),
)


class DoctorOptions(Options):
    cluster: ClusterOptions
    scheduler_config: list[Path] = option(
        "A KubeSchedulerConfiguration of a control-plane node; may be repeated.", "FILE"
    )
    output: OutputFormat = RESULT
    strict: bool = option("Exit status 1 for warnings, too.")


@doctor_app.command(
    "cluster",
    cls=Command,
    short_help="Examine a cluster from its API server.",
    epilog=with_line_breaks(EPILOG),
)
@with_options
def cluster(options: DoctorOptions) -> None:
    """Examine definitions, permissions, versions, clocks, what nodes publish, and schedulers.

    Nothing is changed.

    Each finding comes with its fix, where there is one as a command to copy.
    """
    import asyncio

    from numalet.cluster.doctor import rules
    from numalet.insight.lint import rows

    facts = asyncio.run(_collected(options))
    shown = rows.rows(rules.findings(facts))
    if options.output is OutputFormat.TABLE:
        _print_table(facts, shown)
    else:
        _print_document(facts, shown, options.output)
    failing = rows.failing(strict=options.strict)
    raise typer.Exit(1 if any(row.severity in failing for row in shown) else 0)


async def _collected(options: DoctorOptions) -> ClusterFacts:
    """Read the facts. Raises ``BadInput`` if the cluster or a file is unusable."""
    from numalet.cluster.doctor import collecting
    from numalet.core.model.findings import BadInput
    from numalet.io.kube_api import client
    from numalet.io.kube_api.answers import ApiRefused, ApiUnreachable

    try:
        async with client.opened(options.cluster.access(), "numalet-doctor") as api:
            return await collecting.collected(api, options.scheduler_config)
    except (ApiRefused, ApiUnreachable) as problem:
        raise BadInput([problem.finding]) from None


def _print_table(facts: ClusterFacts, shown: Sequence[FindingRow]) -> None:
    from numalet.cli import output

    output.print_all(_drawn(facts, shown))


def _drawn(facts: ClusterFacts, shown: Sequence[FindingRow]) -> Iterator[RenderableType]:
    from numalet.cli import check_view
    from numalet.core.model.findings import Severity
    from numalet.wording import numbers

    counts = (
        _number(facts.nodes, "node", "nodes"),
        _number(facts.numa_nodes, "NumaNode", "NumaNodes"),
        _number(facts.class_names, "class", "classes"),
    )
    version = f"{facts.server}, version {facts.version}"
    yield check_view.text(f"{version}: {', '.join(counts)}", "", 0)
    yield from check_view.blocks(shown, set(), "")
    yield ""
    found = [
        numbers.counted(sum(row.severity is each for row in shown), each.value) for each in Severity
    ]
    yield check_view.text(", ".join(found), "", 0)


def _number(values: Sized | None, one: str, several: str) -> str:
    if values is None:
        return f"{several} unknown"
    return f"{len(values)} {one if len(values) == 1 else several}"


def _print_document(facts: ClusterFacts, shown: Sequence[FindingRow], chosen: OutputFormat) -> None:
    from numalet.cli import output
    from numalet.insight.output import check_document

    document = check_document.DoctorDocument(
        server=facts.server,
        version=facts.version,
        nodes=None if facts.nodes is None else len(facts.nodes),
        numa_nodes=None if facts.numa_nodes is None else len(facts.numa_nodes),
        classes=None if facts.class_names is None else len(facts.class_names),
        counts=check_document.counts(shown),
        findings=[check_document.of_row(row) for row in shown],
    )
    output.print_document(document, chosen)
