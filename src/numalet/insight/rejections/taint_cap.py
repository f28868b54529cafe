"""The cap on tainted nodes: a share of each pool, and never the last of its kind.

Nodes are *of one kind* if other taints keep the same pods away from them. Of each kind in a pool
one node without the taint remains that is ready and not cordoned.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from numalet.core.cluster.cluster import Taint, TaintEffect
from numalet.core.cluster.objects import ListedNode
from numalet.core.model.value import Mutable
from numalet.insight.fleet.keeping_away import TAINT_KEY
from numalet.insight.rejections.rules import BreakerRules

NodeKind: TypeAlias = tuple[str, frozenset[Taint]]
"""The pool, and the other taints that keep pods away."""
_ROUNDING: Final = 1e-9


class TaintRoom(Mutable):
    """The rest of the cap. Mutable, for one plan.

    ``slots`` is by pool, and negative if there are too many; ``usable`` are the schedulable nodes
    of each kind.
    """

    slots: dict[str, int]
    usable: dict[NodeKind, set[str]]
    kinds: Mapping[str, NodeKind]

    def may_have(self, node: str) -> bool:
        kind = self.kinds.get(node)
        if kind is None:
            return False
        usable = self.usable[kind]
        return self.slots[kind[0]] > 0 and node in usable and len(usable) > 1

    def may_all_have(self, nodes: Iterable[str]) -> bool:
        trial = TaintRoom(
            dict(self.slots), {kind: set(names) for kind, names in self.usable.items()}, self.kinds
        )
        for each in sorted(nodes):
            if not trial.may_have(each):
                return False
            trial.give(each)
        return True

    def is_too_much_on(self, node: str, is_usable: bool) -> bool:
        """Return whether this tainted node exceeds the cap.

        The pool has shrunk, or others have closed the rest of it. ``is_usable``: the node is
        schedulable without the taint.
        """
        kind = self.kinds[node]
        return self.slots[kind[0]] < 0 or (is_usable and not self.usable[kind])

    def give(self, node: str) -> None:
        kind = self.kinds[node]
        self.slots[kind[0]] -= 1
        self.usable[kind].discard(node)

    def give_back(self, node: str, is_usable: bool) -> None:
        """Stop counting the taint on this node; ``is_usable``: it is schedulable without it."""
        kind = self.kinds[node]
        self.slots[kind[0]] += 1
        if is_usable:
            self.usable[kind].add(node)


def room(
    nodes: Mapping[str, ListedNode], on_their_way: Iterable[str], rules: BreakerRules
) -> TaintRoom:
    """Return the rest of the cap. ``on_their_way`` are nodes with a taint not visible yet."""
    planned = frozenset(on_their_way)
    kinds = {name: kind_of(each, rules) for name, each in nodes.items()}
    counts: dict[str, int] = {}
    used: dict[str, int] = {}
    usable: dict[NodeKind, set[str]] = {kind: set() for kind in kinds.values()}
    for name, each in nodes.items():
        pool = kinds[name][0]
        counts[pool] = counts.get(pool, 0) + 1
        # Taints of ``numalet fleet`` are included: they keep the same pods away.
        if name in planned or is_kept_away(each):
            used[pool] = used.get(pool, 0) + 1
        elif is_open_to_pods(each):
            usable[kinds[name]].add(name)
    slots = {pool: most(count, rules) - used.get(pool, 0) for pool, count in counts.items()}
    return TaintRoom(slots, usable, kinds)


def most(nodes: int, rules: BreakerRules) -> int:
    # Without the tolerance, 0.29 of 100 nodes would be 28.999... and round down to 28.
    return max(0, min(nodes - 1, math.floor(nodes * rules.taint_share + _ROUNDING)))


def kind_of(node: ListedNode, rules: BreakerRules) -> NodeKind:
    """Return the pool of a node, and the other taints that keep pods away from it."""
    taints = frozenset(
        each
        for each in node.taints
        if each.key != TAINT_KEY and each.effect is not TaintEffect.PREFER_NO_SCHEDULE
    )
    return node.labels.get(rules.pool_label, ""), taints


def is_kept_away(node: ListedNode) -> bool:
    """Return whether the node has a taint of the breaker or of ``numalet fleet``."""
    return any(
        each.key == TAINT_KEY and each.effect is not TaintEffect.PREFER_NO_SCHEDULE
        for each in node.taints
    )


def is_open_to_pods(node: ListedNode) -> bool:
    """Return whether the node is schedulable apart from taints."""
    return node.is_ready and not node.is_cordoned
