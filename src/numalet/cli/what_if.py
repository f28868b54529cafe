"""``numalet what-if``: one list of pods on many variants of a node."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from numalet.cli import drawing_options, machine_options, release_options
from numalet.cli import kubelet_options as kubelet
from numalet.cli.matrix_format import MatrixFormat
from numalet.cli.option_groups import expanded
from numalet.core.model.value import replace

if TYPE_CHECKING:
    from numalet.cli.drawing_options import PictureFiles
    from numalet.insight.explain.matrix import VariantRow
    from numalet.insight.usecases.comparing import Comparison, PreparedMatrix

EPILOG = """Examples:

  # all topology policies and scopes on this machine
  numalet what-if -c kubelet.yaml pods.yaml

  # two machines, two policies, with and without an option
  numalet what-if -c kubelet.yaml -m old.tar.gz -m new.tar.gz \\
      --policies restricted,best-effort --scopes container \\
      --options '' --options prefer-closest-numa-nodes=true pods.yaml

  # what another setting of the firmware would change
  numalet what-if -c kubelet.yaml -m profile:epyc-nps1 -m profile:epyc-nps4 pods.yaml

  # what an upgrade of the kubelet would change
  numalet what-if -c kubelet.yaml -m node7.tar.gz --release 1.32,1.36 pods.yaml

  # the spread over 50 arrival orders
  numalet what-if -c kubelet.yaml -m 2n16c2t --orders 50 --seed 7 pods.yaml

  # as a page, to attach to a ticket
  numalet what-if -c kubelet.yaml -m 2n16c2t pods.yaml --html compared.html

  # two configurations, as a table for other programs
  numalet what-if -c a.yaml -c b.yaml -m 2n16c2t pods.yaml -o csv

Exit status: 0 compared, 2 unusable input (also if the kubelet would not start with any variant),
3 a bug.
"""


Pods = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="PODS...",
        help="Manifests (pods, lists, workloads; YAML or JSON), or '-' for the standard input.",
        show_default=False,
    ),
]
Configs = Annotated[
    list[Path] | None,
    typer.Option(
        "-c",
        "--config",
        metavar="FILE",
        help="KubeletConfiguration, YAML or JSON; repeatable.",
        show_default=False,
    ),
]
Policies = Annotated[
    list[str] | None,
    typer.Option(
        "--policies",
        metavar="POLICY,...",
        help="Topology policies; default: all.",
        show_default=False,
    ),
]
Scopes = Annotated[
    list[str] | None,
    typer.Option(
        "--scopes", metavar="SCOPE,...", help="Topology scopes; default: all.", show_default=False
    ),
]
Options = Annotated[
    list[str] | None,
    typer.Option(
        "--options",
        metavar="KEY=VALUE,...",
        help=(
            "Options of the topology policy; '' for none; repeatable."
            " Default: those of the configuration."
        ),
        show_default=False,
    ),
]
Releases = Annotated[
    list[str] | None,
    typer.Option(
        "--release",
        metavar="RELEASE,...",
        help="Releases of the kubelet, such as 1.32,1.36; repeatable. Default: that of the"
        " configuration, or of the kubelet at hand, else 1.32.",
        autocompletion=release_options.names,
        show_default=False,
    ),
]
Orders = Annotated[
    int,
    typer.Option(
        "--orders",
        min=1,
        max=100_000,
        metavar="N",
        help="Arrival orders: the given one, then random ones.",
    ),
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the random orders.")]
Output = Annotated[MatrixFormat, typer.Option("-o", "--output", help="How the result is printed.")]


@expanded
def what_if(
    pods: Pods = None,
    *,
    config: Configs = None,
    machine: machine_options.Machines = None,
    policies: Policies = None,
    scopes: Scopes = None,
    options: Options = None,
    release: Releases = None,
    orders: Orders = 1,
    seed: Seed = 0,
    devices: machine_options.Devices,
    sizes: machine_options.Sizes,
    pod_choice: machine_options.ChosenPods,
    output: Output = MatrixFormat.TABLE,
    pictures: drawing_options.Page,
    ignore_kubelet: kubelet.IgnoreKubelet = False,
    flags: kubelet.FlagsBesideTopology,
) -> None:
    """Compare policies, scopes, options, releases, machines, configurations on the same pods."""
    from numalet.insight.usecases.comparing import Comparison
    from numalet.insight.usecases.simulating import SimulateInputs

    base = flags.sources(None)
    comparison = Comparison(
        pieces=SimulateInputs(
            machine=sizes.choice(),
            config=base,
            **pod_choice.fields(),
            devices=devices.texts,
            device_file=devices.file,
            uses_kubelet=not ignore_kubelet,
        ),
        pods=tuple(pods or ()),
        machines=tuple(machine or ()),
        configs=[replace(base, config_file=path) for path in config or ()],
        policies=tuple(policies or ()),
        scopes=tuple(scopes or ()),
        options=tuple(options or ()),
        releases=tuple(release or ()),
    )
    raise typer.Exit(_run(comparison, orders, seed, output, pictures))


def _run(
    comparison: Comparison, orders: int, seed: int, output: MatrixFormat, pictures: PictureFiles
) -> int:
    """Prepare, compare, print; return the exit status."""
    from numalet.cli import what_if_view
    from numalet.cli.output import show_findings
    from numalet.insight import decision_notes
    from numalet.insight.usecases import comparing as gathering

    prepared = gathering.compare(comparison)
    show_findings(prepared.notes)
    rows = _rows(prepared, orders, seed)
    runs = [run for row in rows for run in row.runs]
    noted = [note for run in runs for note in decision_notes.notes(run.beside)]
    show_findings(each for at, each in enumerate(noted) if each not in noted[:at])
    if pictures.are_wanted:
        _write_page(rows, pictures)
    if not pictures.is_on_output:
        what_if_view.show(rows, seed, output)
    return 2 if all(row.refused is not None for row in rows) else 0


def _write_page(rows: list[VariantRow], pictures: PictureFiles) -> None:
    from numalet.pages import file, what_if_page

    origin = drawing_options.origin()
    pictures.write(html=lambda: file.file("What if", what_if_page.body(rows, origin)))


def _rows(prepared: PreparedMatrix, orders: int, seed: int) -> list[VariantRow]:
    from numalet.cli.progress import Progress
    from numalet.insight.explain import matrix
    from numalet.insight.usecases import comparing as gathering

    asked = gathering.orders(orders, len(prepared.pods), seed)
    whole = len(prepared.variants) * len(prepared.pods) * len(asked)
    progress = Progress(whole, "admissions")
    try:
        return [
            matrix.row(variant, prepared.pods, asked, progress.advance)
            for variant in prepared.variants
        ]
    finally:
        progress.finish()
