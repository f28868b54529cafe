"""Whether a node admits pods in whatever order its kubelet decides on them.

A scheduler binds pods in parallel, and a kubelet decides on them in the order in which its watch
brings them. This is rarely the order in which they were reserved. The order changes the places:
pods of 20 and of 12 CPUs that fit two NUMA nodes of 32 in one order may be rejected in another. The
order is unknown until the node has published its decisions.

*Pods M are safe on a node in state S if, for each of their shapes x, S admits x, and M without x is
safe in the state after x.* By induction, safe pods are admitted in every order. Two laws follow:

- Each part of safe pods is safe: an order of the part begins an order of the whole.
- After the kubelet has decided on some of them, the others are safe in its new state.

So a pod may be sent at once if it and all pods that were sent there and are not published yet are
safe in the published state. No such pod is rejected, and none waits for a publication. The laws
hold while pods only come: a pod that ends meanwhile may change the places.

n pods have n! orders. Pods of one shape are interchangeable, states with equal numbers decide
alike, and both are remembered for all nodes. Where that is still too much, the answer is no, which
costs the caller time but is never wrong.

Labels, ports and priorities are left out. What they decide does not depend on the order, as long as
nothing is evicted; and it is left to those who ask whether the node admits the pod at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from numalet.core.cluster import asking, holding, shapes, verdicts
from numalet.core.cluster.asking import Asking
from numalet.core.cluster.cluster import ClusterNode
from numalet.core.cluster.facts import ClassFacts, FactReader, StateFacts
from numalet.core.cluster.shapes import ShapeKey
from numalet.core.model.pod import Pod
from numalet.core.model.value import replace

MOST_PODS: Final = 10
MOST_ADMISSIONS: Final = 64
"""Limit of admissions for one answer; the remembered ones are free."""
_MOST_REMEMBERED: Final = 20_000

_Shapes = tuple[int, ...]
"""The numbers of shapes, sorted."""


class _TooManyError(Exception):
    """The answer would take too long."""


class AnyOrder:
    """Answers for the nodes of a cluster, and remembers admissions. For one thread."""

    def __init__(self, reader: FactReader, most_admissions: int = MOST_ADMISSIONS) -> None:
        self._reader = reader
        self._most_admissions = most_admissions
        self._admissions = 0
        self._numbers: dict[ShapeKey, int] = {}
        self._pods: list[Pod] = []
        self._after: dict[tuple[object, int], StateFacts | None] = {}
        self._safe: dict[tuple[object, _Shapes], bool] = {}
        self._askings: dict[tuple[ClassFacts, int], Asking] = {}
        self._decided: dict[str, tuple[ClusterNode, StateFacts]] = {}

    def admits(self, on: ClusterNode, promised: Sequence[Pod], pod: Pod) -> bool:
        """Return whether the node admits the pod, those on their way and the promised ones.

        They are admitted in every order if this returns True.
        """
        known = on.node.snapshot.pods
        coming = [*holding.on_the_way(on), *[each for each in promised if each.uid not in known]]
        if coming and (on.node.roster.extra or len(coming) >= MOST_PODS):
            return False
        if len(self._after) + len(self._safe) > _MOST_REMEMBERED:
            self._forget()
        self._admissions = 0
        every = [*coming, pod]
        # Pods without allocations count in the sums alone. First is where they take the most from
        # the others, and the sums of all are equal in every order.
        light = [self._number(each) for each in every if not holding.may_hold(on.node, each)]
        heavy = tuple(
            sorted([self._number(each) for each in every if holding.may_hold(on.node, each)])
        )
        facts: StateFacts | None = self._decided_facts(on)
        try:
            for each in light:
                facts = None if facts is None else self._with(facts, facts.state, each)
            return facts is not None and self._are_safe(facts, heavy)
        except _TooManyError:
            return False

    def _forget(self) -> None:
        for each in (self._numbers, self._after, self._safe, self._askings, self._decided):
            each.clear()
        self._pods.clear()

    def _decided_facts(self, on: ClusterNode) -> StateFacts:
        known = self._decided.get(on.name)
        if known is None or known[0] is not on:
            known = self._decided[on.name] = (on, self._reader.facts(holding.decided(on)))
        return known[1]

    def _number(self, pod: Pod) -> int:
        bare = replace(
            shapes.shape_of(pod), constraints=None, labels={}, priority=None, is_static=False
        )
        number = self._numbers.setdefault(shapes.shape_key(bare), len(self._pods))
        if number == len(self._pods):
            self._pods.append(bare)
        return number

    def _are_safe(self, facts: StateFacts, left: _Shapes) -> bool:
        key = self._key(facts, left)
        known = self._safe.get((key, left))
        if known is None:
            known = self._safe[key, left] = all(
                self._is_safe_first(facts, key, left, left.index(each))
                for each in dict.fromkeys(left)
            )
        return known

    def _is_safe_first(self, facts: StateFacts, key: object, left: _Shapes, at: int) -> bool:
        after = self._with(facts, key, left[at])
        return after is not None and self._are_safe(after, (*left[:at], *left[at + 1 :]))

    def _with(self, facts: StateFacts, key: object, number: int) -> StateFacts | None:
        """Return the state after a pod of this shape, if the node admits it."""
        if (key, number) not in self._after:
            self._admissions += 1
            if self._admissions > self._most_admissions:
                raise _TooManyError
            # Another uid for each pod, as the node holds several of one shape.
            uid = f"{shapes.ASKING_UID}{len(facts.snapshot.pods)}"
            decision = verdicts.try_out(facts.node, replace(self._pods[number], uid=uid))
            after = self._reader.facts(facts.node.at(decision.after))
            self._after[key, number] = after if decision.admitted else None
        return self._after[key, number]

    def _key(self, facts: StateFacts, left: _Shapes) -> object:
        """Return an object that is equal for states that decide alike on all these shapes."""
        of = facts.node_class
        askings = [self._asking(of, number) for number in left]
        names = {each.resource for asking in askings for each in asking.devices}
        devices = [(name, each) for name, each in facts.devices.items() if name in names]
        masks = [each.free_by_mask() for _, each in devices]
        if not all(_sees_numbers(each, facts) for each in askings) or any(
            mask.bit_count() != 1 for free in masks for mask in free
        ):
            return facts.state
        # Each container has its CPUs and devices from one NUMA node, so numbers of free ones are
        # enough, and orders that differ in the choice of CPUs end in one state.
        requested = facts.snapshot.requested
        return (
            of,
            facts.free_cpus,
            facts.all_memory,
            tuple([(name, each.devices, each.in_use_count) for name, each in devices]),
            tuple([frozenset(free.items()) for free in masks]),
            requested.pods,
            frozenset(requested.amounts.items()),
            bool(facts.snapshot.assumed),
        )

    def _asking(self, of: ClassFacts, number: int) -> Asking:
        key = (of, number)
        if key not in self._askings:
            self._askings[key] = asking.of(self._pods[number], of)
        return self._askings[key]


def _sees_numbers(of: Asking, facts: StateFacts) -> bool:
    """Return whether this shape sees and changes numbers of free CPUs and devices alone."""
    is_odd = of.one_node_each is None or of.counts_whole_cores
    devices = [each for each in of.devices if each.resource in facts.devices]
    return not is_odd and all(each.count is not None for each in devices)
