"""The kubelet's state files by their definition: an oracle for what ``core.checkpoint`` writes.

The content is a tree of Go's values with names and types of their fields. One function prints the
tree as ``spew`` does, another one encodes it as ``encoding/json`` does, and the checksum is made
byte by byte. Slow, and written without the texts that the real thing keeps.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import Any, Final

from numalet.core.managers.cpu.ledger import CpuLedger
from numalet.core.managers.device.ledger import WrittenCheckpoint
from numalet.core.managers.memory.ledger import Blocks, MemoryLedger, MemoryTable, NodeMemory
from numalet.core.model.cpu_set import CpuSet

_LEFT_OUT: Final = object()


@dataclass(frozen=True)
class Field:
    """A field of a struct: its name, type and value; ``member`` and ``shown`` are those in JSON."""

    name: str
    go_type: str
    value: Any
    member: str
    shown: Any


@dataclass(frozen=True)
class Struct:
    """A Go struct, or a pointer to one that a map holds."""

    fields: tuple[Field, ...] = ()
    is_pointer: bool = False


def memory(policy_name: str, ledger: MemoryLedger, has_pods: bool) -> str:
    """``memory_manager_state``."""
    entries = {
        uid: {name: _blocks(blocks) for name, blocks in containers.items()}
        for uid, containers in ledger.blocks.items()
    }
    pods = {uid: Struct((_blocks_of_pod(blocks),)) for uid, blocks in ledger.pods.items()}
    fields = [
        _field("PolicyName", "string", policy_name, "policyName"),
        _field(
            "MachineState",
            "state.NUMANodeMap",
            {node_id: _node(node) for node_id, node in ledger.nodes.items()},
            "machineState",
        ),
        _optional("Entries", "state.ContainerMemoryAssignments", entries, "entries"),
    ]
    if has_pods:
        fields.append(_optional("PodEntries", "state.PodMemoryAssignments", pods, "podEntries"))
    return _sealed("*state.MemoryManagerCheckpoint", fields)


def cpu(policy_name: str, ledger: CpuLedger, has_pods: bool) -> str:
    """``cpu_manager_state``."""
    entries = {
        uid: {name: cpu_list(cpus) for name, cpus in containers.items()}
        for uid, containers in ledger.exclusive.items()
    }
    pods = {uid: Struct((_cpus_of_pod(cpus),)) for uid, cpus in ledger.pods.items()}
    fields = [
        _field("PolicyName", "string", policy_name, "policyName"),
        _field("DefaultCPUSet", "string", cpu_list(ledger.default), "defaultCpuSet"),
        _optional("Entries", "map[string]map[string]string", entries, "entries"),
    ]
    if has_pods:
        fields.append(_optional("PodEntries", "state.PodCPUAssignments", pods, "podEntries"))
    return _sealed("*state.CPUManagerCheckpoint", fields)


def device(written: WrittenCheckpoint) -> str:
    """``kubelet_internal_checkpoint``."""
    entries = [
        Struct(
            (
                _field("PodUID", "string", uid, "PodUID"),
                _field("ContainerName", "string", container, "ContainerName"),
                _field("ResourceName", "string", resource, "ResourceName"),
                _field("DeviceIDs", "checkpoint.DevicesPerNUMA", record.by_node, "DeviceIDs"),
                _field("AllocResp", "[]uint8", record.response, "AllocResp"),
            )
        )
        for uid, containers in sorted(written.records.items())
        for container, resources in sorted(containers.items())
        for resource, record in sorted(resources.items())
    ]
    listed, registered = "PodDeviceEntries", "RegisteredDevices"
    data = Struct(
        (
            _field(listed, "[]checkpoint.PodDevicesEntry", entries or None, listed),
            _field(registered, "map[string][]string", written.registered, registered),
        )
    )
    checksum = _fnv(f"(checkpoint.checkpointData){_printed(data)}")
    return _encoded({"Data": _json(data), "Checksum": checksum})


def _field(name: str, go_type: str, value: Any, member: str) -> Field:
    return Field(name, go_type, value, member, value)


def _optional(name: str, go_type: str, value: Any, member: str) -> Field:
    """A field that JSON leaves out where it is empty."""
    return Field(name, go_type, value, member, value or _LEFT_OUT)


def _node(node: NodeMemory) -> Struct:
    group = [at for at in range(node.group.bit_length()) if node.group >> at & 1]
    tables = {name: _table(table) for name, table in node.tables.items()}
    return Struct(
        (
            _field("NumberOfAssignments", "int", node.assignments, "numberOfAssignments"),
            _field("MemoryMap", "map[v1.ResourceName]*state.MemoryTable", tables, "memoryMap"),
            _field("Cells", "[]int", group, "cells"),
        ),
        is_pointer=True,
    )


def _table(table: MemoryTable) -> Struct:
    return Struct(
        (
            _field("TotalMemSize", "uint64", table.total, "total"),
            _field("SystemReserved", "uint64", table.system_reserved, "systemReserved"),
            _field("Allocatable", "uint64", table.allocatable, "allocatable"),
            _field("Reserved", "uint64", table.reserved, "reserved"),
            _field("Free", "uint64", table.free, "free"),
        ),
        is_pointer=True,
    )


def _blocks(blocks: Blocks) -> list[Struct]:
    return [
        Struct(
            (
                _field("NUMAAffinity", "[]int", each.nodes, "numaAffinity"),
                _field("Type", "v1.ResourceName", each.resource, "type"),
                _field("Size", "uint64", each.size_bytes, "size"),
            )
        )
        for each in blocks
    ]


def _blocks_of_pod(blocks: Blocks) -> Field:
    return _optional("MemoryBlocks", "[]state.Block", _blocks(blocks) or None, "memoryBlocks")


def _cpus_of_pod(cpus: CpuSet) -> Field:
    elements = Field("elems", "map[int]struct {}", {cpu: Struct() for cpu in cpus}, "", _LEFT_OUT)
    return Field(
        "CPUSet", "cpuset.CPUSet", Struct((elements,)), "cpuSet", cpu_list(cpus) or _LEFT_OUT
    )


def cpu_list(cpus: CpuSet) -> str:
    """Every first CPU of a range with the last one."""
    ranges = []
    for first in sorted(cpu for cpu in cpus if cpu - 1 not in cpus):
        last = first
        while last + 1 in cpus:
            last += 1
        ranges.append(f"{first}" if first == last else f"{first}-{last}")
    return ",".join(ranges)


def _sealed(go_type: str, fields: list[Field]) -> str:
    """The file of a struct whose last field is its checksum, which it covers as 0."""
    empty = _field("Checksum", "checksum.Checksum", 0, "checksum")
    checksum = _fnv(f"({go_type}){_printed(Struct((*fields, empty)))}")
    return _encoded({**_json(Struct(tuple(fields))), "checksum": checksum})


def _printed(value: Any) -> str:
    """As ``spew`` prints it, with sorted keys and without addresses."""
    match value:
        case None:
            return "<nil>"
        case Struct():
            fields = [
                f"{each.name}:({each.go_type}){_printed(each.value)}" for each in value.fields
            ]
            return f"{'<*>' if value.is_pointer else ''}{{{' '.join(fields)}}}"
        case dict():
            return f"map[{' '.join(f'{key}:{_printed(value[key])}' for key in sorted(value))}]"
        case list() | tuple() | bytes():
            return f"[{' '.join(map(_printed, value))}]"
        case _:
            return str(value)


def _json(value: Any) -> Any:
    """The plain value that is encoded; keys of maps are sorted as texts."""
    match value:
        case Struct():
            shown = [(each.member, each.shown) for each in value.fields]
            return {name: _json(each) for name, each in shown if each is not _LEFT_OUT}
        case dict():
            by_text = {str(key): each for key, each in value.items()}
            return {key: _json(by_text[key]) for key in sorted(by_text)}
        case list() | tuple():
            return [_json(each) for each in value]
        case bytes():
            return base64.b64encode(value).decode()
        case _:
            return value


def _encoded(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    # None of these is outside a string.
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _fnv(text: str) -> int:
    value = 0x811C9DC5
    for byte in text.encode():
        value = (value ^ byte) * 0x01000193 % (1 << 32)
    return value
