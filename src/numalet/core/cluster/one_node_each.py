"""Keys for pods of which every container gets its CPUs and memory from one NUMA node.

That is so under single-numa-node. Then what a NUMA node has free is only ever compared with sums:
what some of the containers have got there already, and what the next one asks for. So a NUMA node
is no more to such a pod than the answer to "which of its containers fit here together?". With 9
free CPUs or with 11, two containers of 4 do the same.

Memory is compared in one more way. If no set of NUMA nodes at all has enough, the Memory Manager
has no hints, so that the pod passes by the hints of others and fails later, for another reason.
That can not happen while one NUMA node has enough for the whole pod. Else what is in the key is
said of CPUs and memory apart, for each choice of containers, and of sets of NUMA nodes too.

Not meant are pods with init containers, since what these had is used again, machines on which sets
of NUMA nodes are many, and pods of many different containers.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Final, TypeAlias

from numalet.core.cluster.facts import ClassFacts, StateFacts
from numalet.core.config.rules import Scope, TopologyPolicy
from numalet.core.managers.cpu import demand as cpu_demand
from numalet.core.managers.memory import demand as memory_demand
from numalet.core.managers.memory.ledger import NodeMemory
from numalet.core.managers.memory.reasons import NotAnInteger
from numalet.core.model.pod import ContainerKind, Pod
from numalet.core.model.value import Value

_MOST_NUMA_NODES: Final = 4
"""All sets of so many NUMA nodes are few."""
_MOST_CHOICES: Final = 64

_Amounts: TypeAlias = tuple[int, ...]
"""CPUs, then bytes of each memory type."""


class OneNodeEach(Value):
    """What such a pod asks for.

    ``choices`` has what each choice of its containers asks for in all, equal ones once; ``aligned``
    those of them that a NUMA node has to have: the whole pod alone in pod scope. ``memory`` has the
    names of the memory types.
    """

    choices: tuple[_Amounts, ...]
    aligned: tuple[_Amounts, ...]
    memory: tuple[str, ...]

    def key(self, facts: StateFacts) -> object:
        """The part of a state's key that is about CPUs and memory."""
        cpus, nodes = _free_cpus(facts), facts.memory if self.memory else {}
        free = [
            (
                cpus.get(node_id, 0),
                *[_free(nodes.get(node_id), name) for name in self.memory],
            )
            for node_id in sorted({*cpus, *nodes})
        ]
        attributes = [
            (node.assignments > 0, node.group, *[each.allocatable for each in node.tables.values()])
            for node in nodes.values()
        ]
        most = [max(each) for each in zip(*free, strict=True)][1:]
        whole = [max(each) for each in zip(*self.choices, strict=True)][1:]
        if all(map(int.__ge__, most, whole)):
            return (tuple([_fitting(each, self.aligned) for each in free]), tuple(attributes))
        return (tuple(self._apart(free)), tuple(attributes))

    def _apart(self, free: Sequence[_Amounts]) -> Iterator[int]:
        """How many choices fit on each set of NUMA nodes, by each kind of amount alone."""
        for at, amounts in enumerate(zip(*free, strict=True)):
            steps = sorted({asked[at] for asked in self.choices})
            for size in range(1, len(amounts) + 1):
                for each in combinations(amounts, size):
                    yield bisect_right(steps, sum(each))


def _free(node: NodeMemory | None, name: str) -> int:
    return 0 if node is None or name not in node.tables else node.tables[name].free


def _fitting(free: _Amounts, choices: Sequence[_Amounts]) -> int:
    """Which choices fit, as bits."""
    bits = 0
    for at, asked in enumerate(choices):
        if all(map(int.__ge__, free, asked)):
            bits |= 1 << at
    return bits


def of(pod: Pod, node_class: ClassFacts) -> OneNodeEach | None:
    """What the pod asks for, as managers count it; None if it is not so or not known to be so."""
    rules = node_class.roster.rules
    if (
        rules.topology.policy is not TopologyPolicy.SINGLE_NUMA_NODE
        or len(rules.machine.node_ids) > _MOST_NUMA_NODES
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
    if len(choices) > _MOST_CHOICES:
        return None
    return OneNodeEach(choices, (_sum(amounts),) if is_whole else choices, tuple(names))


def _free_cpus(facts: StateFacts) -> dict[int, int]:
    static = facts.node_class.static_cpus
    if static is None:
        return {}
    return dict(zip(static.topology.node_ids, facts.free_cpus, strict=True))


def _choices(amounts: Sequence[_Amounts]) -> list[_Amounts]:
    """What each choice of containers asks for in all; too many if they differ too much."""
    sums: set[_Amounts] = set()
    for each in amounts:
        sums |= {each, *(_sum([each, there]) for there in sums)}
        if len(sums) > _MOST_CHOICES:
            break
    return sorted(sums)


def _sum(amounts: Sequence[_Amounts]) -> _Amounts:
    return tuple(map(sum, zip(*amounts, strict=True)))
