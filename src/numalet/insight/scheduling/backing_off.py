"""Nodes that are left alone for a shape of pods, because their kubelet refused one after our yes.

Such a refusal says that the node is not as it is known here. As long as nothing changes that the
shape can see of it, the next pod of the shape would be refused too, and its controller would make
another one at once. So the node gets no pod of the shape for a while: 10 s after the first refusal,
twice as long after each further one, up to 10 minutes. Any change that the shape can see ends that:
then another question is asked, and the answer may be right. The rejection itself makes the node
another object and changes nothing, so that states are compared and not objects (``keys.seen``).

Values; time is an argument, by any steady clock.
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
"""So long after its end a back-off is remembered: the next one is twice as long."""
MOST: Final = 10_000
"""So many are remembered, those that end last."""

_Place = tuple[ShapeKey, str]
"""A shape and the name of a node."""


class BackOff(Value):
    """A node that gets no pod of a shape until this moment, unless its state is another one."""

    seen: StateKey
    seconds: float
    until_seconds: float

    def holds(self, seen: StateKey, now_seconds: float) -> bool:
        """Whether it keeps pods away from the node in this state."""
        return now_seconds < self.until_seconds and seen == self.seen


class BackOffs(Value):
    """All back-offs, by shape and name of the node."""

    by_shape: Mapping[ShapeKey, Mapping[str, BackOff]] = MappingProxyType({})

    def __len__(self) -> int:
        return sum(map(len, self.by_shape.values()))

    def of_shape(self, shape: ShapeKey) -> Mapping[str, BackOff]:
        """The back-offs of one shape, by the name of the node; some of them may be over."""
        return self.by_shape.get(shape, _NONE) if self.by_shape else _NONE

    def holds(self, node_name: str, shape: ShapeKey, seen: StateKey, now_seconds: float) -> bool:
        """Whether the node gets no pod of the shape now; ``seen`` is its state as it is."""
        known = self.of_shape(shape).get(node_name)
        return known is not None and known.holds(seen, now_seconds)

    def refused(
        self, node_name: str, shape: ShapeKey, seen: StateKey, now_seconds: float
    ) -> BackOffs:
        """The back-offs after the kubelet of this node, in this state, refused a pod."""
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
    """The back-offs of these places, without those that end first where there are too many."""
    ends = sorted(every.items(), key=lambda each: each[1].until_seconds)
    by_shape: dict[ShapeKey, dict[str, BackOff]] = {}
    for (shape, name), each in ends[-MOST:]:
        by_shape.setdefault(shape, {})[name] = each
    return BackOffs(by_shape)
