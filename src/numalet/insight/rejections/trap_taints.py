"""Plan which nodes get the taint, keep it for longer, or lose it.

A node is a trap for a shape if it rejected pods of it several times. A taint ends with its time,
and earlier if the node would admit the shape now, or if no pod of the shape waits any more. It is
renewed while pods wait and the engine refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from numalet.core.cluster.objects import ListedNode
from numalet.core.model.value import Value, replace
from numalet.insight.rejections import patches, taint_cap
from numalet.insight.rejections.actions import LiftCause, LiftTaint, TaintNode
from numalet.insight.rejections.counting import Storm, StormKey
from numalet.insight.rejections.patches import EndMark
from numalet.insight.rejections.rules import BreakerRules
from numalet.insight.rejections.shape_questions import ShapeQuestions
from numalet.insight.rejections.taint_cap import TaintRoom

TrapKey: TypeAlias = tuple[str, str]
"""A node and the digest of a shape."""

FIRST_PAUSE_SECONDS: Final = 10.0
LONGEST_PAUSE_SECONDS: Final = 600.0
_FREE_LIFTS: Final = 3
"""Number of times that a taint is removed as soon as there is room; later, after a pause."""
_MOST_DOUBLINGS: Final = 20


class TrapMemory(Value, kw_only=True):
    """Times are seconds since 1970.

    ``times`` is how often the node got the taint for this shape. Since the last plan of it,
    ``was_seen``: the node had it; ``was_refused``: the engine refused the shape there.
    ``lifted_at_seconds`` is not set while the taint is planned to stay.
    """

    times: int
    tainted_at_seconds: float
    until_seconds: float
    was_seen: bool = False
    was_refused: bool = False
    lifted_at_seconds: float | None = None

    def taint_seconds(self, rules: BreakerRules) -> float:
        # Twice as long each time: a node that is a trap again and again needs fewer writes, and a
        # node that was one once is soon free.
        return min(_doubled(rules.taint_seconds, self.times), rules.longest_taint_seconds)

    def may_be_lifted(self, now_seconds: float) -> bool:
        """Return whether room that the engine sees now ends the taint."""
        # The engine's admission means something only if it refused the shape before.
        if self.was_refused and self.times <= _FREE_LIFTS:
            return True
        pause = min(_doubled(FIRST_PAUSE_SECONDS, self.times), LONGEST_PAUSE_SECONDS)
        return now_seconds >= self.tainted_at_seconds + pause

    def is_awaited(self, now_seconds: float, rules: BreakerRules) -> bool:
        """Return whether the taint was planned recently and may still appear."""
        age = now_seconds - self.tainted_at_seconds
        # If it was seen and is missing, others removed it.
        is_to_come = self.lifted_at_seconds is None and not self.was_seen
        return is_to_come and 0 <= age < rules.retry_seconds


def newly_tainted(times: int, now_seconds: float, rules: BreakerRules) -> TrapMemory:
    """Return the history of a node that gets the taint now, for the ``times``-th time."""
    made = TrapMemory(times=times, tainted_at_seconds=now_seconds, until_seconds=now_seconds)
    return replace(made, until_seconds=now_seconds + made.taint_seconds(rules))


def kept(
    before: Mapping[TrapKey, TrapMemory],
    marked: Mapping[str, EndMark],
    now_seconds: float,
    rules: BreakerRules,
) -> dict[TrapKey, TrapMemory]:
    """Drop histories that are too old, and add those of marked nodes without one."""
    traps: dict[TrapKey, TrapMemory] = {}
    for key, each in before.items():
        end = each.until_seconds if each.lifted_at_seconds is None else each.lifted_at_seconds
        if now_seconds - rules.longest_taint_seconds < end:
            traps[key] = each
    for node, mark in marked.items():
        known = before.get((node, mark.shape))
        # The breaker was restarted: the mark alone says that the node had the taint.
        if known is None:
            since = min(now_seconds, mark.until_seconds - rules.taint_seconds)
            known = TrapMemory(times=1, tainted_at_seconds=since, until_seconds=mark.until_seconds)
        traps[node, mark.shape] = replace(known, until_seconds=mark.until_seconds, was_seen=True)
    return traps


def _doubled(seconds: float, times: int) -> float:
    return seconds * 2.0 ** min(times - 1, _MOST_DOUBLINGS)


_CLOCKS_DIFFER_SECONDS: Final = 60.0


class TaintInputs(Value, kw_only=True):
    """Input of the plan. ``waiting`` are digests of shapes that wait.

    ``waiting_since`` are shapes that may make traps, and since when they wait. ``is_issued``
    returns whether an action with this verb was just planned for a node.
    """

    nodes: Mapping[str, ListedNode]
    storms: Mapping[StormKey, Storm]
    waiting: frozenset[str]
    waiting_since: Mapping[str, float]
    questions: ShapeQuestions
    is_issued: Callable[[str, str], bool]
    now_seconds: float
    rules: BreakerRules


class TaintPlan(Value, kw_only=True):
    """``without_taint`` are, of each storm, traps without a taint because of the cap."""

    traps: Mapping[TrapKey, TrapMemory]
    actions: tuple[LiftTaint | TaintNode, ...]
    without_taint: Mapping[StormKey, frozenset[str]] = MappingProxyType({})
    moments: tuple[float, ...] = ()
    """When something may be due."""


def plan(before: Mapping[TrapKey, TrapMemory], given: TaintInputs) -> TaintPlan:
    made = _Planner(before, given)
    actions: list[LiftTaint | TaintNode] = [*made.lifted()]
    actions += [*made.renewed(), *made.tainted(), *made.tainted_for_waiting()]
    return TaintPlan(
        traps=made.traps,
        actions=tuple(actions),
        without_taint=made.without_taint,
        moments=tuple(made.moments()),
    )


class _Planner:
    """One plan. Each step is called once, in their order."""

    def __init__(self, before: Mapping[TrapKey, TrapMemory], given: TaintInputs) -> None:
        self.given = given
        self.without_taint: dict[StormKey, frozenset[str]] = {}
        self._now, self._rules = given.now_seconds, given.rules
        self._marked: dict[str, EndMark] = {}
        for name, node in sorted(given.nodes.items()):
            mark = patches.on_node(node.taints)
            if mark is not None:
                self._marked[name] = mark
        self.traps = kept(before, self._marked, self._now, self._rules)
        self._awaited: dict[str, float] = {}
        """Nodes with a taint that may still appear, and when it is planned again."""
        for (name, _), memory in self.traps.items():
            if name not in self._marked and memory.is_awaited(self._now, self._rules):
                # A storm is quick, so a taint that does not appear is planned again after seconds:
                # the request may have failed, or others overwrote it.
                again = memory.tainted_at_seconds + self._rules.taint_retry_seconds
                self._awaited[name] = max(again, self._awaited.get(name, again))

    def lifted(self) -> Iterator[LiftTaint]:
        """Yield taints that end now. A taint being removed may still be visible."""
        # A separate room: until a node is seen without the taint, no other one gets it instead.
        room = self._room()
        for name, mark in self._marked.items():
            key = (name, mark.shape)
            is_on_its_way = self.given.is_issued(LiftTaint.verb, name)
            if self.given.questions.is_admitted_on(name, mark.shape) is False:
                self.traps[key] = replace(self.traps[key], was_refused=True)
            cause = None if is_on_its_way else self._why_lifted(name, mark, room)
            if cause is None and not is_on_its_way:
                continue
            room.give_back(name, taint_cap.is_open_to_pods(self.given.nodes[name]))
            if cause is not None:
                self.traps[key] = replace(self.traps[key], lifted_at_seconds=self._now)
                yield LiftTaint(node=name, why=cause.value)

    def _why_lifted(self, name: str, mark: EndMark, room: TaintRoom) -> LiftCause | None:
        now, rules, memory = self._now, self._rules, self.traps[name, mark.shape]
        if mark.until_seconds <= now:
            return LiftCause.EXPIRED
        # No breaker writes an end that far away, so the mark is damaged or the clock was wrong.
        # Without this rule the taint would stay for years.
        if mark.until_seconds > now + rules.longest_taint_seconds + _CLOCKS_DIFFER_SECONDS:
            return LiftCause.FAR
        # If the engine never refused the shape here, its admission proves nothing: the node has
        # rejected pods that the engine admits. Then a pause has to pass first.
        if memory.may_be_lifted(now) and self.given.questions.is_admitted_on(name, mark.shape):
            return LiftCause.ROOM
        if room.is_too_much_on(name, taint_cap.is_open_to_pods(self.given.nodes[name])):
            return LiftCause.CAP
        is_new = now < memory.tainted_at_seconds + rules.window_seconds
        return None if is_new or self._is_wanted(mark.shape) else LiftCause.CALM

    def _is_wanted(self, shape: str) -> bool:
        """Return whether pods of the shape wait, or were rejected recently."""
        return shape in self.given.waiting or any(
            each.recent for (_, digest), each in self.given.storms.items() if digest == shape
        )

    def renewed(self) -> Iterator[TaintNode]:
        """Yield renewals of taints that would end soon while pods of the shape wait."""
        for name, mark in self._marked.items():
            memory = self.traps[name, mark.shape]
            lasts_seconds = memory.taint_seconds(self._rules)
            if (
                memory.lifted_at_seconds is None
                # At half of its time, so that a failed renewal can be repeated before the taint
                # ends.
                and mark.until_seconds - self._now <= lasts_seconds / 2
                and mark.shape in self.given.waiting
                and self.given.questions.is_admitted_on(name, mark.shape) is False
                and not self.given.is_issued(TaintNode.verb, name)
            ):
                yield TaintNode(
                    node=name,
                    shape=mark.shape,
                    until_seconds=self._now + lasts_seconds,
                    why="pods of the shape wait, and the node would still reject them",
                    is_renewal=True,
                )

    def tainted(self) -> Iterator[TaintNode]:
        """Yield new taints, of each storm for the nodes with the most rejections first."""
        room = self._room()
        lifted_at: dict[str, float] = {}
        for (node, _), memory in self.traps.items():
            if memory.lifted_at_seconds is not None:
                lifted_at[node] = max(memory.lifted_at_seconds, lifted_at.get(node, 0.0))
        for key, storm in self.given.storms.items():
            if not self.given.questions.heeds_taint(key[1]):
                continue
            # Rejections from before the last taint of a node are settled.
            counts = storm.by_node(lifted_at)
            candidates = [
                name
                for name, count in sorted(counts.items(), key=lambda each: (-each[1], each[0]))
                if self._is_candidate(name, count, storm)
            ]
            missing = self._left_out(candidates, storm, room) if candidates else frozenset()
            for name in candidates:
                if not missing and (name in self._awaited or room.may_have(name)):
                    owner = str(key[0])
                    why = f"rejected {counts[name]} of the pods of {owner} within "
                    why += f"{self._rules.window_seconds:.0f} s"
                    yield self._tainting(name, key[1], why, room, owner)
                elif not missing:
                    self.without_taint[key] = self.without_taint.get(key, frozenset()) | {name}
            if missing:
                self.without_taint[key] = missing

    def _is_candidate(self, name: str, count: int, storm: Storm) -> bool:
        there, shape = self.given.nodes.get(name), storm.key[1]
        if there is None or taint_cap.is_kept_away(there) or not taint_cap.is_open_to_pods(there):
            return False
        if self._is_new(name):
            return False
        # A node that was a trap before needs no new proof; each end of a taint would otherwise cost
        # as many rejections as the first.
        if (name, shape) in self.traps:
            return True
        if not storm.is_over_budget:
            return False
        is_refused = self.given.questions.is_admitted_on(name, shape) is False
        # One rejection suffices if the engine refuses the shape there too.
        return count >= (1 if is_refused else self._rules.node_budget)

    def _left_out(self, candidates: list[str], storm: Storm, room: TaintRoom) -> frozenset[str]:
        """Return all traps of the shape if the taint would be useless; else an empty set."""
        # If some node would admit the shape, the scheduler finds it as soon as fewer traps are in
        # its way.
        traps, has_hope = self.given.questions.open_traps(storm.key[1])
        every = (traps | frozenset(candidates)) - self._awaited.keys()
        # With only some of the traps tainted, the storm moves to the others.
        return frozenset() if has_hope or room.may_all_have(every) else every

    def tainted_for_waiting(self) -> Iterator[TaintNode]:
        """Yield taints for all traps of a shape that waits too long, if the cap covers all."""
        room = self._room()
        for shape, since_seconds in sorted(self.given.waiting_since.items()):
            heeds = self.given.questions.heeds_taint(shape)
            if not (heeds and self._is_overdue(since_seconds)):
                continue
            # All or no nodes: an autoscaler adds a node only if the sums of no other one suffice.
            names = self.given.questions.hiding(shape)
            if any(map(self._is_new, names)):
                continue
            if not room.may_all_have(names - self._awaited.keys()):
                continue
            for name in sorted(names):
                waited = f"{self._now - since_seconds:.0f} s"
                why = f"pods wait for {waited}, and every node that promises room rejects them"
                yield self._tainting(name, shape, why, room)

    def _is_overdue(self, since_seconds: float) -> bool:
        limit = self._rules.waiting_seconds
        return limit is not None and self._now >= since_seconds + limit

    def _tainting(
        self, name: str, shape: str, why: str, room: TaintRoom, owner: str = ""
    ) -> TaintNode:
        """Return a new taint; an expected one is in the cap already, and planned again."""
        known = self.traps.get((name, shape))
        is_planned_again = name in self._awaited
        times = 1 if known is None else known.times + (not is_planned_again)
        if not is_planned_again:
            room.give(name)
        memory = newly_tainted(times, self._now, self._rules)
        self.traps[name, shape] = memory
        self._awaited[name] = self._now + self._rules.taint_retry_seconds
        until = memory.until_seconds
        return TaintNode(node=name, shape=shape, owner=owner, until_seconds=until, why=why)

    def _is_new(self, name: str) -> bool:
        """Return whether the taint was planned too recently to plan it again."""
        return self._now < self._awaited.get(name, self._now)

    def _room(self) -> TaintRoom:
        return taint_cap.room(self.given.nodes, self._awaited, self._rules)

    def moments(self) -> Iterator[float]:
        """Yield the times when something may be due without any change."""
        for name, mark in self._marked.items():
            memory = self.traps[name, mark.shape]
            half = memory.taint_seconds(self._rules) / 2
            yield mark.until_seconds
            yield mark.until_seconds - half
            yield memory.tainted_at_seconds + self._rules.window_seconds
            yield self._now + FIRST_PAUSE_SECONDS
        yield from self._awaited.values()
        if self._rules.waiting_seconds is not None:
            for since_seconds in self.given.waiting_since.values():
                yield since_seconds + self._rules.waiting_seconds
