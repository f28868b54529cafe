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
safe in the published state. No such pod is rejected, and none waits for a publication.

The laws hold while pods only come. A pod may end after the kubelet has decided on others of M, and
before it publishes them. Without its allocation the published state then has room that these did
not have, and they are elsewhere than they would be now. So M has to be safe in both states: with
the allocations of pods that have *departed* in this way, and without. What remains is an end
between two decisions: it leaves more room than either state, and the pods in between may be placed
where a later one needs it.

n pods have n! orders. Pods of one shape are interchangeable, states with equal numbers decide
alike, and both are remembered for all nodes. Where that is still too much, the answer is no, which
costs the caller time but is never wrong.

Labels, ports and priorities are left out. What they decide does not depend on the order, as long as
nothing is evicted; and it is left to those who ask whether the node admits the pod at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from numalet.core.cluster import asking, holding, one_node_each, shapes, verdicts
from numalet.core.cluster.asking import Asking
from numalet.core.cluster.cluster import ClusterNode
from numalet.core.cluster.facts import ClassFacts, FactReader, StateFacts
from numalet.core.cluster.one_node_each import OneNodeEach
from numalet.core.cluster.shapes import ShapeKey
from numalet.core.model.numa_mask import NumaMask
from numalet.core.model.pod import Pod
from numalet.core.model.value import Value, replace

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
        self._asked: dict[tuple[ClassFacts, _Shapes], _Asked] = {}
        self._decided: dict[str, tuple[ClusterNode, StateFacts]] = {}

    def admits(
        self, on: ClusterNode, promised: Sequence[Pod], pod: Pod, departed: Sequence[Pod] = ()
    ) -> bool:
        """Return whether the node admits the pod, those on their way and the promised ones.

        They are admitted in every order if this returns True. ``departed`` ended before those on
        their way were published, and these may have been decided before.
        """
        if not self._admits(on, promised, pod):
            return False
        if not departed:
            return True
        with_them, undecided = holding.with_departed(on, departed)
        return self._admits(with_them, [*undecided, *promised], pod)

    def _admits(self, on: ClusterNode, promised: Sequence[Pod], pod: Pod) -> bool:
        known = on.node.snapshot.pods
        coming = [*holding.on_the_way(on), *[each for each in promised if each.uid not in known]]
        if coming and (on.node.roster.extra or len(coming) >= MOST_PODS):
            return False
        if len(self._after) + len(self._safe) + len(self._asked) > _MOST_REMEMBERED:
            self._forget()
        self._admissions = 0
        every = [*coming, pod]
        # Pods without allocations count in the sums alone. First is where they take the most from
        # the others, and the sums of all are equal in every order.
        light: list[int] = []
        heavy: list[int] = []
        for each in every:
            (heavy if holding.may_hold(on.node, each) else light).append(self._number(each))
        facts: StateFacts | None = self._decided_facts(on)
        try:
            for number in light:
                facts = None if facts is None else self._with(facts, number)
            return facts is not None and self._are_safe(facts, tuple(sorted(heavy)))
        except _TooManyError:
            return False

    def _forget(self) -> None:
        # A number is another shape from now on, so nothing that names one may stay.
        for each in (self._numbers, self._askings, self._asked, self._after, self._safe):
            each.clear()
        self._decided.clear()
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
        asked = self._asked_together(facts.node_class, left)
        sees_numbers = _see_numbers(facts, asked)
        key = (_numbers(facts, asked) if sees_numbers else facts.state, left)
        known = self._safe.get(key)
        if known is None:
            # If one NUMA node has room for all, each finds room there, wherever the others are. It
            # may still be rejected for another reason, but then also as the only one.
            if len(left) > 1 and sees_numbers and _have_one_place(facts, asked):
                known = all(self._are_safe(facts, (each,)) for each in dict.fromkeys(left))
            else:
                known = all(
                    self._is_safe_first(facts, left, left.index(each))
                    for each in dict.fromkeys(left)
                )
            self._safe[key] = known
        return known

    def _is_safe_first(self, facts: StateFacts, left: _Shapes, at: int) -> bool:
        after = self._with(facts, left[at])
        return after is not None and self._are_safe(after, (*left[:at], *left[at + 1 :]))

    def _with(self, facts: StateFacts, number: int) -> StateFacts | None:
        """Return the state after a pod of this shape, if the node admits it."""
        key = (facts.state, number)
        if key not in self._after:
            self._admissions += 1
            if self._admissions > self._most_admissions:
                raise _TooManyError
            # Another uid for each pod, as the node holds several of one shape.
            uid = f"{shapes.ASKING_UID}{len(facts.snapshot.pods)}"
            decision = verdicts.try_out(facts.node, replace(self._pods[number], uid=uid))
            after = self._reader.facts(facts.node.at(decision.after))
            self._after[key] = after if decision.admitted else None
        return self._after[key]

    def _asked_together(self, of: ClassFacts, left: _Shapes) -> _Asked:
        if (of, left) not in self._asked:
            self._asked[of, left] = _together([self._asking(of, number) for number in left])
        return self._asked[of, left]

    def _asking(self, of: ClassFacts, number: int) -> Asking:
        if (of, number) not in self._askings:
            self._askings[of, number] = asking.of(self._pods[number], of)
        return self._askings[of, number]


class _Asked(Value):
    """What some pods ask for together.

    ``by_node`` is None if the pods see more than numbers; ``uncounted`` are resources of whose
    devices they do.
    """

    pods: int
    by_node: OneNodeEach | None
    amounts: Mapping[str, int]
    uncounted: frozenset[str]


def _together(askings: Sequence[Asking]) -> _Asked:
    amounts = Counter[str]()
    for each in askings:
        amounts.update(dict(each.amounts))
    devices = [one for each in askings for one in each.devices]
    return _Asked(
        pods=len(askings),
        by_node=one_node_each.together(
            [None if each.counts_whole_cores else each.one_node_each for each in askings]
        ),
        amounts=amounts,
        uncounted=frozenset(each.resource for each in devices if each.count is None),
    )


def _see_numbers(facts: StateFacts, asked: _Asked) -> bool:
    """Return whether these pods see and change numbers of free CPUs and devices alone."""
    requested, roster = facts.snapshot.requested, facts.node.roster
    return (
        asked.by_node is not None
        and facts.sizes_are_sane
        and not facts.snapshot.assumed
        and requested.pods + asked.pods <= roster.rules.max_pods
        and all(
            amount <= _offered(facts, name) - requested.amounts.get(name, 0)
            for name, amount in asked.amounts.items()
        )
        and all(
            name not in asked.uncounted and all(mask.bit_count() == 1 for mask in free)
            for name, free in _free_devices(facts, asked)
        )
    )


def _offered(facts: StateFacts, name: str) -> int:
    """Return what the predicates offer at least."""
    if name in facts.devices:
        return facts.devices[name].devices.healthy.bit_count()
    return facts.node.roster.offered.get(name, 0)


def _numbers(facts: StateFacts, asked: _Asked) -> object:
    """Return an object that is equal for states that decide alike on all these pods."""
    # Each container has its CPUs and devices from one NUMA node, so numbers of free ones are
    # enough, and orders that differ in the choice of CPUs end in one state. No rule compares a
    # number with more than all ask for, and the sums of the predicates have room for all.
    assert asked.by_node is not None
    devices = [
        (
            name,
            facts.devices[name].devices,
            frozenset((mask, min(count, asked.amounts[name])) for mask, count in free.items()),
        )
        for name, free in _free_devices(facts, asked)
    ]
    return (facts.node_class, asked.by_node.key(facts), tuple(devices))


def _have_one_place(facts: StateFacts, asked: _Asked) -> bool:
    """Return whether one NUMA node has room for all these pods."""
    assert asked.by_node is not None
    devices = [(free, asked.amounts[name]) for name, free in _free_devices(facts, asked)]
    return any(
        all(free.get(1 << node_id, 0) >= amount for free, amount in devices)
        for node_id in asked.by_node.places(facts)
    )


def _free_devices(facts: StateFacts, asked: _Asked) -> list[tuple[str, dict[NumaMask, int]]]:
    """Return the numbers of free devices of these resources, by NUMA nodes."""
    names = [name for name in facts.devices if name in asked.amounts]
    return [(name, facts.devices[name].free_by_mask()) for name in names]
