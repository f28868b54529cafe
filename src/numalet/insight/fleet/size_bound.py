"""A lower bound on the number of evictions, from the allocations of pods.

A *lack* is a missing amount somewhere, and how much of it each pod would release. All lacks of a
*place* have to be met there, and one place suffices for a *need*. For a pod that needs a single
NUMA node, its free amount grows by the amounts of evicted pods, and by no more. Memory groups can
only exclude more pods.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from operator import sub
from typing import TypeAlias

from numalet.core.admission import counting
from numalet.core.cluster.facts import StateFacts
from numalet.core.config.rules import TopologyPolicy
from numalet.core.managers.cpu import cpu_mask
from numalet.core.managers.device import ledger as device_ledger
from numalet.core.managers.memory import demand as memory_demand
from numalet.core.model import resources
from numalet.core.model.pod import Pod
from numalet.core.model.value import Value
from numalet.insight.fleet import obstacles


class Lack(Value):
    """``gives`` is the amount that each pod would release, in the order of the pods."""

    short: int
    gives: Sequence[int]

    @property
    def fewest(self) -> int | None:
        """How many of the largest pods suffice, if all together do."""
        if self.short <= 0:
            return 0
        sums = accumulate(sorted(self.gives, reverse=True))
        return next((at for at, given in enumerate(sums, 1) if given >= self.short), None)


Place: TypeAlias = Sequence[Lack]
Need: TypeAlias = Sequence[Place]


class SizeBound:
    """The effect of a number of further evictions on all needs.

    ``fewest`` is the lower bound, unless no set suffices. ``short`` are the missing amounts before
    any eviction.
    """

    def __init__(self, needs: Iterable[Need], count: int) -> None:
        lacks: list[Lack] = []
        self._needs: list[tuple[range, ...]] = []
        self.fewest: int | None = 0
        for need in needs:
            places: list[range] = []
            sizes: list[int] = []
            for place in need:
                fewest = [each.fewest for each in place]
                possible = [each for each in fewest if each is not None]
                # A place that all pods together cannot meet is left out.
                if len(possible) == len(fewest):
                    places.append(range(len(lacks), len(lacks) + len(place)))
                    sizes.append(max(possible, default=0))
                    lacks.extend(place)
            self._needs.append(tuple(places))
            if not sizes:
                self.fewest = None
            # Every need has to be met, so the largest of their bounds holds; within a need the
            # cheapest place suffices.
            elif self.fewest is not None:
                self.fewest = max(self.fewest, min(sizes))
        self.short = tuple([each.short for each in lacks])
        self._gives = [tuple([each.gives[at] for each in lacks]) for at in range(count)]
        # For each index the largest release of any pod from there on: an upper bound that one
        # comparison checks.
        largest = [(0,) * len(lacks)]
        for gives in reversed(self._gives):
            largest.append(tuple(map(max, largest[-1], gives)))
        self._largest = largest[::-1]

    def after(self, short: tuple[int, ...], at: int) -> tuple[int, ...]:
        """Return the missing amounts after one more eviction, of the pod at this index."""
        return tuple(map(sub, short, self._gives[at]))

    def is_within(self, short: tuple[int, ...], more: int, start: int) -> bool:
        """Return whether ``more`` further pods with index at least ``start`` may suffice."""
        largest = self._largest[start]
        return all(
            any(all(short[lack] <= largest[lack] * more for lack in place) for place in places)
            for places in self._needs
        )


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
    if cpus := obstacles.aligned_cpus(facts, managed):
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
    together = [tuple(asked)] if obstacles.is_whole(rules) else [(name,) for name in asked]
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
    asked, behaviour = obstacles.aligned_memory(facts, pod), facts.node.rules.behaviour
    askers = [each for each in pod.containers() if memory_demand.of_container(each, behaviour)]
    return {} if obstacles.is_whole(facts.node.rules) and len(askers) > 1 else asked


def _with_places(facts: StateFacts, pod: Pod) -> dict[str, int]:
    """Return devices of resources with NUMA nodes; others do not depend on them."""
    asked = obstacles.aligned_devices(facts, pod)
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
