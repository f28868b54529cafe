"""Back-offs: a node gets no pod of a shape for a while after its kubelet rejected one.

Such a rejection shows that numalet's knowledge of the node is wrong. A back-off takes 10 s, doubles
up to 10 minutes, and ends early if the node changes for the shape.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from numalet.core.cluster.keys import StateKey
from numalet.core.cluster.shapes import ShapeKey
from numalet.core.model.value import Value

FIRST_SECONDS: Final = 10.0
MOST_SECONDS: Final = 600.0
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
        seconds = FIRST_SECONDS
        if before is not None and before.seen == seen and not _is_forgotten(before, now_seconds):
            seconds = min(2 * before.seconds, MOST_SECONDS)
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
