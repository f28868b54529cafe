"""The verdicts of expected nodes on shapes of pods, each computed on its first use.

An answer costs one lookup for each unchanged node.
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
"""The most recently used shapes."""
_NODES_IN_A_TURN: Final = 32


@dataclass(eq=False)
class ShapeVerdicts:
    """All that is known about one shape. ``by_name`` is read-only for others."""

    table: VerdictTable
    by_name: dict[str, NodeVerdict] = field(default_factory=dict)
    texts: dict[StateKey, str] = field(default_factory=dict)
    """Refusal texts, see ``reasons``."""
    ranks: dict[str, Rank | None] = field(default_factory=dict)
    """By node name; a node that does not admit the pod has no rank. Filled by ``scoring``."""
    curable: dict[str, bool] = field(default_factory=dict)
    """Refusing nodes by name: whether evictions could help, see ``evictions``."""
    emptied: dict[StateKey, bool] = field(default_factory=dict)
    """Whether a node in this state after evictions admits the shape, see ``evictions``."""
    known_changes: int = 0

    @cached_property
    def footprints(self) -> Footprints:
        return Footprints(self.table)

    @property
    def reader(self) -> NodeReader:
        return self.table.reader


class ShapeMemory:
    """The tables of the most recently used shapes, over the same nodes."""

    def __init__(self, nodes: ExpectedNodes, most_shapes: int = MOST_SHAPES) -> None:
        self._nodes = nodes
        self._reader = NodeReader()
        self._most_shapes = most_shapes
        self._by_shape: OrderedDict[ShapeKey, ShapeVerdicts] = OrderedDict()

    def __len__(self) -> int:
        return len(self._by_shape)

    def of(self, pod: Pod) -> ShapeVerdicts:
        """Return the table of the pod's shape, without the nodes that changed since."""
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
        """Decide on the nodes of these names; return the names of those not reached.

        ``may_go_on`` is called every few decisions.
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
        """The names of all nodes with enough data for a decision."""
        return tuple(self._nodes.nodes)

    def prepare(self, may_go_on: Callable[[], bool]) -> bool:
        """Read the facts of new and changed nodes; return whether all were read.

        Facts that are not read here are read for the next pod.
        """
        self._reader.keep_only(self._nodes.nodes)
        every = self._nodes.nodes.items()
        unread = [
            (name, each.node) for name, each in every if not self._reader.has(name, each.node)
        ]
        for at, (name, node) in enumerate(unread):
            if at % _NODES_IN_A_TURN == 0 and not may_go_on():
                return False
            # The state is computed on its first use, so it is used here.
            _ = self._reader.facts(name, node).state
        return True

    def _follow(self, known: ShapeVerdicts) -> None:
        changes, forgotten = self._nodes.changes, self._nodes.forgotten
        # Changes were dropped from the list that this table has not seen.
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
