"""``numalet lab``: guests with NUMA nodes, for one command or an interactive shell."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from numalet.cli import node_options, output
from numalet.cli.helping import Command, with_line_breaks
from numalet.cli.options import Options, argument, option, with_options
from numalet.cli.output import OutputFormat
from numalet.core.model import input_error

if TYPE_CHECKING:
    from numalet.lab.request import GuestRequest, Terminal
    from numalet.lab.topology import Topology


_STATUS: Final = (
    "Exit status: that of the command in the guest; 124 when the time is up, 125 when the guest"
    " dies; 2 invalid input, 3 a bug."
)
EPILOG = f"""Examples:

  numalet lab list

  numalet lab run --topology 4n8c-distances -- numactl --hardware

  numalet lab run --topology 2n4c --hugepages '2Mi=0:64,1:32' -- numalet machine

  numalet lab run --topology 4n4c+2mem --out ./results -- sh -c 'lstopo /lab/out/lstopo.xml'

  numalet lab shell --topology 36n

  numalet lab boot --machine node7.tar.gz -- numalet machine

{_STATUS}
"""

_RUN_EPILOG: Final = f"""Examples:

  numalet lab run --topology 36n -- numactl --hardware

  numalet lab run --hugepages '1Gi=1:1' --out ./results -- ./my-test --log /lab/out/log

  numalet lab run --disk ./disk --node-memory 1=256Mi -- ./after-the-reboot

{_STATUS}
"""
_SHELL_EPILOG: Final = f"""Examples:

  numalet lab shell

  numalet lab shell --topology 4n4c+2mem --systemd

{_STATUS}
"""
_BOOT_EPILOG: Final = f"""Examples:

  numalet lab boot --machine node7.tar.gz -- numalet machine

  numalet lab boot -m 2n16c2t --memory-per-node 128Gi --memory 4Gi -- numactl --hardware

  numalet lab boot --machine machine.yaml

{_STATUS}
"""

lab_app = typer.Typer(
    name="lab",
    help="Boot a real Linux kernel with any number of NUMA nodes, and run a command in it.",
    rich_markup_mode=None,
    no_args_is_help=True,
    epilog=with_line_breaks(EPILOG),
)

_TOPOLOGY: Final = option("One of 'numalet lab list'.", "NAME", "-t", default="2n4c")
_COMMAND: Final = argument("What to run in the guest, as root.", "-- COMMAND...")


class GuestOptions(Options):
    """The options of a guest, without its topology and its command."""

    hugepages: str | None = option(
        "Huge pages reserved at boot, such as '2Mi=0:64,1:32;1Gi=1:1'; their memory is added to"
        " the nodes.",
        "SIZE=NODE:COUNT,...[;...]",
    )
    node_memory: list[str] = option(
        "Another memory for one node, such as 1=256Mi; repeatable.", "NODE=SIZE"
    )
    without_node: list[int] = option("One node less; those after it move up. Repeatable.", "NODE")
    out: Path | None = option("A folder for results: /lab/out inside.", "DIR")
    disk: Path | None = option("A folder that stays from guest to guest: /lab/disk inside.", "DIR")
    root: Path = option("The guest's root, never changed.", "DIR", default=Path("/"))
    systemd: bool = option("Run the command as a service of the root's systemd.")
    kernel_argument: list[str] = option(
        "One more word for the kernel's command line; repeatable.", "WORD", "--kernel-arg"
    )
    timeout: float = option("When to end the guest.", "SECONDS", default=600.0, min=1)

    def request(
        self, topology: Topology, command: tuple[str, ...], terminal: Terminal | None
    ) -> GuestRequest:
        """Return the request for the guest; raises ``BadInput``."""
        from pathlib import PurePosixPath

        from numalet.lab import request
        from numalet.lab.topology import changed_topology

        changed = changed_topology(topology, self.node_memory, self.without_node)
        reserved = request.parse_hugepages(self.hugepages or "")
        return request.GuestRequest(
            topology=request.with_hugepages(changed, reserved),
            command=command,
            folder=PurePosixPath(Path.cwd()),
            hugepages=reserved,
            kernel_arguments=tuple(self.kernel_argument),
            shares=request.shares(_absolute(self.out), _absolute(self.disk)),
            init=request.Init.SYSTEMD if self.systemd else request.Init.NONE,
            root=self.root.absolute(),
            terminal=terminal,
            timeout_seconds=self.timeout,
        )


def _absolute(path: Path | None) -> Path | None:
    return None if path is None else path.absolute()


class ListOptions(Options):
    output: OutputFormat = option("What to print.", name="-o", default=OutputFormat.TABLE)


class RunOptions(Options):
    command: list[str] = _COMMAND
    topology: str = _TOPOLOGY
    guest: GuestOptions


class ShellOptions(Options):
    topology: str = _TOPOLOGY
    guest: GuestOptions


class BootOptions(Options):
    command: list[str] = _COMMAND
    machine: str | None = option(
        "A folder or tarball with /sys, a description, or a shape; default: this machine.",
        "MACHINE",
        "-m",
    )
    sizes: node_options.Sizes
    memory: str = option("Memory of the whole guest.", "SIZE", default="2Gi")
    guest: GuestOptions


@lab_app.command(
    "list",
    cls=Command,
    short_help="List the named topologies.",
    epilog="Exit status: 0 shown, 3 a bug.",
)
@with_options
def show_list(options: ListOptions) -> None:
    """Show the topologies that have names."""
    from numalet.cli import lab_view

    lab_view.show_topologies(options.output)


@lab_app.command(
    "run",
    cls=Command,
    short_help="Run a command in a guest.",
    epilog=with_line_breaks(_RUN_EPILOG),
)
@with_options
def run(options: RunOptions) -> None:
    """Boot a guest, run a command in it, print what it prints.

    The guest sees this machine's files at the same paths, and cannot change them.
    """
    from numalet.lab.topology import topology_named

    if not options.command:
        raise input_error.Required("no command; write it after '--'").bad_input()
    _run(options.guest.request(topology_named(options.topology), tuple(options.command), None))


@lab_app.command(
    "shell",
    cls=Command,
    short_help="Open a shell in a guest.",
    epilog=with_line_breaks(_SHELL_EPILOG),
)
@with_options
def shell(options: ShellOptions) -> None:
    """Boot a guest and give it this terminal; leave it with 'exit'."""
    from numalet.lab.topology import topology_named

    _shell(topology_named(options.topology), options.guest)


@lab_app.command(
    "boot",
    cls=Command,
    short_help="Create a smaller guest from any machine.",
    epilog=with_line_breaks(_BOOT_EPILOG),
)
@with_options
def boot(options: BootOptions) -> None:
    """Boot a guest like a given machine, with less memory; without a command: a shell."""
    from numalet.lab import scaling

    loaded = options.sizes.choice(options.machine).open()
    scaled = scaling.scaled(loaded.machine, scaling.memory_mib(options.memory))
    output.show_findings(scaled.notes)
    if options.command:
        _run(options.guest.request(scaled.topology, tuple(options.command), None))
    _shell(scaled.topology, options.guest)


def _shell(topology: Topology, guest: GuestOptions) -> None:
    """Run a shell if there is a terminal; without one it has no input."""
    from numalet.cli import lab_view

    if not sys.stdin.isatty() or not sys.stdout.isatty():
        raise input_error.Unavailable(
            "a shell needs a terminal for input and output; without one, use 'numalet lab "
            "run ... -- COMMAND'"
        ).bad_input()
    _run(guest.request(topology, ("/bin/sh", "-i"), lab_view.terminal()))


def _run(request: GuestRequest) -> None:
    import os

    from numalet.cli import lab_view
    from numalet.lab import guest, kernel_cache

    cache = kernel_cache.default_folder(os.environ)
    with lab_view.Watching(request) as watching:
        ended = guest.run(request, watching, Path(cache))
    lab_view.show_ending(request, ended)
    raise typer.Exit(ended.status)
