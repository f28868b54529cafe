"""The options that describe the node: its machine, its devices, its pods.

``Chosen`` is a machine with the sizes of a shape; ``Sizes`` are the sizes alone, for commands with
other options for the machine.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from numalet.cli.option_groups import OptionGroup, option
from numalet.core.model import input_error
from numalet.core.model.findings import Location
from numalet.core.model.value import Value

if TYPE_CHECKING:
    from numalet.io.machines import MachineChoice


class MachineOptions(Value, kw_only=True):
    """The machine as given by the user, and sizes for a shape."""

    machine: str | None = None
    memory_per_node: str | None = None
    hugepages_per_node: str | None = None

    def choice(self) -> MachineChoice:
        """Parse the counts of huge pages; raises ``BadInput``."""
        from numalet.io.machines import MachineChoice

        pages = self.hugepages_per_node
        counts = None if pages is None else _parse_pages(pages)
        return MachineChoice(self.machine, self.memory_per_node, counts)


class PodSourceOption(StrEnum):
    API = "api"
    FILE = "file"


class PodChoice(Value, kw_only=True):
    """The source of pods, and known facts about their node."""

    node_name: str | None
    node_labels: str | None
    pod_source: PodSourceOption

    def fields(self) -> dict[str, Any]:
        """Return the fields for a command's inputs."""
        from numalet.io.documents import pod_resources

        return {
            "node_name": self.node_name,
            "node_labels": self.node_labels,
            "pod_source": pod_resources.PodSource(self.pod_source.value),
        }


class DeviceOptions(Value):
    """Devices as texts, and a file with more of them."""

    texts: tuple[str, ...]
    file: str | None


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


def _devices(device: list[str] | None, devices: str | None) -> DeviceOptions:
    return DeviceOptions(tuple(device or ()), devices)


_MACHINE: Final = option(
    "machine",
    Annotated[
        str | None,
        typer.Option(
            "-m",
            "--machine",
            metavar="MACHINE",
            help="A folder or tarball with /sys, a description, profile:NAME, or a shape; "
            "default: this machine.",
        ),
    ],
)
_SIZES: Final = (
    option(
        "memory_per_node",
        Annotated[
            str | None,
            typer.Option(
                "--memory-per-node", metavar="SIZE", help="For a shape: memory of every node."
            ),
        ],
    ),
    option(
        "hugepages_per_node",
        Annotated[
            str | None,
            typer.Option(
                "--hugepages-per-node",
                metavar="SIZE=COUNT[;...]",
                help="Huge pages of every node with CPUs, such as '1Gi=4;2Mi=512'; they replace "
                "the machine's own.",
            ),
        ],
    ),
)
_DEVICES: Final = (
    option(
        "device",
        Annotated[
            list[str] | None,
            typer.Option(
                "--device",
                metavar="RESOURCE=ID[@NODE[+NODE]],...",
                help="Devices, such as 'example.com/gpu=gpu0@0,gpu1@1'; repeatable.",
                show_default=False,
            ),
        ],
    ),
    option(
        "devices",
        Annotated[
            str | None,
            typer.Option(
                "--devices",
                metavar="FILE",
                help="The devices from a YAML or JSON file, or of profile:NAME.",
            ),
        ],
    ),
)

Machines = Annotated[
    list[str] | None,
    typer.Option(
        "-m",
        "--machine",
        metavar="MACHINE",
        help=(
            "A folder or tarball with /sys, a description, profile:NAME, or a shape; default: this"
            " machine. Repeatable."
        ),
        show_default=False,
    ),
]
Chosen = Annotated[MachineOptions, OptionGroup((_MACHINE, *_SIZES), MachineOptions)]
Sizes = Annotated[MachineOptions, OptionGroup(_SIZES, MachineOptions)]
Devices = Annotated[DeviceOptions, OptionGroup(_DEVICES, _devices)]
_POD_CHOICE: Final = (
    option(
        "node_name",
        Annotated[
            str | None,
            typer.Option(
                "--node-name", metavar="NAME", help="Only pods of this node (or of none)."
            ),
        ],
    ),
    option(
        "node_labels",
        Annotated[
            str | None,
            typer.Option(
                "--node-labels",
                metavar="KEY=VALUE,...",
                help="Labels of the node, for node selectors and affinity.",
            ),
        ],
    ),
    option(
        "pod_source",
        Annotated[
            PodSourceOption,
            typer.Option(
                "--pod-source",
                help="Whether the pods come from the API server, which writes 1.5Gi as 1536Mi, or "
                "are static pods in files of the node.",
            ),
        ],
        PodSourceOption.API,
    ),
)
ChosenPods = Annotated[PodChoice, OptionGroup(_POD_CHOICE, PodChoice)]
