"""What is worked out of each node of a cluster, kept for as long as the node is the same object.

A cluster that is followed is another value after every change, in which all nodes but a few are
the objects that they were. Which these few are is found out once for all who ask about it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Final, Generic, TypeAlias, TypeVar

from numalet.core.cluster.cluster import ClusterNode
from numalet.core.model.value import Value

T = TypeVar("T")

Nodes: TypeAlias = Mapping[str, ClusterNode]
_NONE: Final[Nodes] = MappingProxyType({})


class Difference(Value, Generic[T]):
    """Items that are new or other objects than before, and the keys of those that are gone."""

    changed: Mapping[str, T]
    gone: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.changed or self.gone)


def difference(before: Mapping[str, T], now: Mapping[str, T]) -> Difference[T]:
    """What is different now; objects that are equal and not the same count as different."""
    changed = {key: item for key, item in now.items() if before.get(key) is not item}
    return Difference(changed, tuple([key for key in before if key not in now]))


class NodeDifferences:
    """The difference between two clusters, found once however often it is asked for in a row."""

    def __init__(self) -> None:
        self._between: tuple[Nodes, Nodes] = (_NONE, _NONE)
        self._last: Difference[ClusterNode] = Difference({}, ())

    def between(self, before: Nodes, now: Nodes) -> Difference[ClusterNode]:
        """What is different now."""
        if self._between[0] is not before or self._between[1] is not now:
            self._between, self._last = (before, now), difference(before, now)
        return self._last


class NodeMemo(Generic[T]):
    """A value of every node of a cluster. Safe for one thread."""

    def __init__(self, differences: NodeDifferences) -> None:
        self._differences = differences
        self._nodes = _NONE
        self._values: dict[str, T] = {}

    def of(
        self, nodes: Nodes, make: Callable[[Iterable[ClusterNode]], Mapping[str, T]]
    ) -> dict[str, T]:
        """The value of each of these nodes, by name; ``make`` is asked about changed ones alone.

        The mapping is the same until a node is another object, and is never changed afterwards.
        """
        if nodes is not self._nodes:
            different = self._differences.between(self._nodes, nodes)
            if different:
                values = dict(self._values)
                for name in different.gone:
                    del values[name]
                values.update(make(different.changed.values()))
                self._values = values
            self._nodes = nodes
        return self._values
