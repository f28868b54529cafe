"""The options of a guest, shared by the commands that start one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from numalet.cli.options import Options, option

if TYPE_CHECKING:
    from numalet.lab.request import GuestRequest, Terminal
    from numalet.lab.topology import Topology


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

        from numalet.lab import changes, hugepages, request

        changed = changes.changed(topology, self.node_memory, self.without_node)
        reserved = hugepages.parse(self.hugepages or "")
        return request.GuestRequest(
            topology=hugepages.with_room(changed, reserved),
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
