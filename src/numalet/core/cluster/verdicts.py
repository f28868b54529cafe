"""Verdicts of thousands of nodes on one shape of pod, each distinct state decided once.

    first time      the facts of every node are read, and one pod is admitted for each key
    asked again     every node is the object that it was: its verdict is at hand
    after a change  the nodes that are other objects now are read and, if their key is new, decided

A table is a memo of a pure function. It changes no answer, only the time that one takes.
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
"""So many shapes are remembered, those asked about last."""
_MOST_KEYS: Final = 100_000


class NodeVerdict(Value):
    """What the kubelet of a node would say to a pod of a shape now.

    ``rejection`` is None for an admitted one. Its figures may be those of another node: nodes with
    equal keys are refused for the same reason, not by the same numbers.
    """

    rejection: Rejection | None
    key: StateKey

    @property
    def admitted(self) -> bool:
        """Whether the pod may run."""
        return self.rejection is None


@dataclass(eq=False)
class VerdictTable:
    """The verdicts on one shape."""

    pod: Pod
    """The shape."""
    reader: NodeReader
    admissions: int = 0
    """How many pods were admitted to fill the table."""
    copies: dict[StateKey, int] = field(default_factory=dict)
    """How many copies a node takes, by its whole key, as far as that was worked out."""
    _askings: dict[ClassFacts, Asking] = field(default_factory=dict)
    _by_key: dict[StateKey, NodeVerdict] = field(default_factory=dict)
    _by_state: dict[object, NodeVerdict] = field(default_factory=dict)
    _by_name: dict[str, tuple[Node, NodeVerdict]] = field(default_factory=dict)

    def decide(self, nodes: Iterable[ClusterNode]) -> dict[str, NodeVerdict]:
        """The verdict of each of these nodes, by its name."""
        known, verdicts = self._by_name, {}
        for each in nodes:
            name, node = each.name, each.node
            before = known.get(name)
            if before is not None and before[0] is node:
                verdicts[name] = before[1]
                continue
            verdict = self.verdict(self.reader.facts(name, node))
            known[name] = (node, verdict)
            verdicts[name] = verdict
        if len(known) > 2 * len(verdicts) + 1000:
            # Nodes that are gone.
            self._by_name = {name: known[name] for name in verdicts}
        return verdicts

    def remember_copies(self, key: StateKey, count: int) -> None:
        """Keep how many copies a node with this whole key takes."""
        if len(self.copies) >= _MOST_KEYS:
            self.copies.clear()
        self.copies[key] = count

    def asking(self, node_class: ClassFacts) -> Asking:
        """What the shape asks of nodes of this class."""
        there = self._askings.get(node_class)
        if there is None:
            there = self._askings[node_class] = asking.of(self.pod, node_class)
        return there

    def verdict(self, facts: StateFacts) -> NodeVerdict:
        """The verdict of the node with these facts."""
        asking = self.asking(facts.node_class)
        if not asking.sees_only_the_state:
            return self._of_key(facts, keys.of(facts, asking))
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
    """The facts of each node of a cluster, read again only when the node has changed."""

    reader: FactReader = field(default_factory=FactReader)
    _by_name: dict[str, StateFacts] = field(default_factory=dict)

    def facts(self, name: str, node: Node) -> StateFacts:
        """The facts of the node of this name."""
        known = self._by_name.get(name)
        if known is None or known.node is not node:
            known = self._by_name[name] = self.reader.facts(node)
        return known

    def has(self, name: str, node: Node) -> bool:
        """Whether the facts of this very node were read."""
        known = self._by_name.get(name)
        return known is not None and known.node is node

    def keep_only(self, names: Mapping[str, object]) -> None:
        """Forget the nodes that are gone."""
        if len(self._by_name) > 2 * len(names) + 1000:
            self._by_name = {n: each for n, each in self._by_name.items() if n in names}


@dataclass(eq=False)
class Verdicts:
    """The tables of the shapes that were asked about last, over the facts that they share."""

    reader: NodeReader = field(default_factory=NodeReader)
    most_shapes: int = MOST_SHAPES
    _tables: OrderedDict[ShapeKey, VerdictTable] = field(default_factory=OrderedDict)

    def table(self, pod: Pod) -> VerdictTable:
        """The table of the pod's shape."""
        key = shapes.shape_key(pod)
        table = self._tables.get(key)
        if table is None:
            table = self._tables[key] = VerdictTable(shapes.shape_of(pod), self.reader)
            while len(self._tables) > self.most_shapes:
                self._tables.popitem(last=False)
        self._tables.move_to_end(key)
        return table

    def decide(self, nodes: Mapping[str, ClusterNode], pod: Pod) -> dict[str, NodeVerdict]:
        """The verdict of every node on a new pod of this shape, by the node's name."""
        self.reader.keep_only(nodes)
        return self.table(pod).decide(nodes.values())


def try_out(node: Node, pod: Pod) -> Decision:
    """The decision on the pod as if it came now; no device plugin is asked.

    ``node.at(decision.after)`` is the node with it, and of the class that it was.
    """
    _, decision = node.without_plugins().admit(pod)
    return decision
