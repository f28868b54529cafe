"""The kubelet's own flags as options of numalet's commands.

Names and forms are the kubelet's. A command takes the configuration file with ``ConfigFile`` and
all the rest with one of the groups, and combines both into ``ConfigSources``.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from numalet.cli.node_options import ReleaseOptions
from numalet.cli.options import Options, Part, option
from numalet.core.model import input_error
from numalet.core.model.findings import Findings, Location

if TYPE_CHECKING:
    from numalet.io.documents.kubelet.kubelet_config import ConfigSources

_SEPARATORS: Final = {
    "--eviction-hard": "<",
    **dict.fromkeys(("--kube-reserved", "--system-reserved", "--feature-gates"), "="),
    **dict.fromkeys(("--topology-manager-policy-options", "--cpu-manager-policy-options"), "="),
}
"""The separator of key and value in flags that are maps."""


_flag: Final = functools.partial(option, panel="Kubelet flags (they win over the file)")


class KubeletFlags(Options):
    """A kubelet's configuration without its file: drop-ins, and flags in their order.

    The others are numalet's own; unset ones keep the file's value.
    """

    config_dir: Path | None = option("Drop-ins (*.conf) merged over the file.", "DIR")
    no_config_file: bool = option(
        "A kubelet that is run with flags only: no default eviction threshold."
    )
    native: bool | None = option(
        "Native mode without kubelet bugs and limits, or exactly like the kubelet (default).",
        name="--native/--exact",
    )
    memory_node_classes: str | None = option(
        "Native mode: NUMA nodes that give memory to pods: cpu (default), memory (without CPUs:"
        " accelerators, CXL).",
        "CLASS,...",
    )
    release: ReleaseOptions
    memory_manager_policy: str | None = _flag("None, Static, or BestEffort (Windows).", "POLICY")
    reserved_memory: list[str] = _flag(
        "Such as '0:memory=3Gi;1:memory=2148Mi'; repeatable.", "N:TYPE=SIZE"
    )
    kube_reserved: list[str] = _flag("For the kubelet.", "RESOURCE=SIZE,...")
    system_reserved: list[str] = _flag("For the operating system.", "RESOURCE=SIZE,...")
    eviction_hard: list[str] = _flag("Such as 'memory.available<500Mi'.", "SIGNAL<SIZE,...")
    topology_manager_policy: str | None = _flag(
        "none, best-effort, restricted or single-numa-node.", "POLICY"
    )
    topology_manager_scope: str | None = _flag("container or pod.", "SCOPE")
    topology_manager_policy_options: list[str] = _flag(
        "prefer-closest-numa-nodes=true, max-allowable-numa-nodes=16.", "KEY=VALUE,..."
    )
    cpu_manager_policy: str | None = _flag("none or static.", "POLICY")
    cpu_manager_policy_options: list[str] = _flag("Such as full-pcpus-only=true.", "KEY=VALUE")
    reserved_cpus: str | None = _flag("Reserved CPUs, such as 0-1,8.", "LIST")
    feature_gates: list[str] = _flag("Feature gates.", "GATE=BOOL,...")

    def check(self) -> None:
        _refuse_contradictions(self._flags())

    def _flags(self) -> tuple[tuple[str, str], ...]:
        """Return the kubelet's flags with their values, in the order of the fields."""
        given = {name: getattr(self, name) for name in _FLAGS}
        return tuple(
            (f"--{name.replace('_', '-')}", text)
            for name, value in given.items()
            for text in ([value] if isinstance(value, str) else value or ())
        )

    def sources(self, config_file: Path | None) -> ConfigSources:
        """Return the sources of the configuration, with this file. Raises ``BadInput``."""
        from numalet.core.config.behaviour import Mode
        from numalet.io.documents.kubelet.kubelet_config import Base, ConfigSources

        classes = self.memory_node_classes
        return ConfigSources(
            base=Base.FLAGS_ONLY if self.no_config_file else Base.EMPTY_FILE,
            config_file=config_file,
            config_dir=self.config_dir,
            flags=self._flags(),
            mode={None: None, True: Mode.NATIVE, False: Mode.EXACT}[self.native],
            memory_node_classes=None if classes is None else classes.split(","),
            release=self.release.release,
            kubelets=self.release.kubelets(),
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


_SETTINGS: Final = ("config_dir", "no_config_file", "native", "memory_node_classes", "release")
_FLAGS: Final = tuple(each for each in KubeletFlags.__annotations__ if each not in _SETTINGS)
_RESERVATIONS: Final = ("kube_reserved", "system_reserved", "eviction_hard")

ReservationFlags = Annotated[
    KubeletFlags, Part(without=tuple(each for each in _FLAGS if each not in _RESERVATIONS))
]
FlagsBesideTopology = Annotated[
    KubeletFlags,
    Part(without=("release", *(each for each in _FLAGS if each.startswith("topology_")))),
]
"""For a command with separate options for topology policies and releases."""

_CONFIG_FILE: Final = (
    "KubeletConfiguration, the answer of /configz, a kubelet's command line, or a document of a"
    " vendor; FILE#NAME is one of its groups of machines; '-' reads the standard input."
)
CONFIG_FILE: Final = option(_CONFIG_FILE, "FILE", "-c")
CONFIG_FILES: Final = option(f"{_CONFIG_FILE} Repeatable.", "FILE", "-c")
IGNORE_KUBELET: Final = option(
    "Do not use the configuration, state files and devices of the kubelet that runs on this"
    " machine."
)
