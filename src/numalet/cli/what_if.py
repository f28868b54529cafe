"""``numalet what-if``: one list of pods on many variants of a node."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from numalet.cli import kubelet_options as kubelet
from numalet.cli import simulate as simulating
from numalet.cli.matrix_format import MatrixFormat

if TYPE_CHECKING:
    from numalet.adapters.explaining import Comparison, PreparedMatrix
    from numalet.explain.matrix import Row

EPILOG = """Examples:

  # all topology policies and scopes on this machine
  numalet what-if -c kubelet.yaml pods.yaml

  # two machines, two policies, with and without an option
  numalet what-if -c kubelet.yaml -m old.tar.gz -m new.tar.gz \\
      --policies restricted,best-effort --scopes container \\
      --options '' --options prefer-closest-numa-nodes=true pods.yaml

  # the spread over 50 arrival orders
  numalet what-if -c kubelet.yaml -m 2n16c2t --orders 50 --seed 7 pods.yaml

  # two configurations, as a table for other programs
  numalet what-if -c a.yaml -c b.yaml -m 2n16c2t pods.yaml -o csv

Exit status: 0 compared, 2 unusable input (also if the kubelet would not start with any variant),
3 a bug.
"""


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
Machines = Annotated[
    list[str] | None,
    typer.Option(
        "-m",
        "--machine",
        metavar="MACHINE",
        help=(
            "A folder or tarball with /sys, a description, or a shape; default: this machine."
            " Repeatable."
        ),
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


def what_if(
    pods: simulating.Pods = None,
    *,
    config: Configs = None,
    machine: Machines = None,
    policies: Policies = None,
    scopes: Scopes = None,
    options: Options = None,
    orders: Orders = 1,
    seed: Seed = 0,
    device: simulating.Device = None,
    devices: simulating.DeviceFile = None,
    memory_per_node: simulating.MemoryPerNode = None,
    hugepages_per_node: simulating.PagesPerNode = None,
    node_name: simulating.NodeName = None,
    output: Output = MatrixFormat.TABLE,
    config_dir: kubelet.ConfigDir = None,
    no_config_file: kubelet.NoConfigFile = False,
    memory_manager_policy: kubelet.MemoryManagerPolicy = None,
    reserved_memory: kubelet.ReservedMemory = None,
    kube_reserved: kubelet.KubeReserved = None,
    system_reserved: kubelet.SystemReserved = None,
    eviction_hard: kubelet.EvictionHard = None,
    cpu_manager_policy: kubelet.CpuManagerPolicy = None,
    cpu_manager_policy_options: kubelet.CpuManagerPolicyOptions = None,
    reserved_cpus: kubelet.ReservedCpus = None,
    feature_gates: kubelet.FeatureGates = None,
) -> None:
    """Compare topology policies, scopes, options, machines and configurations on the same pods."""
    from numalet.adapters.explaining import Comparison
    from numalet.adapters.simulation import Pieces
    from numalet.cli.machine import parse_pages

    flags = {
        "memory-manager-policy": memory_manager_policy,
        "reserved-memory": reserved_memory,
        "kube-reserved": kube_reserved,
        "system-reserved": system_reserved,
        "eviction-hard": eviction_hard,
        "cpu-manager-policy": cpu_manager_policy,
        "cpu-manager-policy-options": cpu_manager_policy_options,
        "reserved-cpus": reserved_cpus,
        "feature-gates": feature_gates,
    }
    base = kubelet.sources(None, config_dir, no_config_file, flags)
    comparison = Comparison(
        pieces=Pieces(
            memory_per_node=memory_per_node,
            hugepages_per_node=parse_pages(hugepages_per_node) if hugepages_per_node else None,
            config=base,
            node_name=node_name,
            devices=tuple(device or ()),
            device_file=devices,
        ),
        pods=tuple(pods or ()),
        machines=tuple(machine or ()),
        configs=[replace(base, config_file=path) for path in config or ()],
        policies=tuple(policies or ()),
        scopes=tuple(scopes or ()),
        options=tuple(options or ()),
    )
    raise typer.Exit(_run(comparison, orders, seed, output))


def _run(comparison: Comparison, orders: int, seed: int, output: MatrixFormat) -> int:
    """Prepare, compare, print; the exit status."""
    from numalet.adapters import explaining as gathering
    from numalet.cli import what_if_view
    from numalet.cli.output import show_findings

    prepared = gathering.compare(comparison)
    show_findings(prepared.notes)
    rows = _rows(prepared, orders, seed)
    what_if_view.show(rows, seed, output)
    return 2 if all(row.refused is not None for row in rows) else 0


def _rows(prepared: PreparedMatrix, orders: int, seed: int) -> list[Row]:
    """The row of every variant."""
    from numalet.adapters import explaining as gathering
    from numalet.cli.progress import Progress
    from numalet.explain import matrix

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
