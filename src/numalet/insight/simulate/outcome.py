"""The outcome of a scenario in the recorded format: plain nested data.

Fields without a meaning for a step are left out: hints under the topology policy "none",
allocations of a rejected pod. The resource settings of the container runtime are by API field
(kubelet: ``PreCreateContainer``, ``groupMasks``, v1.32); with an empty field, the container may use
everything.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

from numalet.core.admission.decision import Alignment, Decision
from numalet.core.hints.policies import Merged
from numalet.core.hints.provider import Hint, HintFamily, Impossible, NoPreference, ResourceHints
from numalet.core.hints.rule import FamilyByRule, HintRule
from numalet.core.managers.device.inventory import Inventory
from numalet.core.managers.device.ledger import DeviceRecord
from numalet.core.model import cpu_set, numa_mask
from numalet.core.model.pod import Pod
from numalet.core.model.value import Value
from numalet.core.snapshot import placement
from numalet.core.snapshot.snapshot import Snapshot
from numalet.insight.simulate.session import CPU_STATE_FILE, MEMORY_STATE_FILE, StateFiles

CPUS_PER_GROUP = 64


class LinuxSettings(Value):
    """``linux.resources``: a CPU list such as ``0-3,8``, and node ids such as ``0,1``."""

    cpuset_cpus: str
    cpuset_mems: str


class GroupMask(NamedTuple):
    cpu_group: int
    cpu_mask: int


class WindowsSettings(Value):
    """``windows.resources``: CPUs by ascending group, where the kubelet has no order."""

    affinity_cpus: tuple[GroupMask, ...]


Settings: TypeAlias = LinuxSettings | WindowsSettings


def runtime_settings(decision: Decision) -> Mapping[str, Settings]:
    """Return the settings of each container of the pod; empty for a rejected pod."""
    if not decision.admitted:
        return {}
    names = [container.name for container in decision.pod.containers()]
    affinity = decision.windows_affinity
    if affinity is None:
        return {name: _linux(decision, name) for name in names}
    return {name: WindowsSettings(group_masks(affinity.get(name, ()))) for name in names}


def _linux(decision: Decision, container: str) -> LinuxSettings:
    uid, after = decision.pod.uid, decision.after
    return LinuxSettings(
        cpuset_cpus=cpu_set.text(placement.cpus(after, uid, container)),
        cpuset_mems=",".join(map(str, placement.memory_nodes(after, uid, container))),
    )


def group_masks(cpus: Iterable[int]) -> tuple[GroupMask, ...]:
    masks: dict[int, int] = {}
    for cpu in cpus:
        # Windows numbers CPUs by groups of 64, with one mask per group.
        group, position = divmod(cpu, CPUS_PER_GROUP)
        masks[group] = masks.get(group, 0) | 1 << position
    return tuple(GroupMask(group, masks[group]) for group in sorted(masks))


PROVIDERS = ("device", "cpu", "memory")
"""The kubelet's hint providers; a record names them even without hints."""


def verdict(decision: Decision, reason: str, message: str) -> dict[str, Any]:
    """Return the outcome for one pod; the texts are the kubelet's."""
    document: dict[str, Any] = {
        "admitted": decision.admitted,
        "reason": reason,
        "message": message,
    }
    if decision.alignments:
        document["hints"] = {
            subject: _provider_hints(alignment)
            for subject, alignment in decision.alignments.items()
        }
        document["merged"] = {
            subject: _merged(alignment.merged)
            for subject, alignment in decision.alignments.items()
            if alignment.merged is not None
        }
        document["affinity"] = {name: _hint(hint) for name, hint in decision.affinities.items()}
    if decision.admitted:
        document |= placements(decision.after, decision.pod)
    return document


def placements(snapshot: Snapshot, pod: Pod) -> dict[str, Any]:
    """Return the allocations of an admitted pod; containers without one are left out."""
    records = snapshot.device.records.get(pod.uid, {})
    cpus = snapshot.cpu.exclusive.get(pod.uid, {})
    names = [container.name for container in pod.containers()]
    return {
        "cpuset": {name: cpu_set.text(cpus[name]) for name in names if name in cpus},
        "memory": _memory(snapshot, pod),
        "devices": {name: _device_ids(records[name]) for name in names if name in records},
        "devices_by_numa": {
            name: _devices_by_numa(snapshot.device.inventory, records[name])
            for name in names
            if name in records
        },
    }


def _memory(snapshot: Snapshot, pod: Pod) -> dict[str, Any]:
    memory = {}
    for container in pod.containers():
        blocks = snapshot.memory.blocks_of(pod.uid, container.name)
        if blocks:
            memory[container.name] = [
                {
                    "numa_affinity": list(block.nodes),
                    "type": block.resource,
                    "size": block.size_bytes,
                }
                for block in sorted(blocks, key=lambda block: block.resource)
            ]
    return memory


def _device_ids(held: Mapping[str, DeviceRecord]) -> dict[str, list[str]]:
    return {resource: sorted(record.device_ids) for resource, record in sorted(held.items())}


def _devices_by_numa(
    inventory: Inventory, held: Mapping[str, DeviceRecord]
) -> dict[str, dict[str, int]]:
    """Count devices by their NUMA nodes; the key is empty for devices without one."""
    return {
        resource: dict(
            Counter(
                ",".join(map(str, numa_mask.ids(inventory.devices_of(resource).mask_of(device))))
                for device in sorted(record.device_ids)
            )
        )
        for resource, record in sorted(held.items())
    }


def states(files: StateFiles, prefix: str = "") -> dict[str, Any]:
    """Return the parsed state files.

    ``memory_state_blocks`` is added if a container has several blocks: the kubelet writes them in
    random order.
    """
    document: dict[str, Any] = {}
    if files.get(CPU_STATE_FILE):
        document[f"{prefix}cpu_state"] = json.loads(files[CPU_STATE_FILE])
    if files.get(MEMORY_STATE_FILE):
        memory = json.loads(files[MEMORY_STATE_FILE])
        document[f"{prefix}memory_state"] = memory
        # The kubelet writes the blocks of a container in the order of a Go map.
        if not prefix and _has_several_blocks(memory):
            document["memory_state_blocks"] = "sorted"
    return document


def raw_states(files: StateFiles, prefix: str = "") -> dict[str, Any]:
    """Return the exact texts of the state files, without files of random order."""
    document = {}
    if files.get(CPU_STATE_FILE):
        document[f"{prefix}cpu_state_raw"] = files[CPU_STATE_FILE]
    memory = files.get(MEMORY_STATE_FILE)
    if memory and not _has_several_blocks(json.loads(memory)):
        document[f"{prefix}memory_state_raw"] = memory
    return document


def _provider_hints(alignment: Alignment) -> dict[str, Any]:
    return {
        provider: {
            resource: _resource_hints(hints)
            for resource, hints in alignment.hints.get(provider, {}).items()
        }
        for provider in dict.fromkeys((*PROVIDERS, *alignment.hints))
    }


def _merged(merged: Merged) -> dict[str, Any]:
    document = _hint(merged.affinity) | {"admit": merged.admit}
    return document | {"bounded": True} if merged.bounded else document


def _resource_hints(hints: ResourceHints) -> list[dict[str, Any]] | dict[str, Any] | None:
    match hints:
        case NoPreference():
            return None
        case Impossible():
            return []
        case FamilyByRule(rule=HintRule() as rule) if not rule.can_be_listed:
            return _summary(rule)
        case _:
            family: HintFamily = hints
            return [_hint(hint) for hint in family.hints()]


def _summary(rule: HintRule) -> dict[str, Any]:
    return {
        "preferred_size": rule.preferred_size,
        "smallest_size": rule.smallest_size,
        "singles": [numa_mask.ids(mask)[0] for mask in rule.singles()],
        "groups": [list(numa_mask.ids(mask)) for mask in rule.islands if mask.bit_count() > 1],
        "open_nodes": list(numa_mask.ids(rule.open_sets.universe)),
    }


def _hint(hint: Hint) -> dict[str, Any]:
    nodes = None if hint.mask is None else list(numa_mask.ids(hint.mask))
    return {"nodes": nodes, "preferred": hint.preferred}


def _has_several_blocks(memory_state: Mapping[str, Any]) -> bool:
    memory_state = json.loads(memory_state.get("data") or "null") or memory_state
    pods = memory_state.get("entries", {}).values()
    whole = memory_state.get("podEntries", {}).values()
    lists = [blocks for containers in pods for blocks in containers.values()]
    lists += [entry.get("memoryBlocks", []) for entry in whole if isinstance(entry, dict)]
    return any(len(blocks) > 1 for blocks in lists)
