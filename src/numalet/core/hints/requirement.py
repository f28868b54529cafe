"""Conditions for an offered set of NUMA nodes, as numbers instead of a list of sets.

A *part* is a resource that a set touches if they have a node in common: the free bytes of a node, a
node's CPUs, a device attached to two nodes. Its *weight* is its amount. A *requirement* demands a
total weight of the parts that a set touches. Weights are never negative, so a set that meets a
requirement still meets it with more nodes.
"""

from __future__ import annotations

from collections.abc import Mapping

from numalet.core.model.numa_mask import NumaMask
from numalet.core.model.value import Value

Parts = tuple[tuple[NumaMask, int], ...]
"""The nodes of each part, and its weight."""


class Requirement(Value):
    """The touched parts weigh at least ``need``, and at most ``most`` if given."""

    need: int
    parts: Parts
    most: int | None = None

    def reached_by(self, mask: NumaMask) -> int:
        return sum([weight for part, weight in self.parts if part & mask])

    def is_met_by(self, mask: NumaMask) -> bool:
        reached = self.reached_by(mask)
        return reached >= self.need and (self.most is None or reached <= self.most)


class OpenSets(Value):
    """The sets inside ``universe`` that hold the ``mandatory`` nodes and meet all requirements.

    The requirements have no ``most``, so the family is upward-closed: an offered set stays offered
    when it gains nodes of the universe.
    """

    universe: NumaMask
    mandatory: NumaMask
    requirements: tuple[Requirement, ...]

    def offers(self, mask: NumaMask) -> bool:
        """Return whether the family has this set; it never has the empty set."""
        if not mask or mask & ~self.universe or self.mandatory & ~mask:
            return False
        return all(requirement.is_met_by(mask) for requirement in self.requirements)

    def is_empty(self) -> bool:
        """Return whether the family, which is upward-closed, lacks even the universe."""
        return not self.offers(self.universe)


def by_node(need: int, weights: Mapping[int, int]) -> Requirement:
    """Make a requirement with one part per node; ``weights`` are by node id."""
    parts = [(1 << node_id, weight) for node_id, weight in weights.items() if weight]
    return Requirement(need, tuple(parts))
