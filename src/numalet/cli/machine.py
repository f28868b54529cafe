"""``numalet machine``: a picture of a machine's NUMA nodes, and captures of machines."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from numalet.cli import drawing_options, node_options, output
from numalet.cli.drawing_options import PictureFiles
from numalet.cli.options import Options, argument, option, with_options
from numalet.cli.output import OutputFormat
from numalet.core.model import input_error
from numalet.core.model.findings import Location

if TYPE_CHECKING:
    from numalet.insight.maps.machine_map import MachineMap
    from numalet.io.machines import LoadedMachine

EPILOG = """Examples:

  numalet machine

  numalet machine 2n16c2t --memory-per-node 128Gi

  numalet machine node7.tar.gz --view kubelet -o yaml

  numalet machine --profiles

  numalet machine profile:gb200-34n

  numalet machine --capture this-machine.tar.gz

  numalet machine node7.tar.gz --html node7.html

Exit status: 0 shown, 2 invalid input, 3 a bug.
"""


class ViewOption(StrEnum):
    """The machine by its kernel's data, or in the kubelet's view."""

    KERNEL = "kernel"
    KUBELET = "kubelet"


class MachineCommandOptions(Options):
    machine: str | None = argument(
        "A folder or tarball with /sys, a description, profile:NAME, or a shape. Without it: this"
        " machine.",
        "[MACHINE]",
    )
    named: str | None = option("The same, as an option.", "MACHINE", "-m --machine")
    sysfs: Path | None = option(
        "A folder with the content of /sys, or one that contains a folder sys.", "PATH"
    )
    sizes: node_options.Sizes
    view: ViewOption = option(
        "Show the machine as the kernel or as the kubelet sees it.", default=ViewOption.KERNEL
    )
    output: OutputFormat = option("What to print.", name="-o", default=OutputFormat.TABLE)
    capture: Path | None = option("Also write the captured files to a small tarball.", "FILE")
    profiles: bool = option("List the machines that come with numalet, and end.")
    pictures: drawing_options.OfMachine


@with_options
def machine(options: MachineCommandOptions) -> None:
    """Show the NUMA nodes of a machine: sockets, CPUs, memory, huge pages, distances."""
    from numalet.insight.maps import machine_map

    pictures = options.pictures
    if options.profiles:
        named = (options.machine, options.named, options.sysfs)
        _refuse_more(*named, options.capture, pictures.html, pictures.svg)
        _list_profiles(options.output)
        return
    loaded = _load(options)
    size = None if options.capture is None else _capture(loaded, options.capture)
    eyes = machine_map.View(options.view.value)
    chart = machine_map.machine_map(loaded.machine, eyes, loaded.reading_notes)
    _write_pictures(pictures, loaded, chart)
    if pictures.is_on_output:
        pass
    elif options.output is OutputFormat.TABLE:
        _print_table(chart)
    else:
        output.print_document(chart, options.output)
    if size is not None:
        output.say(f"captured {size} bytes in {options.capture}")


def _write_pictures(pictures: PictureFiles, loaded: LoadedMachine, chart: MachineMap) -> None:
    if not pictures.are_wanted:
        return
    from numalet.drawing import node_drawing
    from numalet.insight.maps import node_map
    from numalet.pages import bodies, templating

    drawn = node_map.of_machine(loaded.info, chart.source, loaded.devices)
    origin = drawing_options.origin(machine=chart.source)
    pictures.write(
        html=lambda: templating.html_file(
            f"Machine {chart.source}", bodies.machine_body(drawn, chart, origin)
        ),
        svg=lambda: node_drawing.draw(drawn),
    )


def _refuse_more(*others: str | Path | None) -> None:
    """Raise ``BadInput`` if a machine or a capture is named together with ``--profiles``."""
    given = [str(each) for each in others if each is not None]
    if given:
        raise input_error.Conflict(
            f"--profiles lists the bundled machines and takes no machine; remove {given[0]!r}"
        ).bad_input()


def _list_profiles(chosen: OutputFormat) -> None:
    from numalet.cli import machine_picture, tables
    from numalet.insight.usecases import profile_rows

    profiles = profile_rows.profile_rows()
    if chosen is OutputFormat.TABLE:
        drawn = tables.table(machine_picture.PROFILES, profiles.profiles)
        output.print_all([drawn, "", machine_picture.HOW_TO])
    else:
        output.print_document(profiles, chosen)


def _load(options: MachineCommandOptions) -> LoadedMachine:
    from numalet.io import machines

    sysfs = options.sysfs
    named = (options.machine, options.named, sysfs)
    given = [str(each) for each in named if each is not None]
    if len(given) > 1:
        raise input_error.Conflict(
            f"{given[0]!r} and {given[1]!r} both name a machine; give one of them"
        ).bad_input()
    choice = options.sizes.choice(given[0] if given else None)
    if sysfs is not None:
        machines.refuse_memory(str(sysfs), choice.memory_per_node)
        loaded = machines.open_folder(sysfs, str(sysfs))
        return machines.with_pages(loaded, choice.hugepages_per_node or {})
    return choice.open()


def _capture(loaded: LoadedMachine, path: Path) -> int:
    """Write the capture; return its size in bytes."""
    from numalet.io.sysfs import capture

    if loaded.tree is None:
        raise input_error.NotSupported(
            f"cannot capture {loaded.machine.source!r}",
            expected="a /sys tree: live, a directory or a tarball",
            where=Location(str(path)),
        ).bad_input()
    return capture.capture(loaded.tree, path, loaded.machine.source)


def _print_table(chart: MachineMap) -> None:
    from numalet.cli import machine_picture

    console = output.console()
    with console.capture() as captured:
        for drawn in machine_picture.picture(chart):
            console.print(drawn)
        if chart.notes:
            sentences = [note["text"] for note in chart.notes]
            console.print(machine_picture.notes_list(sentences))
    output.print_drawn("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))
