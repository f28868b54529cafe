"""``numalet what-if``: one list of pods on many variants of a node."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from numalet.cli import drawing_options, node_options
from numalet.cli import kubelet_options as kubelet
from numalet.cli.options import Options, argument, option, with_options
from numalet.cli.output import RowsFormat
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

Exit status: 0 compared, 2 invalid input (also if the kubelet would not start with any variant),
3 a bug.
"""


class WhatIfOptions(Options):
    pods: list[str] = argument(
        "Manifests (pods, lists, workloads; YAML or JSON), or '-' for the standard input.",
        "PODS...",
    )
    config: list[Path] = option("KubeletConfiguration, YAML or JSON; repeatable.", "FILE", "-c")
    machine: list[str] = node_options.MACHINES
    policies: list[str] = option("Topology policies; default: all.", "POLICY,...")
    scopes: list[str] = option("Topology scopes; default: all.", "SCOPE,...")
    options: list[str] = option(
        "Options of the topology policy; '' for no options; repeatable. Default: those of the"
        " configuration.",
        "KEY=VALUE,...",
    )
    release: list[str] = option(
        "Releases of the kubelet, such as 1.32,1.36; repeatable. Default: that of the"
        " configuration, or of the detected kubelet, else 1.37.",
        "RELEASE,...",
        autocompletion=node_options.release_names,
    )
    orders: int = option(
        "Arrival orders: the given one, then random ones.", "N", default=1, min=1, max=100_000
    )
    seed: int = option("Seed of the random orders.", "N", default=0)
    devices: node_options.DeviceOptions
    sizes: node_options.Sizes
    pod_choice: node_options.PodChoice
    output: RowsFormat = option("How the result is printed.", name="-o", default=RowsFormat.TABLE)
    pictures: drawing_options.Page
    ignore_kubelet: bool = kubelet.IGNORE_KUBELET
    flags: kubelet.FlagsBesideTopology


@with_options
def what_if(given: WhatIfOptions) -> None:
    """Compare policies, scopes, options, releases, machines, configurations on the same pods."""
    from numalet.insight.usecases.comparing import Comparison
    from numalet.insight.usecases.simulating import SimulateInputs

    base = given.flags.sources(None)
    comparison = Comparison(
        pieces=SimulateInputs(
            machine=given.sizes.choice(),
            config=base,
            **given.pod_choice.fields(),
            **given.devices.fields(),
            uses_kubelet=not given.ignore_kubelet,
        ),
        pods=tuple(given.pods),
        machines=tuple(given.machine),
        configs=[replace(base, config_file=path) for path in given.config],
        policies=tuple(given.policies),
        scopes=tuple(given.scopes),
        options=tuple(given.options),
        releases=tuple(given.release),
    )
    raise typer.Exit(_run(comparison, given))


def _run(comparison: Comparison, given: WhatIfOptions) -> int:
    """Prepare, compare, print; return the exit status."""
    from numalet.cli import what_if_view
    from numalet.cli.output import show_findings
    from numalet.insight.usecases import comparing as gathering

    prepared = gathering.compare(comparison)
    show_findings(prepared.notes)
    rows = _rows(prepared, given.orders, given.seed)
    noted = [note for row in rows for note in row.notes]
    show_findings(each for at, each in enumerate(noted) if each not in noted[:at])
    if given.pictures.are_wanted:
        _write_page(rows, given.pictures)
    if not given.pictures.is_on_output:
        what_if_view.show(rows, given.seed, given.output)
    return 2 if all(row.refused is not None for row in rows) else 0


def _write_page(rows: list[VariantRow], pictures: PictureFiles) -> None:
    from numalet.pages import templating, what_if_page

    origin = drawing_options.origin()
    pictures.write(
        html=lambda: templating.html_file(
            "What if", what_if_page.body([row.document for row in rows], origin)
        )
    )


def _rows(prepared: PreparedMatrix, orders: int, seed: int) -> list[VariantRow]:
    from numalet.cli import progress
    from numalet.insight.explain import matrix
    from numalet.insight.output import explanation_document
    from numalet.insight.usecases import comparing as gathering

    asked = gathering.orders(orders, len(prepared.pods), seed)
    whole = len(prepared.variants) * len(prepared.pods) * len(asked)
    with progress.steps(whole, "admissions") as bar:
        return [
            matrix.row(each, prepared.pods, asked, bar.advance, explanation_document.causes)
            for each in prepared.variants
        ]
