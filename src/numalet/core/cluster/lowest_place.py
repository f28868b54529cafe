"""Orders of pods that get everything from one NUMA node each, by arithmetic.

Under single-numa-node a container, in pod scope the whole pod, goes to the lowest NUMA node that
has enough of everything. What is left there is a subtraction, so all orders of ten pods cost less
than one admission.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from numalet.core.cluster import holding
from numalet.core.cluster.asking import Asking
from numalet.core.cluster.facts import StateFacts
from numalet.core.config.rules import Scope

MOST_STEPS: Final = 2_000

_Amounts: TypeAlias = tuple[int, ...]
"""CPUs, bytes of memory types and devices, in one order."""
Part: TypeAlias = Mapping[str, int]
"""What one NUMA node has to have: CPUs, bytes by memory type, devices by resource."""


def parts(facts: StateFacts, asking: Asking) -> tuple[Part, ...] | None:
    """Return the parts of a pod, in the order of their placement; None: not by arithmetic."""
    handled = facts.node.snapshot.device.handled
    if (
        asking.one_node_each is None
        or asking.counts_whole_cores
        or any(each.count is None and each.resource in handled for each in asking.devices)
    ):
        return None
    asked = [each for _, each in holding.of_containers(facts.node, asking.pod) if each]
    if facts.node.rules.topology.scope is not Scope.POD or len(asked) < 2:
        return tuple(asked)
    names = {name for each in asked for name in each}
    return ({name: sum(each.get(name, 0) for each in asked) for name in names},)


def free(facts: StateFacts, names: Sequence[str]) -> tuple[_Amounts, ...] | None:
    """Return the free amounts of each NUMA node; None if devices have several NUMA nodes."""
    by_node: dict[int, dict[str, int]] = {}
    static = facts.node_class.static_cpus
    if static is not None:
        for node_id, cpus in zip(static.topology.node_ids, facts.free_cpus, strict=True):
            by_node.setdefault(node_id, {})[holding.CPUS] = cpus
    for node_id, memory in facts.memory.items():
        there = by_node.setdefault(node_id, {})
        # The Memory Manager gives no memory of a node of a group to a single container.
        if memory.group.bit_count() < 2:
            there |= {name: table.free for name, table in memory.tables.items()}
    for name in facts.devices.keys() & names:
        masks = facts.devices[name].free_by_mask()
        if any(mask.bit_count() != 1 for mask in masks):
            return None
        for mask, count in masks.items():
            by_node.setdefault(mask.bit_length() - 1, {})[name] = count
    return tuple(
        tuple(by_node[node_id].get(name, 0) for name in names) for node_id in sorted(by_node)
    )


class Orders:
    """All orders of some pods; each pod is a number, its parts are ``asked[number]``."""

    def __init__(self, asked: Mapping[int, Sequence[_Amounts]]) -> None:
        self._asked = asked
        self._known: dict[tuple[tuple[_Amounts, ...], tuple[int, ...]], bool] = {}
        self.steps = 0

    def fit(self, there: tuple[_Amounts, ...], left: tuple[int, ...]) -> bool:
        """Return whether these pods find places in every order; raise ``TooManyError``."""
        key = (there, left)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._has_one_place(there, left) or all(
                self._fit_first(there, left, left.index(each)) for each in dict.fromkeys(left)
            )
        return known

    def _fit_first(self, there: tuple[_Amounts, ...], left: tuple[int, ...], at: int) -> bool:
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise TooManyError
        after = _placed(there, self._asked[left[at]])
        return after is not None and self.fit(after, (*left[:at], *left[at + 1 :]))

    def _has_one_place(self, there: tuple[_Amounts, ...], left: tuple[int, ...]) -> bool:
        """Return whether one NUMA node has room for all, wherever each of them is."""
        every = [part for number in left for part in self._asked[number]]
        total = [sum(amounts) for amounts in zip(*every, strict=True)]
        return any(all(map(int.__ge__, amounts, total)) for amounts in there)


class TooManyError(Exception):
    """The answer would take too long."""


def _placed(there: tuple[_Amounts, ...], asked: Iterable[_Amounts]) -> tuple[_Amounts, ...] | None:
    """Return what is left after a pod, if there is room for each of its parts."""
    for part in asked:
        for at, amounts in enumerate(there):
            if all(map(int.__ge__, amounts, part)):
                left = tuple(map(int.__sub__, amounts, part))
                there = (*there[:at], left, *there[at + 1 :])
                break
        else:
            return None
    return there
