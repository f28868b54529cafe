"""Verdicts of thousands of nodes on one shape of pod, with one decision per distinct state.

A repeated call returns the verdicts of unchanged nodes (the same objects) and decides the changed
ones only if their key is new. A table caches a pure function: it changes no answer.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from numalet.core.admission.decision import Decision
from numalet.core.admission.reasons import Rejection
from numalet.core.cluster import asking, keys, shapes
from numalet.core.cluster.asking import Asking
from numalet.core.cluster.cluster import ClusterNode
from numalet.core.cluster.facts import ClassFacts, FactReader, StateFacts
from numalet.core.cluster.keys import StateKey
from numalet.core.cluster.shapes import ShapeKey
from numalet.core.model.pod import Pod
from numalet.core.model.value import Value
from numalet.core.node.node import Node

MOST_SHAPES: Final = 64
"""Maximum number of cached shapes; the least recently used ones are dropped."""
_MOST_KEYS: Final = 100_000


class NodeVerdict(Value):
    """The predicted admission of a pod of a shape on a node now.

    The figures in ``rejection`` may be those of another node: nodes with equal keys refuse for the
    same reason, but with different numbers.
    """

    rejection: Rejection | None
    key: StateKey

    @property
    def admitted(self) -> bool:
        return self.rejection is None


@dataclass(eq=False)
class VerdictTable:
    pod: Pod
    """The shape."""
    reader: NodeReader
    admissions: int = 0
    """Number of admissions that filled the table."""
    copies: dict[StateKey, int] = field(default_factory=dict)
    """Number of copies that fit a node, by its whole key, as far as computed."""
    _askings: dict[ClassFacts, Asking] = field(default_factory=dict)
    _by_key: dict[StateKey, NodeVerdict] = field(default_factory=dict)
    _by_state: dict[object, NodeVerdict] = field(default_factory=dict)
    _by_name: dict[str, tuple[Node, NodeVerdict]] = field(default_factory=dict)

    def decide(self, nodes: Iterable[ClusterNode]) -> dict[str, NodeVerdict]:
        known, verdicts = self._by_name, {}
        for each in nodes:
            name, node = each.name, each.node
            before = known.get(name)
            # A node is a value: the identical object has the same verdict.
            if before is not None and before[0] is node:
                verdicts[name] = before[1]
                continue
            verdict = self.verdict(self.reader.facts(name, node))
            known[name] = (node, verdict)
            verdicts[name] = verdict
        # Some slack, so that callers with different subsets of the nodes do not rebuild the table
        # at every call.
        if len(known) > 2 * len(verdicts) + 1000:
            # Drop deleted nodes.
            self._by_name = {name: known[name] for name in verdicts}
        return verdicts

    def remember_copies(self, key: StateKey, count: int) -> None:
        """Cache the number of copies that fit a node with this whole key."""
        if len(self.copies) >= _MOST_KEYS:
            self.copies.clear()
        self.copies[key] = count

    def asking(self, node_class: ClassFacts) -> Asking:
        there = self._askings.get(node_class)
        if there is None:
            there = self._askings[node_class] = asking.of(self.pod, node_class)
        return there

    def verdict(self, facts: StateFacts) -> NodeVerdict:
        asking = self.asking(facts.node_class)
        if not asking.sees_only_the_state:
            return self._of_key(facts, keys.of(facts, asking))
        # Equal numbers first, which is cheap; then equal keys, which more nodes share.
        verdict = self._by_state.get(facts.state)
        if verdict is None:
            if len(self._by_state) >= _MOST_KEYS:
                self._by_state.clear()
            verdict = self._of_key(facts, keys.of(facts, asking))
            self._by_state[facts.state] = verdict
        return verdict

    def _of_key(self, facts: StateFacts, key: StateKey) -> NodeVerdict:
        verdict = self._by_key.get(key)
        if verdict is None:
            if len(self._by_key) >= _MOST_KEYS:
                self._by_key.clear()
            self.admissions += 1
            rejection = try_out(facts.node, self.pod).rejection
            verdict = self._by_key[key] = NodeVerdict(rejection, key)
        return verdict


@dataclass(eq=False)
class NodeReader:
    """The facts of each node of a cluster, computed again only when the node has changed."""

    reader: FactReader = field(default_factory=FactReader)
    _by_name: dict[str, StateFacts] = field(default_factory=dict)

    def facts(self, name: str, node: Node) -> StateFacts:
        known = self._by_name.get(name)
        if known is None or known.node is not node:
            known = self._by_name[name] = self.reader.facts(node)
        return known

    def has(self, name: str, node: Node) -> bool:
        known = self._by_name.get(name)
        return known is not None and known.node is node

    def keep_only(self, names: Mapping[str, object]) -> None:
        if len(self._by_name) > 2 * len(names) + 1000:
            self._by_name = {n: each for n, each in self._by_name.items() if n in names}


@dataclass(eq=False)
class Verdicts:
    """The tables of the most recent shapes, with shared facts."""

    reader: NodeReader = field(default_factory=NodeReader)
    most_shapes: int = MOST_SHAPES
    _tables: OrderedDict[ShapeKey, VerdictTable] = field(default_factory=OrderedDict)

    def table(self, pod: Pod) -> VerdictTable:
        key = shapes.shape_key(pod)
        table = self._tables.get(key)
        if table is None:
            table = self._tables[key] = VerdictTable(shapes.shape_of(pod), self.reader)
            # Tables are large: each holds one verdict per node and per key.
            while len(self._tables) > self.most_shapes:
                self._tables.popitem(last=False)
        self._tables.move_to_end(key)
        return table

    def decide(self, nodes: Mapping[str, ClusterNode], pod: Pod) -> dict[str, NodeVerdict]:
        """Return the verdict of every node on a new pod of this shape, by the node's name."""
        self.reader.keep_only(nodes)
        return self.table(pod).decide(nodes.values())


def try_out(node: Node, pod: Pod) -> Decision:
    """Return the decision on the pod if it arrived now, without calling device plugins.

    ``node.at(decision.after)`` is the node with the pod, in the same class.
    """
    _, decision = node.without_plugins().admit(pod)
    return decision
