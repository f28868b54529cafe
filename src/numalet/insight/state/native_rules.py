"""Content of a ``memory_manager_state`` that native mode writes and a kubelet refuses.

A file does not record its mode. These findings are notes: they matter only if a kubelet is to use
the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from numalet.core.checkpoint import memory_file
from numalet.core.config.behaviour import EXACT
from numalet.core.managers.memory.ledger import NodeMemory
from numalet.core.model import resources
from numalet.core.model.findings import Finding, Location, NoteFinding
from numalet.core.model.machine_info import MachineInfo
from numalet.core.model.machine_queries import NodeClass, node_class


class NativeNote(NoteFinding):
    why = "Native mode writes what no kubelet does; only numalet starts with it."


class StateNativeNodeIds(NativeNote):
    sentence = (
        "a kubelet does not start with this file: its NUMA node ids end at {highest}, and there "
        "are {nodes}"
    )
    nodes: list[int]
    highest: int


class StateNativeManyNodes(NativeNote):
    sentence = (
        "the file is about {count} NUMA nodes; a kubelet with a topology policy accepts more than "
        "{most} only with the option max-allowable-numa-nodes"
    )
    count: int
    most: int


class StateNativeReservedPages(NativeNote):
    sentence = (
        "a kubelet does not start with this file: {size_bytes} bytes of {type} are reserved on "
        "NUMA node {node}, and a kubelet cannot reserve huge pages"
    )
    node: int
    type: str
    size_bytes: int


class StateNativeNodeClasses(NativeNote):
    sentence = (
        "a kubelet does not start with this file on this machine: NUMA nodes {nodes} are left "
        "out, as memoryNodeClasses of native mode does it, and a kubelet gives memory of all nodes"
    )
    nodes: list[int]


class StateNativePageSize(NativeNote):
    sentence = (
        "a kubelet does not start with this file on this machine: NUMA node {node} does not list "
        "pages of {type}, and the file lists 0 of them"
    )
    node: int
    type: str


HIGHEST_NODE_ID: Final = 1023
"""Kernels are built for at most 1024 NUMA nodes."""


def notes(nodes: Mapping[int, NodeMemory], machine: MachineInfo | None) -> Iterator[Finding]:
    highest, most = EXACT.highest_node_id, EXACT.default_node_limit
    high = [i for i in nodes if highest is not None and highest < i <= HIGHEST_NODE_ID]
    if high and highest is not None:
        yield StateNativeNodeIds(nodes=high, highest=highest, where=_place("machineState"))
    if most is not None and len(nodes) > most:
        yield StateNativeManyNodes(count=len(nodes), most=most, where=_place("machineState"))
    for node_id, node in nodes.items():
        for name, table in node.tables.items():
            if name != resources.MEMORY and table.system_reserved:
                yield StateNativeReservedPages(
                    node=node_id,
                    type=name,
                    size_bytes=table.system_reserved,
                    where=_place(f"machineState.{node_id}.memoryMap.{name}.systemReserved"),
                )
    if machine is not None and nodes:
        left_out = left_out_by_class(nodes, machine)
        if left_out:
            yield StateNativeNodeClasses(nodes=list(left_out), where=_place("machineState"))
        yield from _missing_sizes(nodes, machine)


def left_out_by_class(nodes: Mapping[int, NodeMemory], machine: MachineInfo) -> tuple[int, ...]:
    """Return nodes of the machine missing from the file, if native mode omits all of them."""
    missing = [node for node in machine.nodes if node.node_id not in nodes]
    # Native mode never omits an ordinary node: such a file is of another machine.
    if any(node_class(node) is NodeClass.CPU for node in missing):
        return ()
    return tuple(sorted(node.node_id for node in missing))


def _missing_sizes(nodes: Mapping[int, NodeMemory], machine: MachineInfo) -> Iterator[Finding]:
    for node in machine.nodes:
        listed = {resources.hugepages_name(pages.page_size_kib) for pages in node.hugepages}
        there = nodes[node.node_id].tables if node.node_id in nodes else {}
        for name in sorted(there.keys() - listed - {resources.MEMORY}):
            # A size with pages on another machine is drift, not native mode.
            if not there[name].total:
                where = _place(f"machineState.{node.node_id}.memoryMap.{name}")
                yield StateNativePageSize(node=node.node_id, type=name, where=where)


def _place(path: str) -> Location:
    return Location(memory_file.FILE_NAME, f"$.{path}")
