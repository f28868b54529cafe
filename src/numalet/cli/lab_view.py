"""Output of ``numalet lab``: the table of topologies, a line while a guest boots, the end."""

from __future__ import annotations

import os
import shutil
import sys
import time
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from numalet.cli import output
from numalet.cli.tables import Column, Columns, table
from numalet.core.model import cpu_set, input_error
from numalet.core.model.findings import Finding

if TYPE_CHECKING:
    from numalet.insight.output.machine_document import TopologyDocument
    from numalet.lab.guest import EndedGuest
    from numalet.lab.request import GuestRequest, Terminal
    from numalet.lab.topology import Topology

_BETWEEN_SECONDS: Final = 0.2
_PREPARING: Final = "fetching {package} once (70 MB)"
_BOOTING: Final = "booting {topology} ... {seconds:.0f} s"
_NOTHING: Final = "(nothing)"


def show_topologies(chosen: output.OutputFormat) -> None:
    from numalet.lab.topology import TOPOLOGIES

    if chosen is output.OutputFormat.TABLE:
        output.print_all([table(_COLUMNS, TOPOLOGIES.values())])
    else:
        from numalet.insight.output.machine_document import LabListDocument

        topologies = [_topology(topology) for topology in TOPOLOGIES.values()]
        output.print_document(LabListDocument("numalet.lab-list/1", topologies), chosen)


_COLUMNS: Final[Columns[Topology]] = (
    Column("Topology", lambda each: each.name, whole=True),
    Column("Nodes", lambda each: len(each.nodes), right=True, whole=True),
    Column("CPUs", lambda each: each.cpu_count, right=True, whole=True),
    Column("Memory", lambda each: f"{each.memory_mib} MiB", right=True, whole=True),
    Column("What it is", lambda each: each.summary),
)


def _topology(topology: Topology) -> TopologyDocument:
    from numalet.insight.output.machine_document import GuestNodeDocument, TopologyDocument

    distances = topology.distances
    nodes = [
        GuestNodeDocument(
            id=number,
            cpus=cpu_set.text(node.cpus),
            memory_bytes=node.memory_mib << 20,
            distances=None if distances is None else list(distances[number]),
        )
        for number, node in enumerate(topology.nodes)
    ]
    return TopologyDocument(
        name=topology.name,
        summary=topology.summary,
        packages=topology.layout.packages,
        threads_per_core=topology.layout.threads,
        numa_nodes=nodes,
    )


def terminal() -> Terminal:
    from numalet.lab.request import Terminal

    columns, rows = shutil.get_terminal_size((80, 24))
    return Terminal(os.environ.get("TERM", "vt100"), rows, columns)


class Watching:
    """Passes on the command's output; on a terminal a line shows the progress of the boot.

    QEMU changes the terminal's settings for a shell; they are always restored.
    """

    def __init__(self, request: GuestRequest) -> None:
        self._name = request.topology.name
        self._is_watched = output.is_screen("stderr")
        self._is_drawn = False
        self._next = 0.0
        self._is_shell = request.terminal is not None
        self._modes: list[Any] | None = None

    def __enter__(self) -> Self:
        if self._is_shell:
            import termios

            self._modes = termios.tcgetattr(sys.stdin)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._wipe()
        if self._modes is not None:
            import termios

            with suppress(termios.error):
                termios.tcsetattr(sys.stdin, termios.TCSADRAIN, self._modes)

    def note(self, finding: Finding) -> None:
        """Print it without disturbing the line."""
        self._wipe()
        output.show_findings([finding])

    def preparing(self, what: str) -> None:
        """Announce the one slow step, which uses the network, in any case."""
        self._wipe()
        output.say(_PREPARING.format(package=what))

    def booting(self, seconds: float) -> None:
        now = time.monotonic()
        if self._is_watched and now >= self._next:
            self._next = now + _BETWEEN_SECONDS
            self._is_drawn = True
            text = _BOOTING.format(topology=self._name, seconds=seconds)
            output.redraw(text)

    def ready(self, seconds: float) -> None:
        self._wipe()

    def output(self, data: bytes) -> None:
        self._wipe()
        output.pass_on(data)

    def errors(self, data: bytes) -> None:
        self._wipe()
        output.pass_on(data, is_error=True)

    def _wipe(self) -> None:
        if self._is_drawn:
            output.redraw()
            self._is_drawn = False


def show_ending(request: GuestRequest, ended: EndedGuest) -> None:
    """Print the problem if the guest did not complete its command."""
    from numalet.lab.guest import Ending

    finding: Finding
    console = ended.console.strip() or _NOTHING
    match ended.ending:
        case Ending.EXITED:
            return
        case Ending.TIMED_OUT:
            finding = input_error.Unavailable(
                f"guest stopped after {request.timeout_seconds:g} s; end of its console:\n{console}"
            )
        case Ending.DIED:
            finding = input_error.Unavailable(
                f"guest stopped before its command ended; end of its console:\n{console}"
            )
    output.say(f"error: {finding}")
