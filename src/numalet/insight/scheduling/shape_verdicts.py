"""The verdicts of expected nodes on shapes of pods, each worked out when it is asked for first.

A table of a shape follows ``ExpectedNodes.changes``: what it has of a changed node is dropped, so
that an answer about nodes that did not change costs one access for each of them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from numalet.core.cluster import shapes
from numalet.core.cluster.keys import StateKey
from numalet.core.cluster.shapes import ShapeKey
from numalet.core.cluster.verdicts import NodeReader, NodeVerdict, VerdictTable
from numalet.core.model.pod import Pod
from numalet.insight.fleet.footprint import Footprints
from numalet.insight.fleet.preference import Rank
from numalet.insight.scheduling.expected_nodes import ExpectedNodes

MOST_SHAPES: Final = 256
"""So many shapes are remembered, those asked about last."""
_NODES_IN_A_TURN: Final = 32


@dataclass(eq=False)
class ShapeVerdicts:
    """What is known of one shape. ``by_name`` is only to be read by others."""

    table: VerdictTable
    by_name: dict[str, NodeVerdict] = field(default_factory=dict)
    texts: dict[StateKey, str] = field(default_factory=dict)
    """Of refusals, see ``reasons``."""
    ranks: dict[str, Rank | None] = field(default_factory=dict)
    """Of nodes by name; None of one that does not admit the pod. Filled by ``scoring``."""
    curable: dict[str, bool] = field(default_factory=dict)
    """Of nodes that refuse, by name: whether evictions could help, see ``evictions``."""
    emptied: dict[StateKey, bool] = field(default_factory=dict)
    """Whether a node admits the shape of which so much is left, see ``evictions``."""
    known_changes: int = 0

    @cached_property
    def footprints(self) -> Footprints:
        """What a pod of the shape would take of a node."""
        return Footprints(self.table)

    @property
    def reader(self) -> NodeReader:
        """The facts of the nodes."""
        return self.table.reader


class ShapeMemory:
    """The tables of the shapes that were asked about last, over the same nodes."""

    def __init__(self, nodes: ExpectedNodes, most_shapes: int = MOST_SHAPES) -> None:
        self._nodes = nodes
        self._reader = NodeReader()
        self._most_shapes = most_shapes
        self._by_shape: OrderedDict[ShapeKey, ShapeVerdicts] = OrderedDict()

    def __len__(self) -> int:
        """How many shapes are remembered."""
        return len(self._by_shape)

    def of(self, pod: Pod) -> ShapeVerdicts:
        """What is known of the pod's shape, without the nodes that changed since."""
        key = shapes.shape_key(pod)
        known = self._by_shape.get(key)
        if known is None:
            known = self._by_shape[key] = ShapeVerdicts(
                VerdictTable(shapes.shape_of(pod), self._reader)
            )
            while len(self._by_shape) > self._most_shapes:
                self._by_shape.popitem(last=False)
        self._by_shape.move_to_end(key)
        self._follow(known)
        return known

    def decide(
        self, of: ShapeVerdicts, names: Iterable[str], may_go_on: Callable[[], bool]
    ) -> tuple[str, ...]:
        """Decide on the nodes of these names; those that were not reached are the answer.

        ``may_go_on`` is asked every few decisions.
        """
        nodes, by_name = self._nodes.nodes, of.by_name
        missing = [name for name in names if name not in by_name and name in nodes]
        for at, name in enumerate(missing):
            if at % _NODES_IN_A_TURN == 0 and not may_go_on():
                return tuple(missing[at:])
            by_name[name] = of.table.verdict(of.reader.facts(name, nodes[name].node))
        return ()

    @property
    def names(self) -> Iterable[str]:
        """The names of all nodes on which can be decided."""
        return tuple(self._nodes.nodes)

    def prepare(self, may_go_on: Callable[[], bool]) -> bool:
        """Read the facts of nodes that are new or changed; whether nothing is left.

        Without it they are read when the next pod is asked about.
        """
        self._reader.keep_only(self._nodes.nodes)
        every = self._nodes.nodes.items()
        unread = [
            (name, each.node) for name, each in every if not self._reader.has(name, each.node)
        ]
        for at, (name, node) in enumerate(unread):
            if at % _NODES_IN_A_TURN == 0 and not may_go_on():
                return False
            _ = self._reader.facts(name, node).state
        return True

    def _follow(self, known: ShapeVerdicts) -> None:
        changes, forgotten = self._nodes.changes, self._nodes.forgotten
        if known.known_changes < forgotten:
            known.by_name.clear()
            known.ranks.clear()
            known.curable.clear()
        else:
            for name in changes[known.known_changes - forgotten :]:
                known.by_name.pop(name, None)
                known.ranks.pop(name, None)
                known.curable.pop(name, None)
        known.known_changes = forgotten + len(changes)
