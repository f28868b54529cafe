"""``numalet reserve``: compute a legal reservedMemory, explain it, and write it to the file."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from numalet.cli import kubelet_options as kubelet
from numalet.cli.node_options import MachineOptions
from numalet.cli.options import Options, option, with_options

if TYPE_CHECKING:
    from numalet.insight.usecases.reserving import ReserveInputs

EPILOG = """Examples:

  numalet reserve -c kubelet.yaml

  numalet reserve -m 2n16c2t --memory-per-node 128Gi \\
      --kube-reserved cpu=4,memory=4Gi --system-reserved cpu=1,memory=1Gi

  numalet reserve -m node7.tar.gz --strategy spare=1 --write kubelet.yaml

  kubelet ... $(numalet reserve -c kubelet.yaml -o flag)

Exit status: 0 success, 1 the kubelet would not start for another reason, 2 invalid input or no
legal reservation exists, 3 a bug.
"""


class ReserveFormat(StrEnum):
    TABLE = "table"
    JSON = "json"
    YAML = "yaml"
    FLAG = "flag"


class ReserveOptions(Options):
    config: Path | None = kubelet.CONFIG_FILE
    machine: MachineOptions
    strategy: str = option(
        "How the sum is split: the same on every NUMA node, by their memory, all on the first one,"
        " or nothing on node N.",
        "even|proportional|node0|spare=N",
        default="even",
    )
    write: Path | None = option(
        "Put the result into this KubeletConfiguration, in place; the former content is kept as"
        " FILE.bak.",
        "FILE",
    )
    output: ReserveFormat = option(
        "How the result is printed.", name="-o", default=ReserveFormat.TABLE
    )
    flags: kubelet.ReservationFlags


@with_options
def reserve(options: ReserveOptions) -> None:
    """Compute a reservedMemory with which the kubelet starts, for every NUMA node."""
    from numalet.insight.usecases.reserving import ReserveInputs

    pieces = ReserveInputs(
        machine=options.machine.choice(),
        config=options.flags.sources(options.config or options.write),
        strategy=options.strategy,
        write=options.write,
    )
    raise typer.Exit(_run(pieces, options.output))


def _run(pieces: ReserveInputs, output: ReserveFormat) -> int:
    from numalet.cli import reserve_view
    from numalet.cli.output import show_findings
    from numalet.insight.usecases import reserving

    plan = reserving.plan(pieces)
    written = None
    show_findings(plan.notes)
    if pieces.write is not None:
        written = reserving.write(pieces, pieces.write, plan.entries)
        show_findings(reserving.must_stay(pieces))
    match output:
        case ReserveFormat.TABLE:
            reserve_view.print_plan(plan)
        case ReserveFormat.JSON:
            reserve_view.print_json(plan, written)
        case ReserveFormat.YAML:
            reserve_view.print_yaml(plan)
        case ReserveFormat.FLAG:
            reserve_view.print_flag(plan)
    if written is not None:
        reserve_view.say_written(written)
    if plan.refused is not None:
        reserve_view.say_refused(plan.refused, plan.behaviour.release)
        return 1
    return 0
