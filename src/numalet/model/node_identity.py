"""What a node is called in the cluster: its name and labels, as far as they are known.

A machine and a kubelet's configuration do not say them; a running agent knows its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeIdentity:
    """``name`` is empty where it is not known. ``has_all_labels``: there are no other labels."""

    name: str = ""
    labels: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    has_all_labels: bool = False

    def knows_label(self, key: str) -> bool:
        """Whether it is known what the node has under this key, or that it has nothing."""
        return self.has_all_labels or key in self.labels

    def with_labels(self, more: Mapping[str, str]) -> NodeIdentity:
        """The same with these labels where it has none."""
        return NodeIdentity(
            name=self.name,
            labels={**more, **self.labels},
            has_all_labels=self.has_all_labels,
        )


UNKNOWN_NODE: Final = NodeIdentity()
