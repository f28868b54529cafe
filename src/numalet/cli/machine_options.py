"""The options that describe the node: its machine, its devices, its pods.

They are the same for all commands. ``Sizes`` are the sizes of a shape alone, for commands that
take the machine in a way of their own.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Final

from numalet.cli.options import Options, Part, option
from numalet.core.model import input_error
from numalet.core.model.findings import Location

if TYPE_CHECKING:
    from numalet.io.machines import MachineChoice


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

    node_name: str | None = option("Only pods of this node (or of none).", "NAME")
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
        from numalet.io.documents import pod_resources

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
