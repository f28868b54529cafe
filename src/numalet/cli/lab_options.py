"""The options of a guest, shared by the commands that start one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from numalet.cli.option_groups import OptionGroup, option
from numalet.core.model.value import Value

if TYPE_CHECKING:
    from numalet.lab.request import GuestRequest, Terminal
    from numalet.lab.topology import Topology

_TIMEOUT_SECONDS: Final = 600.0


class GuestOptions(Value, kw_only=True):
    """The options of a guest, without its topology and its command."""

    hugepages: str | None
    node_memory: list[str] | None
    without_node: list[int] | None
    out: Path | None
    disk: Path | None
    root: Path
    systemd: bool
    kernel_argument: list[str] | None
    timeout: float

    def request(
        self, topology: Topology, command: tuple[str, ...], terminal: Terminal | None
    ) -> GuestRequest:
        """Return the request for the guest; raises ``BadInput``."""
        from pathlib import PurePosixPath

        from numalet.lab import changes, hugepages, request

        changed = changes.changed(topology, self.node_memory or (), self.without_node or ())
        reserved = hugepages.parse(self.hugepages or "")
        return request.GuestRequest(
            topology=hugepages.with_room(changed, reserved),
            command=command,
            folder=PurePosixPath(Path.cwd()),
            hugepages=reserved,
            kernel_arguments=tuple(self.kernel_argument or ()),
            shares=request.shares(_absolute(self.out), _absolute(self.disk)),
            init=request.Init.SYSTEMD if self.systemd else request.Init.NONE,
            root=self.root.absolute(),
            terminal=terminal,
            timeout_seconds=self.timeout,
        )


def _absolute(path: Path | None) -> Path | None:
    return None if path is None else path.absolute()


_OPTIONS: Final = (
    option(
        "hugepages",
        Annotated[
            str | None,
            typer.Option(
                "--hugepages",
                metavar="SIZE=NODE:COUNT,...[;...]",
                help="Huge pages reserved at boot, such as '2Mi=0:64,1:32;1Gi=1:1'; their"
                " memory is added to the nodes.",
            ),
        ],
    ),
    option(
        "node_memory",
        Annotated[
            list[str] | None,
            typer.Option(
                "--node-memory",
                metavar="NODE=SIZE",
                help="Another memory for one node, such as 1=256Mi; repeatable.",
                show_default=False,
            ),
        ],
    ),
    option(
        "without_node",
        Annotated[
            list[int] | None,
            typer.Option(
                "--without-node",
                metavar="NODE",
                help="One node less; those after it move up. Repeatable.",
                show_default=False,
            ),
        ],
    ),
    option(
        "out",
        Annotated[
            Path | None,
            typer.Option("--out", metavar="DIR", help="A folder for results: /lab/out inside."),
        ],
    ),
    option(
        "disk",
        Annotated[
            Path | None,
            typer.Option(
                "--disk",
                metavar="DIR",
                help="A folder that stays from guest to guest: /lab/disk inside.",
            ),
        ],
    ),
    option(
        "root",
        Annotated[
            Path,
            typer.Option("--root", metavar="DIR", help="The guest's root, never changed."),
        ],
        Path("/"),
    ),
    option(
        "systemd",
        Annotated[
            bool,
            typer.Option("--systemd", help="Run the command as a service of the root's systemd."),
        ],
        False,
    ),
    option(
        "kernel_argument",
        Annotated[
            list[str] | None,
            typer.Option(
                "--kernel-arg",
                metavar="WORD",
                help="One more word for the kernel's command line; repeatable.",
                show_default=False,
            ),
        ],
    ),
    option(
        "timeout",
        Annotated[
            float,
            typer.Option("--timeout", metavar="SECONDS", min=1, help="When to end the guest."),
        ],
        _TIMEOUT_SECONDS,
    ),
)

Guest = Annotated[GuestOptions, OptionGroup(_OPTIONS, GuestOptions)]
