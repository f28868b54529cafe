"""The kubelet's own flags as options of numalet's commands.

Names and forms are the kubelet's. A command takes the configuration file with ``ConfigFile`` and
all the rest with one of the groups, and combines both into ``ConfigSources``.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from numalet.cli import release_options
from numalet.cli.option_groups import OptionGroup, option
from numalet.cli.release_options import ReleaseOptions
from numalet.core.model import input_error
from numalet.core.model.findings import Findings, Location
from numalet.core.model.value import Value, field

if TYPE_CHECKING:
    from numalet.io.documents.kubelet_config import ConfigSources

_PANEL: Final = "Kubelet flags (they win over the file)"

_TOPOLOGY: Final = {
    "topology-manager-policy": (
        "POLICY",
        "none, best-effort, restricted or single-numa-node.",
    ),
    "topology-manager-scope": ("SCOPE", "container or pod."),
    "topology-manager-policy-options": (
        "KEY=VALUE,...",
        "prefer-closest-numa-nodes=true, max-allowable-numa-nodes=16.",
    ),
}
_RESERVATIONS: Final = {
    "kube-reserved": ("RESOURCE=SIZE,...", "For the kubelet."),
    "system-reserved": ("RESOURCE=SIZE,...", "For the operating system."),
    "eviction-hard": ("SIGNAL<SIZE,...", "Such as 'memory.available<500Mi'."),
}
_FLAGS: Final = {
    "memory-manager-policy": ("POLICY", "None, Static, or BestEffort (Windows)."),
    "reserved-memory": (
        "N:TYPE=SIZE",
        "Such as '0:memory=3Gi;1:memory=2148Mi'; repeatable.",
    ),
    **_RESERVATIONS,
    **_TOPOLOGY,
    "cpu-manager-policy": ("POLICY", "none or static."),
    "cpu-manager-policy-options": ("KEY=VALUE", "Such as full-pcpus-only=true."),
    "reserved-cpus": ("LIST", "CPUs kept back, such as 0-1,8."),
    "feature-gates": ("GATE=BOOL,...", "Feature gates."),
}
"""Metavar and help by flag, in the order of application and of ``--help``."""

_REPEATABLE: Final = frozenset(
    {
        *("reserved-memory", *_RESERVATIONS, "topology-manager-policy-options"),
        *("cpu-manager-policy-options", "feature-gates"),
    }
)
"""Flags that may be repeated, as in the kubelet: their values add up."""

_SEPARATORS: Final = {
    "--eviction-hard": "<",
    **dict.fromkeys(("--kube-reserved", "--system-reserved", "--feature-gates"), "="),
    **dict.fromkeys(("--topology-manager-policy-options", "--cpu-manager-policy-options"), "="),
}
"""The separator of key and value in flags that are maps."""


class KubeletFlags(Value):
    """A kubelet's configuration without its file: drop-ins, and flags with their values.

    The others are numalet's own; unset ones keep the file's value.
    """

    config_dir: Path | None
    no_config_file: bool
    flags: tuple[tuple[str, str], ...]
    native: bool | None = None
    memory_node_classes: str | None = None
    release: ReleaseOptions = field(default_factory=ReleaseOptions)

    def sources(self, config_file: Path | None) -> ConfigSources:
        """Return the sources of the configuration, with this file. Raises ``BadInput``."""
        from numalet.core.config.behaviour import Mode
        from numalet.io.documents.kubelet_config import Base, ConfigSources

        classes = self.memory_node_classes
        return ConfigSources(
            base=Base.FLAGS_ONLY if self.no_config_file else Base.EMPTY_FILE,
            config_file=config_file,
            config_dir=self.config_dir,
            flags=self.flags,
            mode={None: None, True: Mode.NATIVE, False: Mode.EXACT}[self.native],
            memory_node_classes=None if classes is None else classes.split(","),
            release=self.release.name,
            kubelets=self.release.kubelets(),
        )


def _group(
    names: Iterable[str], releases: Iterable[inspect.Parameter] = release_options.OPTIONS
) -> OptionGroup:
    """Return the options for drop-ins, numalet's own settings, and the flags of these names."""
    options = (
        _CONFIG_DIR,
        _NO_CONFIG_FILE,
        _NATIVE,
        _CLASSES,
        *releases,
        *(_option_of(name) for name in names),
    )
    return OptionGroup(options, _kubelet_flags)


def _option_of(name: str) -> inspect.Parameter:
    metavar, text = _FLAGS[name]
    flag = typer.Option(
        f"--{name}", metavar=metavar, help=text, rich_help_panel=_PANEL, show_default=False
    )
    if name in _REPEATABLE:
        return option(name.replace("-", "_"), Annotated[list[str] | None, flag])
    return option(name.replace("-", "_"), Annotated[str | None, flag])


def _kubelet_flags(
    config_dir: Path | None,
    no_config_file: bool,
    native: bool | None,
    memory_node_classes: str | None,
    kubelet_version: str | None,
    release: str | None = None,
    **given: Any,
) -> KubeletFlags:
    flags: list[tuple[str, str]] = []
    for name in _FLAGS:
        value = given.get(name.replace("-", "_"))
        texts = [value] if isinstance(value, str) else value or ()
        flags += ((f"--{name}", text) for text in texts)
    _refuse_contradictions(flags)
    return KubeletFlags(
        config_dir,
        no_config_file,
        tuple(flags),
        native,
        memory_node_classes,
        ReleaseOptions(release, kubelet_version),
    )


def _refuse_contradictions(flags: Iterable[tuple[str, str]]) -> None:
    """Raise ``BadInput`` if a flag gives a key two values: the kubelet would use the last."""
    findings = Findings()
    seen: dict[tuple[str, str], str] = {}
    for flag, text in flags:
        separator = _SEPARATORS.get(flag)
        for pair in text.split(",") if separator else ():
            key, _, value = (part.strip() for part in pair.partition(separator or ""))
            first = seen.setdefault((flag, key), value)
            if first != value:
                findings.add(
                    input_error.Conflict(
                        f"{key} is set to both {first} and {value}; write one of them, as the "
                        "kubelet uses the last one",
                        where=Location(flag),
                    )
                )
    findings.raise_errors()


_CONFIG_DIR: Final = option(
    "config_dir",
    Annotated[
        Path | None,
        typer.Option("--config-dir", metavar="DIR", help="Drop-ins (*.conf) merged over the file."),
    ],
)
_NO_CONFIG_FILE: Final = option(
    "no_config_file",
    Annotated[
        bool,
        typer.Option(
            "--no-config-file",
            help="A kubelet that is run with flags only: no default eviction threshold.",
        ),
    ],
    default=False,
)
_NATIVE: Final = option(
    "native",
    Annotated[
        bool | None,
        typer.Option(
            "--native/--exact",
            help="Without the kubelet's accidents and limits, or exactly as the kubelet (default).",
            show_default=False,
        ),
    ],
)
_CLASSES: Final = option(
    "memory_node_classes",
    Annotated[
        str | None,
        typer.Option(
            "--memory-node-classes",
            metavar="CLASS,...",
            help=(
                "Native mode: NUMA nodes that give memory to pods: cpu (default), memory (without"
                " CPUs: accelerators, CXL)."
            ),
            show_default=False,
        ),
    ],
)

_CONFIG_FILE: Final = (
    "KubeletConfiguration, the answer of /configz, a kubelet's command line, or a document of a"
    " vendor; FILE#NAME is one of its groups of machines; '-' reads the standard input."
)
ConfigFile = Annotated[
    Path | None, typer.Option("-c", "--config", metavar="FILE", help=_CONFIG_FILE)
]
ConfigFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "-c",
        "--config",
        metavar="FILE",
        help=f"{_CONFIG_FILE} Repeatable.",
        show_default=False,
    ),
]
IgnoreKubelet = Annotated[
    bool,
    typer.Option(
        "--ignore-kubelet",
        help="Do not use the configuration, state files and devices of the kubelet that runs on"
        " this machine.",
    ),
]
AllFlags = Annotated[KubeletFlags, _group(_FLAGS)]
ReservationFlags = Annotated[KubeletFlags, _group(_RESERVATIONS)]
FlagsBesideTopology = Annotated[
    KubeletFlags,
    _group((name for name in _FLAGS if name not in _TOPOLOGY), (release_options.KUBELET_VERSION,)),
]
"""For a command with separate options for topology policies and releases."""
