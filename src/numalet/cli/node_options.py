"""Options that describe a node: its kubelet release, its machine, its devices, its pods, its log.

``Sizes`` are the sizes of a shape alone, for commands with other options for the machine.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from numalet.cli.options import Options, Part, option
from numalet.core.model import input_error
from numalet.core.model.findings import Findings, Location
from numalet.wording.log_line import LogFormat

if TYPE_CHECKING:
    from numalet.io.documents.kubelet.kubelet_version import KubeletAtHand
    from numalet.io.machines import MachineChoice


RELEASE_HELP: Final = (
    "Release of the kubelet to follow, such as 1.34 or v1.34.9. Default: that of the detected"
    " kubelet, else 1.37."
)


def release_names() -> list[str]:
    """Return the names of all releases, for the completion of command lines."""
    from numalet.core.config.releases.table import RELEASES

    return [each.name for each in RELEASES]


def release_option(text: str) -> Any:
    """Make a field the option that names a release, with this help text."""
    return option(text, "RELEASE", "--release", autocompletion=release_names)


class ReleaseOptions(Options):
    """The release to follow, by its name or by the version of a kubelet."""

    release: str | None = release_option(RELEASE_HELP)
    kubelet_version: str | None = option(
        "Version of the kubelet; numalet follows the rules of its release.", "VERSION"
    )

    def kubelets(self) -> tuple[KubeletAtHand, ...]:
        """Return the kubelet of the given version. Raises ``BadInput`` for an invalid one."""
        if self.kubelet_version is None:
            return ()
        from numalet.io.documents.kubelet import kubelet_version

        findings = Findings()
        kubelets = kubelet_version.of_option(self.kubelet_version, findings)
        findings.raise_errors()
        return kubelets


KUBELET_ROOT: Final = Path("/var/lib/kubelet")
"""The default root directory of a kubelet."""


class LogOptions(Options):
    log_format: LogFormat = option("Form of the log.", default=LogFormat.CONSOLE)
    verbosity: int = option("Level of the log.", name="--v", default=2, min=0, max=10)


def kubelet_root(text: str) -> Any:
    """Make a field the option that names a kubelet's root directory, with this help text."""
    return option(text, "DIR", default=KUBELET_ROOT, envvar="NUMALET_KUBELET_ROOT")


class MachineOptions(Options):
    """The machine as given by the user, and sizes for a shape."""

    machine: str | None = option(
        "A folder or tarball with /sys, a description, profile:NAME, or a shape; default: this"
        " machine.",
        "MACHINE",
        "-m",
    )
    memory_per_node: str | None = option("For a shape: memory of every node.", "SIZE")
    hugepages_per_node: str | None = option(
        "Huge pages of every node with CPUs, such as '1Gi=4;2Mi=512'; they replace the machine's"
        " own.",
        "SIZE=COUNT[;...]",
    )

    def choice(self, machine: str | None = None) -> MachineChoice:
        """Return this or the named machine with the counts of huge pages read.

        Raises:
            BadInput: a count cannot be read.
        """
        from numalet.io.machines import MachineChoice

        pages = self.hugepages_per_node
        counts = None if pages is None else _parse_pages(pages)
        return MachineChoice(
            self.machine if machine is None else machine, self.memory_per_node, counts
        )


class PodSourceOption(StrEnum):
    API = "api"
    FILE = "file"


class PodChoice(Options):
    """The source of pods, and known facts about their node."""

    node_name: str | None = option("Only pods that are bound to this node, or not bound.", "NAME")
    node_labels: str | None = option(
        "Labels of the node, for node selectors and affinity.", "KEY=VALUE,..."
    )
    pod_source: PodSourceOption = option(
        "Whether the pods come from the API server, which writes 1.5Gi as 1536Mi, or are static"
        " pods in files of the node.",
        default=PodSourceOption.API,
    )

    def fields(self) -> dict[str, Any]:
        """Return the fields for a command's inputs."""
        from numalet.io.documents.pods import pod_resources

        return {
            "node_name": self.node_name,
            "node_labels": self.node_labels,
            "pod_source": pod_resources.PodSource(self.pod_source.value),
        }


class DeviceOptions(Options):
    """Devices as texts, and a file with more of them."""

    device: list[str] = option(
        "Devices, such as 'example.com/gpu=gpu0@0,gpu1@1'; repeatable.",
        "RESOURCE=ID[@NODE[+NODE]],...",
    )
    devices: str | None = option(
        "The devices from a YAML or JSON file, or of profile:NAME.", "FILE"
    )

    def fields(self) -> dict[str, Any]:
        """Return the same as fields of what is gathered for a command."""
        return {"devices": tuple(self.device), "device_file": self.devices}


def _parse_pages(text: str) -> dict[str, str]:
    """Parse counts by page size from ``1Gi=4;2Mi=512``; raises ``BadInput``."""
    pages: dict[str, str] = {}
    for part in text.replace(",", ";").split(";"):
        size, equals, count = part.strip().partition("=")
        if not equals or not size or size in pages:
            where = Location("--hugepages-per-node")
            raise input_error.Invalid(
                f"invalid number of huge pages {part.strip()!r}",
                expected="SIZE=COUNT, such as 1Gi=4",
                where=where,
            ).bad_input()
        pages[size] = count
    return pages


MACHINES: Final = option(
    "A folder or tarball with /sys, a description, profile:NAME, or a shape; default: this"
    " machine. Repeatable.",
    "MACHINE",
    "-m",
)
Sizes = Annotated[MachineOptions, Part(without=("machine",))]
