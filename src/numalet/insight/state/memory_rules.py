"""Rules for the node map of ``memory_manager_state``; ``block_rules`` checks the entries.

Errors are states that no kubelet writes. Warnings are states that the kubelet itself causes now and
then (overlapping groups, reservations that wrap around), or valid states that cause trouble later.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from numalet.core.checkpoint import memory_file
from numalet.core.config.rules import MemoryPolicy
from numalet.core.findings.phrases import GROUPS, MACHINE, PAGES, POLICY
from numalet.core.managers.memory import tables
from numalet.core.managers.memory.ledger import UINT64, MemoryTable, NodeMemory
from numalet.core.model import resources
from numalet.core.model.findings import Finding, Location, WarningFinding
from numalet.core.model.machine_info import MachineInfo
from numalet.insight.state import native_rules
from numalet.insight.state.native_rules import HIGHEST_NODE_ID
from numalet.insight.state.reading import MemoryState


class StateMemoryPolicy(Finding):
    sentence = "the policy is {policy!r}; the Memory Manager knows {known}"
    why = POLICY
    policy: str
    known: str


class StateNoneHoldsMemory(Finding):
    sentence = "the policy is None, but there are {nodes} NUMA nodes and {pods} pods with memory"
    why = POLICY
    nodes: int
    pods: int


class StateNoNodeMap(Finding):
    sentence = "{pods} pods hold memory, but the node map is missing"
    why = "With memory given away there is a node map."
    pods: int


class StateWindowsPolicy(WarningFinding):
    sentence = "the policy is {policy}, which only a kubelet on Windows has; on Linux it is Static"
    why = POLICY
    policy: str


class StateNodeId(Finding):
    sentence = "{node} is not an id of a NUMA node; must be 0 to {most}"
    why = "Node ids are 0 to 1023."
    node: int
    most: int


class StateNoMemoryTable(Finding):
    sentence = "NUMA node {node} has no table of the type 'memory'"
    why = "A node has a table for memory, and one for each size of huge pages."
    node: int


class StateTypeName(Finding):
    sentence = "NUMA node {node} has the memory type {type!r}"
    why = "A memory type is memory, or hugepages- and a size."
    node: int
    type: str


class StatePartOfAPage(Finding):
    sentence = "NUMA node {node} has {size} bytes of {type}, which is not a whole number of pages"
    why = PAGES
    node: int
    type: str
    size: int


class StateAllocatable(Finding):
    sentence = "{type} of NUMA node {node}: allocatable is {found}, but must be {expected}"
    why = "allocatable = total - system reserved, for memory also - all huge pages of the node."
    node: int
    type: str
    found: int
    expected: int


class StateWrapped(WarningFinding):
    sentence = (
        "{type} of NUMA node {node}: {found} bytes are allocatable of {total}; more is reserved "
        "than the node has, and the kubelet's numbers have wrapped around. It starts with it"
    )
    why = "No more is reserved than there is."
    node: int
    type: str
    found: int
    total: int


class StateTableSum(Finding):
    sentence = (
        "{type} of NUMA node {node}: free and reserved make up {found}, but {expected} are "
        "allocatable"
    )
    why = "free + reserved = allocatable, for every node and type."
    node: int
    type: str
    found: int
    expected: int


class StateAssignments(Finding):
    sentence = "NUMA node {node} has {found} assignments, but {expected} blocks are on it"
    why = "A node's assignments are the blocks on it."
    node: int
    found: int
    expected: int


class StateNotInItsGroup(Finding):
    sentence = "NUMA node {node} is not in its own group {group}"
    why = GROUPS
    node: int
    group: list[int]


class StateGroupOfAbsentNodes(Finding):
    sentence = "the group {group} of NUMA node {node} has nodes that are not in the node map"
    why = GROUPS
    node: int
    group: list[int]


class StateGroupNamesTwice(Finding):
    sentence = "the group {group} of NUMA node {node} names a node twice"
    why = GROUPS
    node: int
    group: list[int]


class StateIdleGroup(Finding):
    sentence = "NUMA node {node} has the group {group}, although nothing is assigned to it"
    why = GROUPS
    node: int
    group: list[int]


class StateTypesDiffer(WarningFinding):
    sentence = (
        "NUMA nodes {nodes} have no {type}, though others have; a Guaranteed pod that asks for it "
        "makes the kubelet crash"
    )
    why = "Every node has the same memory types."
    type: str
    nodes: list[int]


class StateOtherNodes(Finding):
    sentence = "the node map has the NUMA nodes {found}; the machine has {expected}"
    why = MACHINE
    found: list[int]
    expected: list[int]


class StateOtherTotal(Finding):
    sentence = "{type} of NUMA node {node}: the total is {found}; on this machine it is {expected}"
    why = MACHINE
    node: int
    type: str
    found: int | str
    expected: int | str


_NONE = MemoryPolicy.NONE.value.lower()
_STATIC = MemoryPolicy.STATIC.value.lower()


def breaches(state: MemoryState, machine: MachineInfo | None) -> Iterator[Finding]:
    """Yield all violations of the node map; without a machine, it is not compared."""
    yield from _policy(state)
    for node_id, node in state.ledger.nodes.items():
        yield from _node(state, node_id, node)
    yield from _types_of_nodes(state.ledger.nodes)
    yield from native_rules.notes(state.ledger.nodes, machine)
    if machine is not None and state.ledger.nodes:
        yield from _machine(state.ledger.nodes, machine)


def place(path: str = "") -> Location:
    """Return the place of a member, or of the file."""
    return Location(memory_file.FILE_NAME, f"$.{path}" if path else "")


def _policy(state: MemoryState) -> Iterator[Finding]:
    known = [policy.value for policy in MemoryPolicy]
    policy, where = state.policy_name, place("policyName")
    # The early layout wrote the policy in lower case.
    known_here = [*known, _NONE, _STATIC] if state.document.early_layout else known
    nodes, pods = len(state.ledger.nodes), len(state.ledger.blocks)
    if policy not in known_here:
        yield StateMemoryPolicy(policy=policy, known=", ".join(known), where=where)
    elif policy.lower() == _NONE:
        if nodes or pods:
            yield StateNoneHoldsMemory(nodes=nodes, pods=pods, where=where)
        return
    if pods and not nodes:
        yield StateNoNodeMap(pods=pods, where=place("machineState"))
    if policy == MemoryPolicy.BEST_EFFORT.value:
        yield StateWindowsPolicy(policy=policy, where=where)


def _node(state: MemoryState, node_id: int, node: NodeMemory) -> Iterator[Finding]:
    path = f"machineState.{node_id}"
    if not is_node_id(node_id):
        yield StateNodeId(node=node_id, most=HIGHEST_NODE_ID, where=place(path))
    if resources.MEMORY not in node.tables:
        yield StateNoMemoryTable(node=node_id, where=place(f"{path}.memoryMap"))
    # The kubelet subtracts all huge pages of a node from its allocatable memory.
    pages = sum(t.total for name, t in node.tables.items() if name != resources.MEMORY)
    for name, table in node.tables.items():
        at = place(f"{path}.memoryMap.{name}")
        yield from _type(node_id, name, table, at)
        yield from _table(node_id, name, table, pages if name == resources.MEMORY else 0, at)
    # The kubelet counts a block once for each of its nodes.
    counted = sum(block.nodes.count(node_id) for _, block in state.ledger.counted_blocks())
    if node.assignments != counted:
        yield StateAssignments(
            node=node_id,
            found=node.assignments,
            expected=counted,
            where=place(f"{path}.numberOfAssignments"),
        )
    yield from _group(state, node_id, node)


def is_node_id(node_id: int) -> bool:
    """Return whether a NUMA node can have this id; a kubelet accepts ids up to 63."""
    return 0 <= node_id <= HIGHEST_NODE_ID


def _type(node_id: int, name: str, table: MemoryTable, at: Location) -> Iterator[Finding]:
    if name == resources.MEMORY:
        return
    page = resources.page_bytes(name)
    if page is None:
        yield StateTypeName(node=node_id, type=name, where=at)
    elif table.total % page:
        yield StatePartOfAPage(node=node_id, type=name, size=table.total, where=at)


def _table(
    node_id: int, name: str, table: MemoryTable, not_for_this_type: int, at: Location
) -> Iterator[Finding]:
    # The kubelet subtracts in unsigned 64-bit numbers, which wrap around.
    allocatable = (table.total - table.system_reserved - not_for_this_type) & UINT64
    if table.allocatable != allocatable:
        yield StateAllocatable(
            node=node_id, type=name, found=table.allocatable, expected=allocatable, where=at
        )
    elif table.allocatable > table.total:
        yield StateWrapped(
            node=node_id, type=name, found=table.allocatable, total=table.total, where=at
        )
    total = (table.free + table.reserved) & UINT64
    if total != table.allocatable:
        yield StateTableSum(
            node=node_id, type=name, found=total, expected=table.allocatable, where=at
        )


def _group(state: MemoryState, node_id: int, node: NodeMemory) -> Iterator[Finding]:
    """Check the group of one node; ``block_rules`` reports overlaps."""
    at = place(f"machineState.{node_id}.cells")
    cells = _cells(state, node_id)
    group = list(cells)
    if node_id not in cells:
        yield StateNotInItsGroup(node=node_id, group=group, where=at)
    elif not set(cells) <= state.ledger.nodes.keys():
        yield StateGroupOfAbsentNodes(node=node_id, group=group, where=at)
    elif len(set(cells)) != len(cells):
        yield StateGroupNamesTwice(node=node_id, group=group, where=at)
    elif not node.assignments and len(cells) > 1:
        yield StateIdleGroup(node=node_id, group=group, where=at)


def _cells(state: MemoryState, node_id: int) -> tuple[int, ...]:
    """Return the group of a node as written, which may name a node twice."""
    stored = (state.document.nodes or {})[node_id]
    return () if stored is None else stored.group or ()


def _types_of_nodes(nodes: Mapping[int, NodeMemory]) -> Iterator[Finding]:
    """The kubelet crashes when a pod requests a type that some node does not have."""
    for name in sorted({name for node in nodes.values() for name in node.tables}):
        lacking = [node_id for node_id, node in nodes.items() if name not in node.tables]
        if lacking and name != resources.MEMORY:
            yield StateTypesDiffer(type=name, nodes=lacking, where=place("machineState"))


def _machine(nodes: Mapping[int, NodeMemory], machine: MachineInfo) -> Iterator[Finding]:
    """Compare the node map with the machine, without reservations."""
    there = tables.initial_nodes(machine, {})
    left_out = native_rules.left_out_by_class(nodes, machine)
    if nodes.keys() | set(left_out) != there.keys():
        yield StateOtherNodes(found=list(nodes), expected=list(there), where=place("machineState"))
    for node_id in sorted(nodes.keys() & there.keys()):
        actual, expected = _totals(nodes[node_id]), _totals(there[node_id])
        for name in sorted(actual.keys() | expected.keys()):
            # Native mode writes a count of 0 for a page size that the node does not have.
            if actual.get(name) != expected.get(name) and (actual.get(name), name in expected) != (
                0,
                False,
            ):
                at = place(f"machineState.{node_id}.memoryMap.{name}")
                yield StateOtherTotal(
                    node=node_id,
                    type=name,
                    found=actual.get(name, "nothing"),
                    expected=expected.get(name, "nothing"),
                    where=at,
                )


def _totals(node: NodeMemory) -> dict[str, int]:
    return {name: table.total for name, table in node.tables.items()}
