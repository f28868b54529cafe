"""Missing amounts on each NUMA node for a pod that needs a single one, for a bound on evictions.

The free amount of a NUMA node grows by the amounts of evicted pods, and by no more. Memory groups
can only exclude more pods.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from numalet.core.admission import counting
from numalet.core.cluster.facts import StateFacts
from numalet.core.config.rules import TopologyPolicy
from numalet.core.managers.cpu import cpu_mask
from numalet.core.managers.device import ledger as device_ledger
from numalet.core.managers.memory import demand as memory_demand
from numalet.core.model import resources
from numalet.core.model.pod import Pod
from numalet.insight.fleet import aligned
from numalet.insight.fleet.size_bound import Lack, Need

_Amounts: TypeAlias = dict[tuple[str, int], int]
"""By resource and NUMA node; CPUs are whole."""


def needs(facts: StateFacts, pod: Pod, candidates: Sequence[str]) -> Iterator[Need]:
    """Yield the pod's needs, and the amounts that each of these pods, by uid, would release."""
    rules = facts.node.rules
    # Under other policies a pod may use several NUMA nodes, so none of them sets a bound.
    if rules.topology.policy is not TopologyPolicy.SINGLE_NUMA_NODE or not _is_plain(facts, pod):
        return
    managed = counting.for_managers(pod, rules.release_rules)
    asked = {**_memory(facts, managed), **_with_places(facts, managed)}
    if cpus := aligned.cpus(facts, managed):
        asked[resources.CPU] = cpus
    if not asked:
        return
    free, held = _free(facts, asked), [_held(facts, uid) for uid in candidates]
    lacks = {
        (name, node): Lack(
            amount - free.get((name, node), 0), [each.get((name, node), 0) for each in held]
        )
        for name, amount in asked.items()
        for node in rules.machine.node_ids
    }
    # In scope pod one NUMA node has to meet all needs; in scope container each one may be met
    # elsewhere.
    together = [tuple(asked)] if aligned.is_whole(rules) else [(name,) for name in asked]
    for names in together:
        yield [[lacks[name, node] for name in names] for node in rules.machine.node_ids]


def _is_plain(facts: StateFacts, pod: Pod) -> bool:
    snapshot, rules = facts.snapshot, facts.node.rules
    # The bound would be wrong if sizes wrapped around, or with pod-level resources.
    placed_whole = snapshot.cpu.pods or snapshot.memory.pods or pod.pod_level is not None
    return not (rules.managers_are_stand_ins or placed_whole) and facts.sizes_are_sane


def _memory(facts: StateFacts, pod: Pod) -> Mapping[str, int]:
    """Return requested memory, unless several containers of a pod in scope pod request it."""
    # If no NUMA node has enough for all of them, the Memory Manager gives no hint and then finds
    # room for each one by itself.
    asked, behaviour = aligned.memory(facts, pod), facts.node.rules.behaviour
    askers = [each for each in pod.containers() if memory_demand.of_container(each, behaviour)]
    return {} if aligned.is_whole(facts.node.rules) and len(askers) > 1 else asked


def _with_places(facts: StateFacts, pod: Pod) -> dict[str, int]:
    """Return devices of resources with NUMA nodes; others do not depend on them."""
    asked = aligned.devices(facts, pod)
    return {name: count for name, count in asked.items() if any(facts.devices[name].devices.masks)}


def _free(facts: StateFacts, asked: dict[str, int]) -> _Amounts:
    free: _Amounts = {}
    static = facts.node_class.static_cpus
    if static is not None:
        for part, count in zip(static.topology.nodes, facts.free_cpus, strict=True):
            free[resources.CPU, part.part_id] = count
    for node_id, node in facts.memory.items():
        for name, table in node.tables.items():
            free[name, node_id] = table.free
    in_use = device_ledger.in_use_by(facts.snapshot.device.records)
    for name in facts.devices.keys() & asked.keys():
        healthy = facts.snapshot.device.inventory.healthy(name)
        _count_devices(facts, name, healthy - in_use.get(name, frozenset()), free)
    return free


def _held(facts: StateFacts, uid: str) -> _Amounts:
    """Return a pod's allocation; memory on a group is included in each of its NUMA nodes."""
    held: _Amounts = {}
    snapshot, static = facts.snapshot, facts.node_class.static_cpus
    exclusive = snapshot.cpu.exclusive.get(uid)
    if static is not None and exclusive:
        cpus = cpu_mask.of_set(frozenset().union(*exclusive.values()))
        for part in static.topology.nodes:
            held[resources.CPU, part.part_id] = (part.cpus & cpus).bit_count()
    for blocks in snapshot.memory.blocks.get(uid, {}).values():
        for block in blocks:
            for node_id in block.nodes:
                place = (block.resource, node_id)
                held[place] = held.get(place, 0) + block.size_bytes
    for records in snapshot.device.records.get(uid, {}).values():
        for name, record in records.items():
            _count_devices(facts, name, record.device_ids, held)
    return held


def _count_devices(facts: StateFacts, resource: str, names: frozenset[str], into: _Amounts) -> None:
    known = facts.snapshot.device.inventory.devices_of(resource).by_id
    for name in names:
        for node_id in set(known[name].numa_nodes) if name in known else ():
            into[resource, node_id] = into.get((resource, node_id), 0) + 1
