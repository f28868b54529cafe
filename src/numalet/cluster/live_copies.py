"""Copies of what an API server has, by kind and key, for a cluster that is kept current."""

from __future__ import annotations

from collections import Counter
from typing import Any

from numalet.cluster.object_kinds import OBJECT_KINDS
from numalet.core.cluster.cluster import ClusterPod
from numalet.core.model.value import Mutable, Value, field


class UnreadObject(Value):
    """In the place of an object that can not be read; a pod is on a node all the same."""

    node_name: str = ""


class LiveCopies(Mutable):
    """What the API server has, as far as it is known, by kind and key."""

    of_kind: dict[str, dict[str, Any]] = field(
        default_factory=lambda: {each.name: {} for each in OBJECT_KINDS}
    )
    bound: dict[str, dict[str, ClusterPod]] = field(default_factory=dict)
    """Pods by node and uid."""
    holders: dict[str, set[str]] = field(default_factory=dict)
    """Nodes whose state names a pod, by uid."""
    unread: dict[tuple[str, str], UnreadObject] = field(default_factory=dict)
    """By kind and key."""
    unread_on: Counter[str] = field(default_factory=Counter)
    """How many pods of a node can not be read."""

    def keys(self, kind: str) -> list[str]:
        """The keys of all objects of a kind, those that can not be read too."""
        return [*self.of_kind[kind], *(key for of, key in self.unread if of == kind)]
