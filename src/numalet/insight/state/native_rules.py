"""What of a ``memory_manager_state`` a kubelet would refuse, though native mode writes it.

A file does not say in which mode it was written. These findings are notes: the file is sound, and
only whoever means to give it to a kubelet has to know.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from numalet.core.checkpoint import memory_file
from numalet.core.config.behaviour import EXACT
from numalet.core.managers.memory.ledger import NodeMemory
from numalet.core.model import resources
from numalet.core.model.findings import Finding, Location, Severity
from numalet.core.model.machine_info import MachineInfo
from numalet.core.model.machine_queries import NodeClass, node_class

HIGHEST_NODE_ID: Final = 1023
"""Kernels are built for at most 1024 NUMA nodes."""


def notes(nodes: Mapping[int, NodeMemory], machine: MachineInfo | None) -> Iterator[Finding]:
    """What keeps a kubelet from starting with this node map; ``machine`` None if not known."""
    highest, most = EXACT.highest_node_id, EXACT.default_node_limit
    high = [i for i in nodes if highest is not None and highest < i <= HIGHEST_NODE_ID]
    if high:
        yield _note("state/native-node-ids", "machineState", nodes=high, highest=highest)
    if most is not None and len(nodes) > most:
        yield _note("state/native-many-nodes", "machineState", count=len(nodes), most=most)
    for node_id, node in nodes.items():
        for name, table in node.tables.items():
            if name != resources.MEMORY and table.system_reserved:
                where = f"machineState.{node_id}.memoryMap.{name}.systemReserved"
                fields = {"node": node_id, "type": name, "size_bytes": table.system_reserved}
                yield _note("state/native-reserved-pages", where, **fields)
    if machine is not None and nodes:
        left_out = left_out_by_class(nodes, machine)
        if left_out:
            yield _note("state/native-node-classes", "machineState", nodes=list(left_out))
        yield from _missing_sizes(nodes, machine)


def left_out_by_class(nodes: Mapping[int, NodeMemory], machine: MachineInfo) -> tuple[int, ...]:
    """Nodes of the machine that the file leaves out, if all are such as native mode leaves out.

    Empty if some node that is left out is an ordinary one.
    """
    missing = [node for node in machine.nodes if node.node_id not in nodes]
    if any(node_class(node) is NodeClass.CPU for node in missing):
        return ()
    return tuple(sorted(node.node_id for node in missing))


def _missing_sizes(nodes: Mapping[int, NodeMemory], machine: MachineInfo) -> Iterator[Finding]:
    for node in machine.nodes:
        listed = {resources.hugepages_name(pages.page_size_kib) for pages in node.hugepages}
        there = nodes[node.node_id].tables if node.node_id in nodes else {}
        for name in sorted(there.keys() - listed - {resources.MEMORY}):
            if not there[name].total:
                where = f"machineState.{node.node_id}.memoryMap.{name}"
                yield _note("state/native-page-size", where, node=node.node_id, type=name)


def _note(code: str, path: str, **fields: object) -> Finding:
    return Finding(code, fields, Location(memory_file.FILE_NAME, f"$.{path}"), Severity.NOTE)
