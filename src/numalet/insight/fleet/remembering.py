"""Cached values of the nodes of a cluster, kept while a node is the same object.

A followed cluster becomes a new value after every change, with the same objects for all but a few
nodes. The changed ones are determined once for all caches.
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
    """New and replaced items, and the keys of deleted ones."""

    changed: Mapping[str, T]
    gone: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.changed or self.gone)


def difference(before: Mapping[str, T], now: Mapping[str, T]) -> Difference[T]:
    """Compare two mappings by the identity of their values."""
    changed = {key: item for key, item in now.items() if before.get(key) is not item}
    return Difference(changed, tuple([key for key in before if key not in now]))


class NodeDifferences:
    def __init__(self) -> None:
        self._between: tuple[Nodes, Nodes] = (_NONE, _NONE)
        self._last: Difference[ClusterNode] = Difference({}, ())

    def between(self, before: Nodes, now: Nodes) -> Difference[ClusterNode]:
        if self._between[0] is not before or self._between[1] is not now:
            self._between, self._last = (before, now), difference(before, now)
        return self._last


class NodeMemo(Generic[T]):
    """A cached value of every node of a cluster. For one thread."""

    def __init__(self, differences: NodeDifferences) -> None:
        self._differences = differences
        self._nodes = _NONE
        self._values: dict[str, T] = {}

    def of(
        self, nodes: Nodes, make: Callable[[Iterable[ClusterNode]], Mapping[str, T]]
    ) -> dict[str, T]:
        """Return the values by node name; ``make`` is called only for changed nodes.

        Returns the same mapping until a node is replaced; mappings never change afterwards.
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
