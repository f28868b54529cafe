"""What a set of NUMA nodes must have to be offered, as numbers instead of as a list of sets.

*Part*: something that a set touches if they have a node in common: the free bytes of a node, a
node's CPUs, a device that is attached to two nodes. *Weight*: how much it counts.
*Requirement*: the parts that a set touches must weigh ``need`` together.

With one part per node the weights simply add up; devices of several nodes make parts of several
nodes. Weights are not negative, so what meets a requirement still meets it with more nodes.
"""

from __future__ import annotations

from collections.abc import Mapping

from numalet.core.model.numa_mask import NumaMask
from numalet.core.model.value import Value

Parts = tuple[tuple[NumaMask, int], ...]
"""Nodes of a part and its weight."""


class Requirement(Value):
    """The parts touched weigh at least ``need``, and at most ``most`` if that is given."""

    need: int
    parts: Parts
    most: int | None = None

    def reached_by(self, mask: NumaMask) -> int:
        """What the parts weigh that this set touches."""
        return sum([weight for part, weight in self.parts if part & mask])

    def is_met_by(self, mask: NumaMask) -> bool:
        """Whether this set has enough, and not too much."""
        reached = self.reached_by(mask)
        return reached >= self.need and (self.most is None or reached <= self.most)


class OpenSets(Value):
    """The sets inside ``universe`` that hold the ``mandatory`` nodes and meet all requirements.

    No requirement has a ``most``, so the family is upward-closed: a set that is offered stays
    offered when nodes of the universe are added.
    """

    universe: NumaMask
    mandatory: NumaMask
    requirements: tuple[Requirement, ...]

    def offers(self, mask: NumaMask) -> bool:
        """Whether the set is one of them; the empty set never is."""
        if not mask or mask & ~self.universe or self.mandatory & ~mask:
            return False
        return all(requirement.is_met_by(mask) for requirement in self.requirements)

    def is_empty(self) -> bool:
        """Whether no set is offered; the largest one would be, if any is."""
        return not self.offers(self.universe)


def by_node(need: int, weights: Mapping[int, int]) -> Requirement:
    """A requirement with one part per node; ``weights`` are by node id."""
    parts = [(1 << node_id, weight) for node_id, weight in weights.items() if weight]
    return Requirement(need, tuple(parts))
