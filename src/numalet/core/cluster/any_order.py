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

n pods have n! orders. Pods of one shape are interchangeable, and states are remembered for all
nodes. Under single-numa-node arithmetic replaces admissions (``lowest_place``). Where that is still
too much, the answer is no, which costs the caller time but is never wrong.

Labels, ports and priorities are left out. What they decide does not depend on the order, as long as
nothing is evicted; and it is left to those who ask whether the node admits the pod at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from numalet.core.cluster import asking, holding, lowest_place, shapes, verdicts
from numalet.core.cluster.asking import Asking
from numalet.core.cluster.cluster import ClusterNode
from numalet.core.cluster.facts import ClassFacts, FactReader, StateFacts
from numalet.core.cluster.lowest_place import Orders, Part, TooManyError
from numalet.core.cluster.shapes import ShapeKey
from numalet.core.model import resources
from numalet.core.model.numa_mask import NumaMask
from numalet.core.model.pod import Pod
from numalet.core.model.value import replace

MOST_PODS: Final = 10
MOST_ADMISSIONS: Final = 64
"""Limit of admissions for one answer; the remembered ones are free."""
_MOST_REMEMBERED: Final = 20_000

_Shapes = tuple[int, ...]
"""The numbers of shapes, sorted."""


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
        self._parts: dict[tuple[ClassFacts, frozenset[str], int], tuple[Part, ...] | None] = {}
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
        if len(self._after) + len(self._safe) > _MOST_REMEMBERED:
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
        except TooManyError:
            return False

    def _forget(self) -> None:
        # A number is another shape from now on, so nothing that names one may stay.
        for each in (self._numbers, self._askings, self._parts, self._after, self._safe):
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
        known = self._by_arithmetic(facts, left) if len(left) > 1 else None
        if known is not None:
            return known
        state: object = facts.state
        if len(left) == 1 and _sees_numbers(facts, asked := self._asking(facts, left[0])):
            state = _numbers(facts, asked)
        key = (state, left)
        known = self._safe.get(key)
        if known is None:
            known = self._safe[key] = all(
                self._is_safe_first(facts, left, left.index(each)) for each in dict.fromkeys(left)
            )
        return known

    def _by_arithmetic(self, facts: StateFacts, left: _Shapes) -> bool | None:
        """Return whether these pods are safe, if numbers alone decide that."""
        every = [self._parts_of(facts, number) for number in left]
        known = [each for each in every if each is not None]
        if len(known) < len(left):
            return None
        amounts = Counter[str]()
        for number in left:
            amounts.update(dict(self._asking(facts, number).amounts))
        has_room = _has_room(facts, len(left), amounts)
        if not has_room:
            # The sums are equal in every order, so the last pod would be rejected.
            return has_room
        names = tuple(sorted({name for each in known for part in each for name in part}))
        there = lowest_place.free(facts, names)
        if there is None:
            return None
        key = ((facts.node_class, names, there), left)
        if key not in self._safe:
            orders = Orders(
                {
                    number: [tuple(part.get(name, 0) for name in names) for part in each]
                    for number, each in zip(left, known, strict=True)
                }
            )
            self._safe[key] = orders.fit(there, left)
        # A pod may be rejected for another reason, but then also as the only one.
        return self._safe[key] and all(
            self._are_safe(facts, (each,)) for each in dict.fromkeys(left)
        )

    def _is_safe_first(self, facts: StateFacts, left: _Shapes, at: int) -> bool:
        after = self._with(facts, left[at])
        return after is not None and self._are_safe(after, (*left[:at], *left[at + 1 :]))

    def _with(self, facts: StateFacts, number: int) -> StateFacts | None:
        """Return the state after a pod of this shape, if the node admits it."""
        key = (facts.state, number)
        if key not in self._after:
            self._admissions += 1
            if self._admissions > self._most_admissions:
                raise TooManyError
            # Another uid for each pod, as the node holds several of one shape.
            uid = f"{shapes.ASKING_UID}{len(facts.snapshot.pods)}"
            decision = verdicts.try_out(facts.node, replace(self._pods[number], uid=uid))
            after = self._reader.facts(facts.node.at(decision.after))
            self._after[key] = after if decision.admitted else None
        return self._after[key]

    def _parts_of(self, facts: StateFacts, number: int) -> tuple[Part, ...] | None:
        key = (facts.node_class, frozenset(facts.node.snapshot.device.handled), number)
        if key not in self._parts:
            self._parts[key] = lowest_place.parts(facts, self._asking(facts, number))
        return self._parts[key]

    def _asking(self, facts: StateFacts, number: int) -> Asking:
        key = (facts.node_class, number)
        if key not in self._askings:
            self._askings[key] = asking.of(self._pods[number], facts.node_class)
        return self._askings[key]


def _has_room(facts: StateFacts, pods: int, asked: Mapping[str, int]) -> bool | None:
    """Return whether the sums of the predicates have room for all; None: not known."""
    requested, rules = facts.snapshot.requested, facts.node.roster.rules
    if not facts.sizes_are_sane or facts.snapshot.assumed:
        return None
    offered = facts.node.roster.offered
    devices = {name: each.free.bit_count() for name, each in facts.devices.items()}
    # Other resources are ignored, or not compared.
    if not asked.keys() <= {*offered, *devices} or resources.EPHEMERAL_STORAGE in asked:
        return None
    room = {name: offered[name] - requested.amounts.get(name, 0) for name in offered} | devices
    is_enough = requested.pods + pods <= rules.max_pods and all(
        amount <= room[name] for name, amount in asked.items()
    )
    return is_enough or (False if rules.behaviour.predicates_are_asked else None)


def _sees_numbers(facts: StateFacts, asked: Asking) -> bool:
    """Return whether a pod sees and changes numbers of free CPUs and devices alone."""
    uncounted = {each.resource for each in asked.devices if each.count is None}
    return (
        asked.one_node_each is not None
        and not asked.counts_whole_cores
        and _has_room(facts, 1, dict(asked.amounts)) is True
        and all(
            name not in uncounted and all(mask.bit_count() == 1 for mask in free)
            for name, free, _ in _free_devices(facts, asked)
        )
    )


def _numbers(facts: StateFacts, asked: Asking) -> object:
    """Return an object that is equal for states that decide alike on this pod."""
    # Each container has its CPUs and devices from one NUMA node, so numbers of free ones are
    # enough. No rule compares a number with more than the pod asks for, and the sums of the
    # predicates have room for it.
    assert asked.one_node_each is not None
    devices = [
        (
            name,
            facts.devices[name].devices,
            frozenset((mask, min(count, amount)) for mask, count in free.items()),
        )
        for name, free, amount in _free_devices(facts, asked)
    ]
    return (facts.node_class, asked.one_node_each.key(facts), tuple(devices))


def _free_devices(facts: StateFacts, asked: Asking) -> list[tuple[str, dict[NumaMask, int], int]]:
    """Return the free devices of these resources, by NUMA nodes, and the request."""
    amounts = dict(asked.amounts)
    return [
        (name, each.free_by_mask(), amounts[name])
        for name, each in facts.devices.items()
        if name in amounts
    ]
