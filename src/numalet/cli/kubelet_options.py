"""The kubelet's own flags as options of our commands, written once.

A command takes them as parameters of these types and turns them into ``ConfigSources`` with
``sources``. Names and forms are the kubelet's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from numalet.adapters.documents.kubelet_config import ConfigSources

_PANEL = "Kubelet flags (they win over the file)"


def _flag(name: str, metavar: str, text: str) -> typer.models.OptionInfo:
    option = typer.Option(
        f"--{name}", metavar=metavar, help=text, rich_help_panel=_PANEL, show_default=False
    )
    assert isinstance(option, typer.models.OptionInfo)
    return option


ConfigFile = Annotated[
    Path | None,
    typer.Option("-c", "--config", metavar="FILE", help="KubeletConfiguration, YAML or JSON."),
]
ConfigDir = Annotated[
    Path | None,
    typer.Option("--config-dir", metavar="DIR", help="Drop-ins (*.conf) merged over the file."),
]
NoConfigFile = Annotated[
    bool,
    typer.Option(
        "--no-config-file",
        help="A kubelet that is run with flags only: no default eviction threshold.",
    ),
]
Texts = list[str] | None
MemoryManagerPolicy = Annotated[
    Texts, _flag("memory-manager-policy", "POLICY", "None, Static, or BestEffort (Windows).")
]
ReservedMemory = Annotated[
    Texts,
    _flag("reserved-memory", "N:TYPE=SIZE", "Such as '0:memory=3Gi;1:memory=2148Mi'; repeatable."),
]
KubeReserved = Annotated[Texts, _flag("kube-reserved", "RESOURCE=SIZE,...", "For the kubelet.")]
SystemReserved = Annotated[
    Texts, _flag("system-reserved", "RESOURCE=SIZE,...", "For the operating system.")
]
EvictionHard = Annotated[
    Texts, _flag("eviction-hard", "SIGNAL<SIZE,...", "Such as 'memory.available<500Mi'.")
]
TopologyManagerPolicy = Annotated[
    Texts,
    _flag(
        "topology-manager-policy",
        "POLICY",
        "none, best-effort, restricted or single-numa-node.",
    ),
]
TopologyManagerScope = Annotated[
    Texts, _flag("topology-manager-scope", "SCOPE", "container or pod.")
]
TopologyManagerPolicyOptions = Annotated[
    Texts,
    _flag(
        "topology-manager-policy-options",
        "KEY=VALUE,...",
        "prefer-closest-numa-nodes=true, max-allowable-numa-nodes=16.",
    ),
]
CpuManagerPolicy = Annotated[Texts, _flag("cpu-manager-policy", "POLICY", "none or static.")]
CpuManagerPolicyOptions = Annotated[
    Texts, _flag("cpu-manager-policy-options", "KEY=VALUE", "Such as full-pcpus-only=true.")
]
ReservedCpus = Annotated[Texts, _flag("reserved-cpus", "LIST", "CPUs kept back, such as 0-1,8.")]
FeatureGates = Annotated[Texts, _flag("feature-gates", "GATE=BOOL,...", "Feature gates.")]


def sources(
    config: Path | None,
    config_dir: Path | None,
    no_config_file: bool,
    flags: Mapping[str, Sequence[str] | None],
) -> ConfigSources:
    """Where the configuration comes from; ``flags`` are values by flag name, in order."""
    from numalet.adapters.documents.kubelet_config import Base, ConfigSources

    return ConfigSources(
        base=Base.FLAGS_ONLY if no_config_file else Base.EMPTY_FILE,
        config_file=config,
        config_dir=config_dir,
        flags=tuple(
            (f"--{name}", value) for name, values in flags.items() for value in values or ()
        ),
    )
