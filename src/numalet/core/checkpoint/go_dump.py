"""The printed form of Go values that the state files' checksums cover.

It is what the kubelet's deep dump (spew with sorted keys, without addresses) prints: fields of
structs with their types, keys and elements without, pointers in maps as ``<*>``, what is absent
as ``<nil>``. Keys that are numbers sort by number here, although the JSON file sorts them as
text. Kubelet: ``checksum.New`` over ``state.MemoryManagerCheckpoint``, v1.32.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from numalet.core.checkpoint.memory_document import Block, MachineStateNode, MemoryDocument, Table
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.value import Value

_K = TypeVar("_K", int, str)
_V = TypeVar("_V")

_NIL = "<nil>"


class MemoryLayout(Value):
    """The names that changed between layouts of the memory file."""

    node_map_type: str
    group_field: str
    policy_in_lower_case: bool


CURRENT = MemoryLayout("state.NUMANodeMap", "Cells", policy_in_lower_case=False)
EARLY = MemoryLayout("state.NodeMap", "Nodes", policy_in_lower_case=True)
"""The layout before the first release, which the documentation still shows."""


def memory(document: MemoryDocument, layout: MemoryLayout = CURRENT) -> str:
    """The dump of a memory state file, its checksum counted as 0."""
    policy = document.policy_name.lower() if layout.policy_in_lower_case else document.policy_name
    nodes = _map(document.nodes, lambda node: _node(node, layout))
    entries = _map(document.entries, lambda pod: _map(pod, lambda blocks: _list(blocks, _block)))
    return (
        f"(*state.MemoryManagerCheckpoint){{PolicyName:(string){policy}"
        f" MachineState:({layout.node_map_type}){nodes}"
        f" Entries:(state.ContainerMemoryAssignments){entries}{_memory_of_pods(document)}"
        " Checksum:(checksum.Checksum)0}"
    )


def _memory_of_pods(document: MemoryDocument) -> str:
    if not document.has_pods:
        return ""
    pods = _map(
        document.pods, lambda held: f"{{MemoryBlocks:([]state.Block){_list(held, _block)}}}"
    )
    return f" PodEntries:(state.PodMemoryAssignments){pods}"


def _node(node: MachineStateNode | None, layout: MemoryLayout) -> str:
    if node is None:
        return _NIL
    return (
        f"<*>{{NumberOfAssignments:(int){node.assignments}"
        f" MemoryMap:(map[v1.ResourceName]*state.MemoryTable){_map(node.tables, _table)}"
        f" {layout.group_field}:([]int){_list(node.group, str)}}}"
    )


def _table(table: Table | None) -> str:
    if table is None:
        return _NIL
    return (
        f"<*>{{TotalMemSize:(uint64){table.total}"
        f" SystemReserved:(uint64){table.system_reserved}"
        f" Allocatable:(uint64){table.allocatable}"
        f" Reserved:(uint64){table.reserved}"
        f" Free:(uint64){table.free}}}"
    )


def _block(block: Block) -> str:
    return (
        f"{{NUMAAffinity:([]int){_list(block.nodes, str)}"
        f" Type:(v1.ResourceName){block.resource} Size:(uint64){block.size_bytes}}}"
    )


def cpu(
    policy_name: str, default_cpus: str, entries: Mapping[str, Mapping[str, str] | None] | None
) -> str:
    """The dump of a CPU state file, its checksum counted as 0."""
    return _cpu(policy_name, default_cpus, "map[string]map[string]string", _cpu_entries(entries))


def cpu_with_pods(
    policy_name: str,
    default_cpus: str,
    entries: Mapping[str, Mapping[str, str] | None] | None,
    pods: Mapping[str, CpuSet] | None,
) -> str:
    """The dump of a CPU state file of the third format, its checksum counted as 0."""
    dumped = f"{_cpu_entries(entries)} PodEntries:(state.PodCPUAssignments){_map(pods, _cpu_set)}"
    return _cpu(policy_name, default_cpus, "map[string]map[string]string", dumped)


def _cpu_entries(entries: Mapping[str, Mapping[str, str] | None] | None) -> str:
    return _map(entries, lambda containers: _map(containers, str))


def _cpu_set(held: CpuSet) -> str:
    elements = _map(dict.fromkeys(held, "{}"), str)
    return f"{{CPUSet:(cpuset.CPUSet){{elems:(map[int]struct {{}}){elements}}}}}"


def cpu_v1(policy_name: str, default_cpus: str, entries: Mapping[str, str] | None) -> str:
    """The dump of a CPU state file of the first format, keyed by container id."""
    return _cpu(policy_name, default_cpus, "map[string]string", _map(entries, str))


def _cpu(policy_name: str, default_cpus: str, entries_type: str, entries: str) -> str:
    return (
        f"(*state.CPUManagerCheckpoint){{PolicyName:(string){policy_name}"
        f" DefaultCPUSet:(string){default_cpus}"
        f" Entries:({entries_type}){entries}"
        " Checksum:(checksum.Checksum)0}"
    )


def _map(items: Mapping[_K, _V] | None, dump: Callable[[_V], str]) -> str:
    if items is None:
        return _NIL
    return f"map[{' '.join([f'{key}:{dump(items[key])}' for key in sorted(items)])}]"


def _list(items: Iterable[_V] | None, dump: Callable[[_V], str]) -> str:
    if items is None:
        return _NIL
    return f"[{' '.join(map(dump, items))}]"
