"""A request to the lab: one guest with its huge pages, one command in it, and its observer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import Enum
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Final, Protocol

from numalet.core.model import input_error
from numalet.core.model.findings import Finding, Findings, Location
from numalet.core.model.value import Value, replace
from numalet.lab.topology import GuestNode, Topology

_WHERE: Final = Location("--hugepages")
_SIZES: Final = {"2Mi": 2, "1Gi": 1024}
_KERNEL_NAMES: Final = {2: "2M", 1024: "1G"}
_GIB: Final = 1024
_COUNT: Final = re.compile(r"([0-9]{1,4}):([0-9]{1,7})", re.ASCII)


class ReservedPages(Value):
    node_id: int
    page_size_mib: int
    count: int


# ``2Mi=0:64,1:32;1Gi=1:1`` (``SIZE=NODE:COUNT,...;SIZE=...``) becomes the kernel's
# ``hugepagesz=2M hugepages=0:64,1:32``. A node gets additional memory for its pages.
def parse_hugepages(text: str) -> tuple[ReservedPages, ...]:
    """Parse the option; raises ``BadInput`` with every invalid part."""
    findings = Findings()
    found: list[ReservedPages] = []
    for part in filter(None, (part.strip() for part in text.split(";"))):
        size, _, counts = part.partition("=")
        matches = [_COUNT.fullmatch(count.strip()) for count in counts.split(",")]
        if size not in _SIZES or None in matches:
            findings.add(
                input_error.Invalid(
                    f"invalid huge pages {part!r}",
                    expected="SIZE=NODE:COUNT,..., such as '2Mi=0:64,1:32;1Gi=1:1'",
                    where=_WHERE,
                )
            )
            continue
        pairs = [(int(match[1]), int(match[2])) for match in matches if match]
        found += [ReservedPages(node_id, _SIZES[size], count) for node_id, count in pairs]
    seen = {(each.node_id, each.page_size_mib) for each in found}
    if len(seen) < len(found):
        findings.add(
            input_error.Duplicate(
                f"{text!r} sets the pages of one size and node twice", where=_WHERE
            )
        )
    findings.raise_errors()
    return tuple(found)


def with_hugepages(topology: Topology, reserved: Iterable[ReservedPages]) -> Topology:
    """Return the topology with memory for the pages added to their nodes.

    With pages of 1 GiB, nodes have whole GiB: such a page begins at a multiple of its size, and a
    node at the end of the one before it. Raises ``BadInput`` for nodes that do not exist, or have
    no memory.
    """
    reserved = tuple(reserved)
    for each in reserved:
        if each.node_id >= len(topology.nodes) or not topology.nodes[each.node_id].memory_mib:
            raise input_error.NotFound(
                f"node {each.node_id} of topology {topology.name} does not exist or has no "
                "memory for huge pages",
                where=_WHERE,
            ).bad_input()
    is_whole = any(each.page_size_mib == _GIB and each.count for each in reserved)
    nodes = list(topology.nodes)
    for index, node in enumerate(nodes):
        pages = sum(r.page_size_mib * r.count for r in reserved if r.node_id == index)
        nodes[index] = _grown(node, pages, _GIB if is_whole else 1)
    return replace(topology, nodes=tuple(nodes))


def _grown(node: GuestNode, pages_mib: int, step_mib: int) -> GuestNode:
    memory_mib = node.memory_mib + pages_mib
    return replace(node, memory_mib=-(-memory_mib // step_mib) * step_mib)


def hugepage_arguments(reserved: Iterable[ReservedPages]) -> tuple[str, ...]:
    by_size: dict[int, list[str]] = {}
    for each in reserved:
        by_size.setdefault(each.page_size_mib, []).append(f"{each.node_id}:{each.count}")
    return tuple(
        word
        for size, counts in by_size.items()
        for word in (f"hugepagesz={_KERNEL_NAMES[size]}", f"hugepages={','.join(counts)}")
    )


class Watch(Protocol):
    """All methods are called from the thread that runs the guest, never after it ended."""

    def note(self, finding: Finding) -> None:
        """A note that does not stop the guest."""
        ...

    def preparing(self, what: str) -> None:
        """The kernel is being fetched, at most once before the start."""
        ...

    def booting(self, seconds: float) -> None:
        """The guest is booting, for this many seconds; called several times a second."""
        ...

    def ready(self, seconds: float) -> None:
        """The command begins, this many seconds after the start."""
        ...

    def output(self, data: bytes) -> None:
        """The command has printed this."""
        ...

    def errors(self, data: bytes) -> None:
        """The command has printed this to its error stream; a shell has only one stream."""
        ...


OUT: Final = PurePosixPath("/lab/out")
"""The folder for results inside the guest, also in ``NUMALET_LAB_OUT``."""

DISK: Final = PurePosixPath("/lab/disk")
"""The folder that survives reboots inside the guest, also in ``NUMALET_LAB_DISK``."""

IN_GUEST: Final = "NUMALET_LAB_TOPOLOGY"
"""Set inside a guest, to the name of its topology."""

DEFAULT_TIMEOUT_SECONDS: Final = 600.0


class Init(Enum):
    """Process 1 of the guest: only the command, or systemd of the root."""

    NONE = "none"
    SYSTEMD = "systemd"


class Share(Value):
    """A folder of this machine that the guest sees, and writes to, at another path."""

    host: Path
    guest: PurePosixPath
    variable: str


class Terminal(Value):
    """The guest's command has this terminal."""

    kind: str
    rows: int
    columns: int


class GuestRequest(Value, kw_only=True):
    """One guest. The root is read, never written; ``folder`` is where the command starts.

    ``modules`` are kernel modules besides those of the root, ``qemu`` further arguments of QEMU
    (devices on a node, ...). Without a terminal the command has no input.
    """

    topology: Topology
    command: tuple[str, ...]
    folder: PurePosixPath
    environment: Mapping[str, str] = MappingProxyType({})
    hugepages: tuple[ReservedPages, ...] = ()
    kernel_arguments: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    shares: tuple[Share, ...] = ()
    init: Init = Init.NONE
    root: Path = Path("/")
    qemu: tuple[str, ...] = ()
    terminal: Terminal | None = None
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS


def shares(out: Path | None, disk: Path | None) -> tuple[Share, ...]:
    """Return the two usual shared folders, as far as given."""
    given = ((out, OUT, "NUMALET_LAB_OUT"), (disk, DISK, "NUMALET_LAB_DISK"))
    return tuple(
        Share(host, guest, variable) for host, guest, variable in given if host is not None
    )
