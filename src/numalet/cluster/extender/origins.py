"""The origins of node states, and changes to a better or worse one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from numalet.core.cluster.cluster import ClusterNode, Origin, UndecidedNode
from numalet.core.model.value import Value

UNDECIDED: Final = "undecided"


class OriginChange(Value):
    """A node with another origin; ``is_better``: from the node itself."""

    name: str
    before: str
    now: str
    why: str

    @property
    def is_better(self) -> bool:
        return self.now == Origin.PUBLISHED.value


class NodeOrigins:
    """Counts nodes by origin, updated by single changes."""

    def __init__(self) -> None:
        self._by_name: dict[str, str] = {}
        self._counts: Counter[str] = Counter(
            dict.fromkeys((Origin.PUBLISHED.value, Origin.REBUILT.value, UNDECIDED), 0)
        )

    @property
    def counts(self) -> Mapping[str, int]:
        return self._counts

    def put(self, name: str, node: ClusterNode | UndecidedNode | None) -> OriginChange | None:
        """Count the current node; return the change if its origin differs from a known one."""
        before = self._by_name.pop(name, None)
        if before is not None:
            self._counts[before] -= 1
        if node is None:
            return None
        now = self._by_name[name] = _origin(node)
        self._counts[now] += 1
        if before is None or before == now:
            return None
        return OriginChange(name, before, now, _why(node))


def _origin(node: ClusterNode | UndecidedNode) -> str:
    return node.origin.value if isinstance(node, ClusterNode) else UNDECIDED


def _why(node: ClusterNode | UndecidedNode) -> str:
    if isinstance(node, UndecidedNode):
        return str(node.why)
    return "; ".join(map(str, node.notes))
