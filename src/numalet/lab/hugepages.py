"""Huge pages per node, reserved at the boot of a guest: the option, kernel arguments, memory.

The option is ``SIZE=NODE:COUNT,...;SIZE=...``, such as ``2Mi=0:64,1:32;1Gi=1:1``; the kernel takes
the same as ``hugepagesz=2M hugepages=0:64,1:32``. A node gets memory for its pages in addition to
its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from numalet.core.model import input_error
from numalet.core.model.findings import Findings, Location
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


def parse(text: str) -> tuple[ReservedPages, ...]:
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


def with_room(topology: Topology, reserved: Iterable[ReservedPages]) -> Topology:
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


def kernel_arguments(reserved: Iterable[ReservedPages]) -> tuple[str, ...]:
    by_size: dict[int, list[str]] = {}
    for each in reserved:
        by_size.setdefault(each.page_size_mib, []).append(f"{each.node_id}:{each.count}")
    return tuple(
        word
        for size, counts in by_size.items()
        for word in (f"hugepagesz={_KERNEL_NAMES[size]}", f"hugepages={','.join(counts)}")
    )
