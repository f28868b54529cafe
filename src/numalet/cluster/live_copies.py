"""The objects that a watched cluster keeps, with the indexes that find them by node."""

from __future__ import annotations

from collections import Counter
from typing import Any

from numalet.core.cluster.cluster import ClusterPod
from numalet.core.model.value import Mutable, Value, field
from numalet.io.kube_api.api_objects import OBJECT_KINDS


class UnreadObject(Value):
    """Replaces an unreadable object; an unreadable pod still occupies its node."""

    node_name: str = ""


class LiveCopies(Mutable):
    of_kind: dict[str, dict[str, Any]] = field(
        default_factory=lambda: {each.name: {} for each in OBJECT_KINDS}
    )
    bound: dict[str, dict[str, ClusterPod]] = field(default_factory=dict)
    """Pods by node and uid."""
    holders: dict[str, set[str]] = field(default_factory=dict)
    """Nodes whose state names a pod, by uid."""
    unread: dict[tuple[str, str], UnreadObject] = field(default_factory=dict)
    unread_on: Counter[str] = field(default_factory=Counter)
    """Number of unreadable pods of a node."""

    def keys(self, kind: str) -> list[str]:
        """Return the keys of all objects of a kind, including unreadable ones."""
        return [*self.of_kind[kind], *(key for of, key in self.unread if of == kind)]
