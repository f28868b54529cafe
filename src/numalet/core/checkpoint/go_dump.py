"""Go's printed form of values, which the state files' checksums cover.

This is the kubelet's deep dump (spew with sorted keys, without addresses): struct fields with their
types, keys and elements without, pointers in maps as ``<*>``, nil as ``<nil>``. Number keys sort as
numbers, although the JSON file sorts them as text. Functions named ``..._of`` take printed parts,
of a document that was read or of a ledger that is written. Kubelet: ``checksum.New`` over
``state.MemoryManagerCheckpoint``, v1.32.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeVar

from numalet.core.checkpoint.memory_document import (
    Block,
    MachineStateNode,
    MemoryDocument,
    PodBlocks,
    Table,
)
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.value import Value

_K = TypeVar("_K", int, str)
_V = TypeVar("_V")

NIL: Final = "<nil>"


class MemoryLayout(Value):
    """The names that differ between layouts of the memory file."""

    node_map_type: str
    group_field: str
    policy_in_lower_case: bool


CURRENT = MemoryLayout("state.NUMANodeMap", "Cells", policy_in_lower_case=False)
EARLY = MemoryLayout("state.NodeMap", "Nodes", policy_in_lower_case=True)
"""The layout before the first release, still shown in Kubernetes' documentation."""


def memory(document: MemoryDocument, layout: MemoryLayout = CURRENT) -> str:
    """Return the dump of a memory state file, with 0 as its checksum."""
    return memory_of(
        document.policy_name,
        _map(document.nodes, lambda node: _node(node, layout)),
        _map(document.entries, lambda pod: _map(pod, _blocks)),
        _map(document.pods, lambda held: pod_of(_blocks(held))) if document.has_pods else None,
        layout,
    )


def memory_of(
    policy_name: str, nodes: str, entries: str, pods: str | None, layout: MemoryLayout = CURRENT
) -> str:
    """Format the whole memory state file; ``pods`` only in formats that have them."""
    policy = policy_name.lower() if layout.policy_in_lower_case else policy_name
    pod_entries = "" if pods is None else f" PodEntries:(state.PodMemoryAssignments){pods}"
    return (
        f"(*state.MemoryManagerCheckpoint){{PolicyName:(string){policy}"
        f" MachineState:({layout.node_map_type}){nodes}"
        f" Entries:(state.ContainerMemoryAssignments){entries}{pod_entries}"
        " Checksum:(checksum.Checksum)0}"
    )


def node_of(assignments: int, tables: str, group: str, layout: MemoryLayout = CURRENT) -> str:
    return (
        f"<*>{{NumberOfAssignments:(int){assignments}"
        f" MemoryMap:(map[v1.ResourceName]*state.MemoryTable){tables}"
        f" {layout.group_field}:([]int){group}}}"
    )


def table_of(total: str, system_reserved: str, allocatable: str, reserved: str, free: str) -> str:
    """Format one memory type on one NUMA node."""
    return (
        f"<*>{{TotalMemSize:(uint64){total}"
        f" SystemReserved:(uint64){system_reserved}"
        f" Allocatable:(uint64){allocatable}"
        f" Reserved:(uint64){reserved}"
        f" Free:(uint64){free}}}"
    )


def block_of(nodes: str, resource: str, size_bytes: str) -> str:
    return (
        f"{{NUMAAffinity:([]int){nodes}"
        f" Type:(v1.ResourceName){resource} Size:(uint64){size_bytes}}}"
    )


def pod_of(blocks: str) -> str:
    """Format the blocks of a pod that was placed as a whole."""
    return f"{{MemoryBlocks:([]state.Block){blocks}}}"


def _node(node: MachineStateNode | None, layout: MemoryLayout) -> str:
    if node is None:
        return NIL
    tables, group = _map(node.tables, _table), _list(node.group, str)
    return node_of(node.assignments, tables, group, layout)


def _table(table: Table | None) -> str:
    if table is None:
        return NIL
    return table_of(
        str(table.total),
        str(table.system_reserved),
        str(table.allocatable),
        str(table.reserved),
        str(table.free),
    )


def _blocks(blocks: PodBlocks) -> str:
    return _list(blocks, _block)


def _block(block: Block) -> str:
    return block_of(_list(block.nodes, str), block.resource, str(block.size_bytes))


def cpu(
    policy_name: str, default_cpus: str, entries: Mapping[str, Mapping[str, str] | None] | None
) -> str:
    """Return the dump of a CPU state file, with 0 as its checksum."""
    return cpu_of(policy_name, default_cpus, _cpu_entries(entries))


def cpu_with_pods(
    policy_name: str,
    default_cpus: str,
    entries: Mapping[str, Mapping[str, str] | None] | None,
    pods: Mapping[str, CpuSet] | None,
) -> str:
    """Return the dump of a CPU state file of the third format, with 0 as its checksum."""
    return cpu_of(policy_name, default_cpus, _cpu_entries(entries), _map(pods, pod_cpus_of))


def cpu_of(policy_name: str, default_cpus: str, entries: str, pods: str | None = None) -> str:
    """Format the whole CPU state file; ``pods`` only in formats that have them."""
    pod_entries = "" if pods is None else f" PodEntries:(state.PodCPUAssignments){pods}"
    return _cpu(policy_name, default_cpus, "map[string]map[string]string", entries + pod_entries)


def pod_cpus_of(held: CpuSet) -> str:
    elements = _map(dict.fromkeys(held, "{}"), str)
    return f"{{CPUSet:(cpuset.CPUSet){{elems:(map[int]struct {{}}){elements}}}}}"


def cpu_v1(policy_name: str, default_cpus: str, entries: Mapping[str, str] | None) -> str:
    """Return the dump of a CPU state file of the first format, keyed by container id."""
    return _cpu(policy_name, default_cpus, "map[string]string", _map(entries, str))


def _cpu_entries(entries: Mapping[str, Mapping[str, str] | None] | None) -> str:
    return _map(entries, lambda containers: _map(containers, str))


def _cpu(policy_name: str, default_cpus: str, entries_type: str, entries: str) -> str:
    return (
        f"(*state.CPUManagerCheckpoint){{PolicyName:(string){policy_name}"
        f" DefaultCPUSet:(string){default_cpus}"
        f" Entries:({entries_type}){entries}"
        " Checksum:(checksum.Checksum)0}"
    )


def _map(items: Mapping[_K, _V] | None, dump: Callable[[_V], str]) -> str:
    if items is None:
        return NIL
    return f"map[{' '.join([f'{key}:{dump(items[key])}' for key in sorted(items)])}]"


def _list(items: Iterable[_V] | None, dump: Callable[[_V], str]) -> str:
    if items is None:
        return NIL
    return f"[{' '.join(map(dump, items))}]"
