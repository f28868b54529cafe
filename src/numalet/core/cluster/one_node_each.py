"""Keys for pods with every container's CPUs and memory on one NUMA node (single-numa-node).

Rules then compare a NUMA node's free amounts only with sums: the allocations of some of the
containers there, and the request of the next one. A NUMA node is only the answer to "which of these
containers fit here together?": with 9 free CPUs or with 11, two containers of 4 get the same
result.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Final, TypeAlias

from numalet.core.cluster.facts import ClassFacts, StateFacts
from numalet.core.config.rules import Scope, TopologyPolicy
from numalet.core.managers.cpu import static_policy as cpu_demand
from numalet.core.managers.memory import demand as memory_demand
from numalet.core.managers.memory.ledger import NodeMemory
from numalet.core.managers.memory.reasons import NotAnInteger
from numalet.core.model.pod import ContainerKind, Pod
from numalet.core.model.value import Value

_MOST_NUMA_NODES: Final = 4
"""Up to this number of NUMA nodes, their sets are few."""
_MOST_CHOICES: Final = 64

_Amounts: TypeAlias = tuple[int, ...]
"""CPUs, then bytes of each memory type."""


class OneNodeEach(Value):
    """The request of such a pod.

    ``choices`` has the total request of each choice of its containers, without duplicates;
    ``aligned`` are those that must fit one NUMA node: in pod scope only the whole pod. ``memory``
    has the names of the memory types.
    """

    choices: tuple[_Amounts, ...]
    aligned: tuple[_Amounts, ...]
    memory: tuple[str, ...]

    def key(self, facts: StateFacts) -> object:
        free, nodes = list(self._free(facts).values()), facts.memory if self.memory else {}
        attributes = [
            (node.assignments > 0, node.group, *[each.allocatable for each in node.tables.values()])
            for node in nodes.values()
        ]
        most = [max(each) for each in zip(*free, strict=True)][1:]
        whole = [max(each) for each in zip(*self.choices, strict=True)][1:]
        # If no set of NUMA nodes has enough memory, the Memory Manager has no hints, so the pod
        # ignores the other managers' hints and fails later, for another reason. That cannot
        # happen while one NUMA node has enough for the whole pod.
        if all(map(int.__ge__, most, whole)):
            return (tuple([_fitting(each, self.aligned) for each in free]), tuple(attributes))
        # Else compare CPUs and memory separately, for sets of NUMA nodes too.
        return (tuple(self._apart(free)), tuple(attributes))

    def _free(self, facts: StateFacts) -> dict[int, _Amounts]:
        cpus, nodes = _free_cpus(facts), facts.memory if self.memory else {}
        return {
            node_id: (
                cpus.get(node_id, 0),
                *[_free_memory(nodes.get(node_id), name) for name in self.memory],
            )
            for node_id in sorted({*cpus, *nodes})
        }

    def _apart(self, free: Sequence[_Amounts]) -> Iterator[int]:
        """Yield the number of choices that fit each set of NUMA nodes, by each kind of amount."""
        for at, amounts in enumerate(zip(*free, strict=True)):
            steps = sorted({asked[at] for asked in self.choices})
            for size in range(1, len(amounts) + 1):
                for each in combinations(amounts, size):
                    yield bisect_right(steps, sum(each))


def _free_memory(node: NodeMemory | None, name: str) -> int:
    return 0 if node is None or name not in node.tables else node.tables[name].free


def _fitting(free: _Amounts, choices: Sequence[_Amounts]) -> int:
    bits = 0
    for at, asked in enumerate(choices):
        if all(map(int.__ge__, free, asked)):
            bits |= 1 << at
    return bits


def of(pod: Pod, node_class: ClassFacts) -> OneNodeEach | None:
    """Return the pod's request in the managers' units, unless the module does not apply."""
    rules = node_class.roster.rules
    if (
        rules.topology.policy is not TopologyPolicy.SINGLE_NUMA_NODE
        or len(rules.machine.node_ids) > _MOST_NUMA_NODES
        # Init containers lend their resources to later ones.
        or any(each.kind is ContainerKind.INIT for each in pod.containers())
    ):
        return None
    names: list[str] = []
    asked: list[tuple[int, dict[str, int]]] = []
    sees_memory = node_class.counts_memory and memory_demand.is_guaranteed(pod)
    for each in pod.containers():
        sizes = memory_demand.of_container(each, rules.behaviour) if sees_memory else {}
        if isinstance(sizes, NotAnInteger):
            return None
        names += [name for name in sizes if name not in names]
        has_cpus = node_class.static_cpus is not None
        asked.append((cpu_demand.of_container(pod, each) if has_cpus else 0, dict(sizes)))
    amounts = [(cpus, *[sizes.get(name, 0) for name in names]) for cpus, sizes in asked]
    is_whole = rules.topology.scope is Scope.POD
    choices = tuple(_choices(amounts))
    # The choices can double with each container; with this many, the key is no longer worth its
    # time.
    if len(choices) > _MOST_CHOICES:
        return None
    return OneNodeEach(choices, (_sum(amounts),) if is_whole else choices, tuple(names))


def _free_cpus(facts: StateFacts) -> dict[int, int]:
    static = facts.node_class.static_cpus
    if static is None:
        return {}
    return dict(zip(static.topology.node_ids, facts.free_cpus, strict=True))


def _choices(amounts: Sequence[_Amounts]) -> list[_Amounts]:
    """Return the total request of each choice of containers; stops above the limit."""
    sums: set[_Amounts] = set()
    for each in amounts:
        sums |= {each, *(_sum([each, there]) for there in sums)}
        if len(sums) > _MOST_CHOICES:
            break
    return sorted(sums)


def _sum(amounts: Sequence[_Amounts]) -> _Amounts:
    return tuple(map(sum, zip(*amounts, strict=True)))
