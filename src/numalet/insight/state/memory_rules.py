"""What must hold in the node map of ``memory_manager_state``, and where it does not.

A breach is a finding: its code is the rule, its place the member of the file. Errors are what no
kubelet writes. Warnings are what v1.32 itself brings about now and then (groups that overlap,
reservations that wrap around), or what is right and will still make trouble. For the entries see
``state_block_rules``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from numalet.core.checkpoint import memory_file
from numalet.core.config.rules import MemoryPolicy
from numalet.core.managers.memory import tables
from numalet.core.managers.memory.ledger import UINT64, MemoryTable, NodeMemory
from numalet.core.model import resources
from numalet.core.model.findings import Finding, Location, Severity
from numalet.core.model.machine_info import MachineInfo
from numalet.insight.state import native_rules
from numalet.insight.state.native_rules import HIGHEST_NODE_ID
from numalet.insight.state.reading import MemoryState

_NONE = MemoryPolicy.NONE.value.lower()
_STATIC = MemoryPolicy.STATIC.value.lower()


def breaches(state: MemoryState, machine: MachineInfo | None) -> Iterator[Finding]:
    """Every broken rule of the node map; ``machine`` is None if it is not known."""
    yield from _policy(state)
    for node_id, node in state.ledger.nodes.items():
        yield from _node(state, node_id, node)
    yield from _types_of_nodes(state.ledger.nodes)
    yield from native_rules.notes(state.ledger.nodes, machine)
    if machine is not None and state.ledger.nodes:
        yield from _machine(state.ledger.nodes, machine)


def place(path: str = "") -> Location:
    """A member of the file; without a path the file."""
    return Location(memory_file.FILE_NAME, f"$.{path}" if path else "")


def _policy(state: MemoryState) -> Iterator[Finding]:
    known = [policy.value for policy in MemoryPolicy]
    policy, where = state.policy_name, place("policyName")
    # The early layout wrote the policy in lower case.
    known_here = [*known, _NONE, _STATIC] if state.document.early_layout else known
    nodes, pods = len(state.ledger.nodes), len(state.ledger.blocks)
    if policy not in known_here:
        fields = {"policy": policy, "known": ", ".join(known)}
        yield Finding("state/memory-policy", fields, where)
    elif policy.lower() == _NONE:
        if nodes or pods:
            yield Finding("state/none-holds-memory", {"nodes": nodes, "pods": pods}, where)
        return
    if pods and not nodes:
        yield Finding("state/no-node-map", {"pods": pods}, place("machineState"))
    if policy == MemoryPolicy.BEST_EFFORT.value:
        yield Finding("state/windows-policy", {"policy": policy}, where, Severity.WARNING)


def _node(state: MemoryState, node_id: int, node: NodeMemory) -> Iterator[Finding]:
    path = f"machineState.{node_id}"
    if not is_node_id(node_id):
        yield Finding("state/node-id", {"node": node_id, "most": HIGHEST_NODE_ID}, place(path))
    if resources.MEMORY not in node.tables:
        yield Finding("state/no-memory-table", {"node": node_id}, place(f"{path}.memoryMap"))
    pages = sum(t.total for name, t in node.tables.items() if name != resources.MEMORY)
    for name, table in node.tables.items():
        at = place(f"{path}.memoryMap.{name}")
        yield from _type(node_id, name, table, at)
        yield from _table(node_id, name, table, pages if name == resources.MEMORY else 0, at)
    counted = sum(
        block.nodes.count(node_id)
        for containers in state.ledger.blocks.values()
        for blocks in containers.values()
        for block in blocks
    )
    if node.assignments != counted:
        fields = {"node": node_id, "found": node.assignments, "expected": counted}
        yield Finding("state/assignments", fields, place(f"{path}.numberOfAssignments"))
    yield from _group(state, node_id, node)


def is_node_id(node_id: int) -> bool:
    """Whether a NUMA node can have this id; a kubelet takes only those up to 63."""
    return 0 <= node_id <= HIGHEST_NODE_ID


def _type(node_id: int, name: str, table: MemoryTable, at: Location) -> Iterator[Finding]:
    if name == resources.MEMORY:
        return
    page = resources.page_bytes(name)
    if page is None:
        yield Finding("state/type-name", {"node": node_id, "type": name}, at)
    elif table.total % page:
        fields = {"node": node_id, "type": name, "size": table.total}
        yield Finding("state/part-of-a-page", fields, at)


def _table(
    node_id: int, name: str, table: MemoryTable, not_for_this_type: int, at: Location
) -> Iterator[Finding]:
    where = {"node": node_id, "type": name}
    allocatable = (table.total - table.system_reserved - not_for_this_type) & UINT64
    if table.allocatable != allocatable:
        fields = {**where, "found": table.allocatable, "expected": allocatable}
        yield Finding("state/allocatable", fields, at)
    elif table.allocatable > table.total:
        fields = {**where, "found": table.allocatable, "total": table.total}
        yield Finding("state/wrapped", fields, at, Severity.WARNING)
    total = (table.free + table.reserved) & UINT64
    if total != table.allocatable:
        fields = {**where, "found": total, "expected": table.allocatable}
        yield Finding("state/table-sum", fields, at)


def _group(state: MemoryState, node_id: int, node: NodeMemory) -> Iterator[Finding]:
    """What is wrong with the group of a node by itself; overlaps come with the blocks."""
    at = place(f"machineState.{node_id}.cells")
    cells = _cells(state, node_id)
    fields = {"node": node_id, "group": list(cells)}
    if node_id not in cells:
        yield Finding("state/not-in-its-group", fields, at)
    elif not set(cells) <= state.ledger.nodes.keys():
        yield Finding("state/group-of-absent-nodes", fields, at)
    elif len(set(cells)) != len(cells):
        yield Finding("state/group-names-twice", fields, at)
    elif not node.assignments and len(cells) > 1:
        yield Finding("state/idle-group", fields, at)


def _cells(state: MemoryState, node_id: int) -> tuple[int, ...]:
    """The group of a node as it stands in the file."""
    stored = (state.document.nodes or {})[node_id]
    return () if stored is None else stored.group or ()


def _types_of_nodes(nodes: Mapping[int, NodeMemory]) -> Iterator[Finding]:
    """v1.32 crashes over a pod that asks for a type which some node lacks."""
    for name in sorted({name for node in nodes.values() for name in node.tables}):
        lacking = [node_id for node_id, node in nodes.items() if name not in node.tables]
        if lacking and name != resources.MEMORY:
            fields = {"type": name, "nodes": lacking}
            yield Finding("state/types-differ", fields, place("machineState"), Severity.WARNING)


def _machine(nodes: Mapping[int, NodeMemory], machine: MachineInfo) -> Iterator[Finding]:
    """Where the node map is not that of the machine; reservations are not looked at."""
    there = tables.initial_nodes(machine, {})
    left_out = native_rules.left_out_by_class(nodes, machine)
    if nodes.keys() | set(left_out) != there.keys():
        yield Finding(
            "state/other-nodes",
            {"found": list(nodes), "expected": list(there)},
            place("machineState"),
        )
    for node_id in sorted(nodes.keys() & there.keys()):
        actual, expected = _totals(nodes[node_id]), _totals(there[node_id])
        for name in sorted(actual.keys() | expected.keys()):
            # No pages of a size that the node does not list are those of native mode.
            if actual.get(name) != expected.get(name) and (actual.get(name), name in expected) != (
                0,
                False,
            ):
                at = place(f"machineState.{node_id}.memoryMap.{name}")
                yield Finding(
                    "state/other-total",
                    {
                        "node": node_id,
                        "type": name,
                        "found": actual.get(name, "nothing"),
                        "expected": expected.get(name, "nothing"),
                    },
                    at,
                )


def _totals(node: NodeMemory) -> dict[str, int]:
    return {name: table.total for name, table in node.tables.items()}
