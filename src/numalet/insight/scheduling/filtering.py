"""The filter of a scheduler's extender: which nodes admit a pod, and why the others do not.

A node is in *back-off* for a shape after its kubelet rejected such a pod, because the rejection
shows that numalet's knowledge of the node is wrong. A back-off takes 10 s, doubles up to
10 minutes, and ends early if the node changes for the shape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from numalet.core.cluster import keys, shapes
from numalet.core.cluster.cluster import ClusterNode, ClusterPod
from numalet.core.cluster.keys import StateKey
from numalet.core.cluster.shapes import ShapeKey
from numalet.core.cluster.verdicts import NodeVerdict
from numalet.core.model.pod import Pod
from numalet.core.model.value import Value, field
from numalet.insight.scheduling import evictions, expected_nodes, reasons
from numalet.insight.scheduling.expected_nodes import ExpectedNodes, ShapeMemory, ShapeVerdicts

_FIRST_SECONDS: Final = 10.0
_MOST_SECONDS: Final = 600.0
REMEMBERED_SECONDS: Final = 600.0
"""A back-off is remembered for this long after its end, so that the next one is twice as long."""
MOST: Final = 10_000
"""Above this number, the back-offs that end first are dropped."""

_Place = tuple[ShapeKey, str]
"""A shape and the name of a node."""


class BackOff(Value):
    """A node gets no pod of a shape until this time, unless its state changes."""

    seen: StateKey
    seconds: float
    until_seconds: float

    def holds(self, seen: StateKey, now_seconds: float) -> bool:
        # States, not objects (``keys.seen``): the rejected pod itself makes the node another
        # object.
        return now_seconds < self.until_seconds and seen == self.seen


class BackOffs(Value):
    by_shape: Mapping[ShapeKey, Mapping[str, BackOff]] = MappingProxyType({})

    def __len__(self) -> int:
        return sum(map(len, self.by_shape.values()))

    def of_shape(self, shape: ShapeKey) -> Mapping[str, BackOff]:
        """Return the back-offs of one shape by node name, including those that ended."""
        return self.by_shape.get(shape, _NONE) if self.by_shape else _NONE

    def holds(self, node_name: str, shape: ShapeKey, seen: StateKey, now_seconds: float) -> bool:
        known = self.of_shape(shape).get(node_name)
        return known is not None and known.holds(seen, now_seconds)

    def refused(
        self, node_name: str, shape: ShapeKey, seen: StateKey, now_seconds: float
    ) -> BackOffs:
        """Return the back-offs after the kubelet of this node, in this state, rejected a pod."""
        before = self.of_shape(shape).get(node_name)
        seconds = _FIRST_SECONDS
        if before is not None and before.seen == seen and not _is_forgotten(before, now_seconds):
            # Only a repeated rejection in the same state doubles it: after a change of the node the
            # prediction may be right again.
            seconds = min(2 * before.seconds, _MOST_SECONDS)
        new = BackOff(seen, seconds, now_seconds + seconds)
        kept = {
            (of_shape, name): each
            for of_shape, listed in self.by_shape.items()
            for name, each in listed.items()
            if not _is_forgotten(each, now_seconds)
        }
        return _of({**kept, (shape, node_name): new})


_NONE: Final[Mapping[str, BackOff]] = MappingProxyType({})


def _is_forgotten(each: BackOff, now_seconds: float) -> bool:
    return each.until_seconds + REMEMBERED_SECONDS <= now_seconds


def _of(every: dict[_Place, BackOff]) -> BackOffs:
    ends = sorted(every.items(), key=lambda each: each[1].until_seconds)
    by_shape: dict[ShapeKey, dict[str, BackOff]] = {}
    for (shape, name), each in ends[-MOST:]:
        by_shape.setdefault(shape, {})[name] = each
    return BackOffs(by_shape)


NOT_EXAMINED: Final = "numalet: not examined in time"
NOT_KNOWN: Final = "numalet: nothing is known of this node"
LEFT_ALONE: Final = "numalet: its kubelet recently rejected an identical pod"
_MOST_TEXTS: Final = 100_000
_NODES_IN_A_TURN: Final = 8


class FilterRules(Value, kw_only=True):
    """Answers for nodes without a decision.

    ``passes_unknown``: nodes with insufficient data pass. ``passes_unexamined``: nodes pass for
    which there was not enough time.
    """

    passes_unknown: bool = True
    passes_unexamined: bool = False


class Filtered(Value, kw_only=True):
    """The nodes that may have the pod, and a reason for each other node.

    ``unresolvable`` are failed nodes on which no eviction could help: see ``evictions``; nodes with
    insufficient data; and nodes in a back-off.
    """

    passed: Sequence[str]
    failed: Mapping[str, str] = field(default_factory=dict)
    unresolvable: Mapping[str, str] = field(default_factory=dict)
    unexamined: int = 0
    unknown: int = 0


class NodeFilter:
    """Answers one pod after the other and caches its decisions. For one thread."""

    def __init__(self, nodes: ExpectedNodes, rules: FilterRules = FilterRules()) -> None:
        self.nodes = nodes
        self.rules = rules
        self.memory = ShapeMemory(nodes)
        self.back_offs = BackOffs()

    def filtered(
        self,
        pod: ClusterPod,
        names: Sequence[str],
        may_go_on: Callable[[], bool] = lambda: True,
        now_seconds: float = 0.0,
    ) -> Filtered:
        """Return which of these nodes admit the pod: all of them if no kubelet can refuse it.

        ``may_go_on`` returns whether there is still time; it is called every few decisions.
        ``now_seconds`` is by the clock of the back-offs.
        """
        if not expected_nodes.needs_decision(pod.pod):
            return Filtered(passed=names)
        of = self.memory.of(pod.pod)
        # Late and unknown nodes have different answers, so they are kept apart.
        late = frozenset(self.memory.decide(of, names, may_go_on))
        left_alone = self.left_alone(of, pod.pod, now_seconds)
        passed: list[str] = []
        failed: dict[str, str] = {}
        unresolvable: dict[str, str] = {}
        unknown = 0
        refused: list[str] = []
        for name in names:
            verdict = of.by_name.get(name)
            if verdict is None:
                is_late = name in late
                unknown += not is_late
                if self.rules.passes_unexamined if is_late else self.rules.passes_unknown:
                    passed.append(name)
                elif is_late:
                    failed[name] = NOT_EXAMINED
                else:
                    failed[name] = unresolvable[name] = NOT_KNOWN
            # The engine admits the pod, but the node's kubelet rejected an equal one: evictions do
            # not change that.
            elif verdict.rejection is None and name in left_alone:
                failed[name] = unresolvable[name] = LEFT_ALONE
            elif verdict.rejection is None:
                passed.append(name)
            else:
                failed[name] = self._text(of, name, verdict)
                refused.append(name)
        for name in self._incurable(of, refused, may_go_on):
            unresolvable[name] = failed[name]
        return Filtered(
            passed=passed,
            failed=failed,
            unresolvable=unresolvable,
            unexamined=len(late),
            unknown=unknown,
        )

    def decide_ahead(self, pod: ClusterPod, may_go_on: Callable[[], bool]) -> bool:
        """Cache the decisions of ``filtered`` on all nodes; return whether all were made.

        ``may_go_on`` is called every few decisions.
        """
        if not expected_nodes.needs_decision(pod.pod):
            return True
        of = self.memory.of(pod.pod)
        if self.memory.decide(of, self.memory.names, may_go_on):
            return False
        refusals = [
            (name, verdict)
            for name, verdict in of.by_name.items()
            if verdict.rejection is not None and name not in of.curable
        ]
        for at, (name, verdict) in enumerate(refusals):
            if at % _NODES_IN_A_TURN == 0 and not may_go_on():
                return False
            self._text(of, name, verdict)
            facts = of.reader.facts(name, self.nodes.nodes[name].node)
            of.curable[name] = evictions.could_help(of, facts)
        return True

    def _text(self, of: ShapeVerdicts, name: str, verdict: NodeVerdict) -> str:
        """Return the reason of a refusal, computed once for nodes that are alike to the shape."""
        known = of.texts.get(verdict.key)
        if known is None:
            if len(of.texts) >= _MOST_TEXTS:
                of.texts.clear()
            assert verdict.rejection is not None
            facts = of.reader.facts(name, self.nodes.nodes[name].node)
            counted = of.table.asking(facts.node_class).pod
            known = of.texts[verdict.key] = reasons.text(facts, counted, verdict.rejection)
        return known

    def _incurable(
        self, of: ShapeVerdicts, refused: Iterable[str], may_go_on: Callable[[], bool]
    ) -> Iterator[str]:
        """Yield those of these refusing nodes on which no eviction could help."""
        asked = 0
        for name in refused:
            is_curable = of.curable.get(name)
            if is_curable is None:
                if asked % _NODES_IN_A_TURN == 0 and not may_go_on():
                    # The rest stays resolvable: the scheduler calls preempt before it evicts there.
                    return
                asked += 1
                facts = of.reader.facts(name, self.nodes.nodes[name].node)
                is_curable = of.curable[name] = evictions.could_help(of, facts)
            if not is_curable:
                yield name

    def reason(self, pod: Pod, on: ClusterNode) -> str:
        """Return why this node does not admit the pod, apart from back-offs; empty if it does."""
        of = self.memory.of(pod)
        # Without the cache by name: the node may be a hypothetical one.
        facts = of.reader.reader.facts(on.node)
        verdict = of.table.verdict(facts)
        if verdict.rejection is None:
            return ""
        return reasons.text(facts, of.table.asking(facts.node_class).pod, verdict.rejection)

    def is_left_alone(self, pod: Pod, node_name: str, now_seconds: float) -> bool:
        return node_name in self.left_alone(self.memory.of(pod), pod, now_seconds)

    def was_refused(self, pod: Pod, node_name: str, now_seconds: float) -> float:
        """Begin a back-off for a pod that its kubelet rejected now; return its length in seconds.

        Call this after the rejected pod was removed from the node. 0 for an undecided node.
        """
        of, base = self.memory.of(pod), self.nodes.base(node_name)
        if base is None:
            return 0.0
        shape = shapes.shape_key(pod)
        self.back_offs = self.back_offs.refused(node_name, shape, self._seen(of, base), now_seconds)
        return self.back_offs.of_shape(shape)[node_name].seconds

    def left_alone(self, of: ShapeVerdicts, pod: Pod, now_seconds: float) -> frozenset[str]:
        if not self.back_offs:
            return frozenset()
        known = self.back_offs.of_shape(shapes.shape_key(pod))
        bases = {name: self.nodes.base(name) for name in known}
        return frozenset(
            name
            for name, base in bases.items()
            if base is not None and known[name].holds(self._seen(of, base), now_seconds)
        )

    def _seen(self, of: ShapeVerdicts, base: ClusterNode) -> StateKey:
        facts = of.reader.reader.facts(base.node)
        return keys.seen(facts, of.table.asking(facts.node_class))
