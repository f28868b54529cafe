"""``numalet check``: whether the kubelet would start, and what else is wrong or unwise."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from numalet.cli import kubelet_options as kubelet

if TYPE_CHECKING:
    from numalet.adapters.checking import Pieces

EPILOG = """Examples:

  numalet check -c kubelet.yaml

  numalet check -c kubelet.yaml -m node7.tar.gz --state-dir ./state pods.yaml

  numalet check -m 2n16c2t --memory-per-node 128Gi --memory-manager-policy Static
      --reserved-memory 0:memory=100Mi

  numalet check -c kubelet.yaml -m node7.tar.gz -o sarif > numalet.sarif

Exit status: 0 clean (warnings and notes aside), 1 findings of severity error, 2 the input can
not be used, 3 a bug.
"""


class Format(StrEnum):
    """How the findings are printed."""

    TABLE = "table"
    JSON = "json"
    SARIF = "sarif"
    GITHUB = "github"


Pods = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="PODS...",
        help="Manifests of pods that the node shall take (YAML or JSON).",
        show_default=False,
    ),
]
Machine = Annotated[
    str | None,
    typer.Option(
        "-m",
        "--machine",
        metavar="MACHINE",
        help="A folder or tarball with /sys, a description, or a shape; default: this machine.",
    ),
]
MemoryPerNode = Annotated[
    str | None,
    typer.Option("--memory-per-node", metavar="SIZE", help="For a shape: memory of every node."),
]
PagesPerNode = Annotated[
    str | None,
    typer.Option(
        "--hugepages-per-node",
        metavar="SIZE=COUNT[;...]",
        help="For a shape: huge pages of every node, such as '1Gi=4;2Mi=512'.",
    ),
]
StateDir = Annotated[
    Path | None,
    typer.Option(
        "--state-dir", metavar="DIR", help="State files that the kubelet would find; only read."
    ),
]
NodeName = Annotated[
    str | None,
    typer.Option("--node-name", metavar="NAME", help="Take only pods of this node (or of none)."),
]
Output = Annotated[Format, typer.Option("-o", "--output", help="How the findings are printed.")]


def check(
    pods: Pods = None,
    config: kubelet.ConfigFile = None,
    machine: Machine = None,
    memory_per_node: MemoryPerNode = None,
    hugepages_per_node: PagesPerNode = None,
    state_dir: StateDir = None,
    node_name: NodeName = None,
    output: Output = Format.TABLE,
    config_dir: kubelet.ConfigDir = None,
    no_config_file: kubelet.NoConfigFile = False,
    memory_manager_policy: kubelet.MemoryManagerPolicy = None,
    reserved_memory: kubelet.ReservedMemory = None,
    kube_reserved: kubelet.KubeReserved = None,
    system_reserved: kubelet.SystemReserved = None,
    eviction_hard: kubelet.EvictionHard = None,
    topology_manager_policy: kubelet.TopologyManagerPolicy = None,
    topology_manager_scope: kubelet.TopologyManagerScope = None,
    topology_manager_policy_options: kubelet.TopologyManagerPolicyOptions = None,
    cpu_manager_policy: kubelet.CpuManagerPolicy = None,
    cpu_manager_policy_options: kubelet.CpuManagerPolicyOptions = None,
    reserved_cpus: kubelet.ReservedCpus = None,
    feature_gates: kubelet.FeatureGates = None,
) -> None:
    """Say whether the kubelet v1.32 would start with this configuration, and what is unwise."""
    from numalet.adapters.checking import Pieces
    from numalet.cli.machine import parse_pages

    flags = {
        "memory-manager-policy": memory_manager_policy,
        "reserved-memory": reserved_memory,
        "kube-reserved": kube_reserved,
        "system-reserved": system_reserved,
        "eviction-hard": eviction_hard,
        "topology-manager-policy": topology_manager_policy,
        "topology-manager-scope": topology_manager_scope,
        "topology-manager-policy-options": topology_manager_policy_options,
        "cpu-manager-policy": cpu_manager_policy,
        "cpu-manager-policy-options": cpu_manager_policy_options,
        "reserved-cpus": reserved_cpus,
        "feature-gates": feature_gates,
    }
    pieces = Pieces(
        machine=machine,
        memory_per_node=memory_per_node,
        hugepages_per_node=parse_pages(hugepages_per_node) if hugepages_per_node else None,
        config=kubelet.sources(config, config_dir, no_config_file, flags),
        pods=tuple(pods or ()),
        node_name=node_name,
        state_dir=state_dir,
    )
    raise typer.Exit(_run(pieces, output))


def _run(pieces: Pieces, output: Format) -> int:
    from numalet.adapters import checking
    from numalet.cli import check_view

    result = checking.check(pieces)
    match output:
        case Format.TABLE:
            check_view.print_findings(result)
        case Format.JSON:
            check_view.print_json(result)
        case Format.SARIF:
            check_view.print_sarif(result)
        case Format.GITHUB:
            check_view.print_github(result)
    return 1 if result.checked.has_errors else 0
