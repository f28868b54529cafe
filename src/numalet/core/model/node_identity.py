"""What a node is called in the cluster: its name and labels, as far as they are known.

A machine and a kubelet's configuration do not have them; a running agent knows its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from numalet.core.model.value import Value, replace


class NodeIdentity(Value, kw_only=True):
    """``name`` is empty where it is not known.

    ``has_all_labels``: there are no other labels, but for those of ``unknown_labels``.
    ``has_strict_groups``: its runtime keeps processes out of groups of images, None if that is not
    known (``status.features.supplementalGroupsPolicy`` of a Node).
    """

    name: str = ""
    labels: Mapping[str, str] = MappingProxyType({})
    has_all_labels: bool = False
    unknown_labels: frozenset[str] = frozenset()
    has_strict_groups: bool | None = None

    def knows_label(self, key: str) -> bool:
        """Whether it is known what the node has under this key, or that it has nothing."""
        is_absent = self.has_all_labels and key not in self.unknown_labels
        return is_absent or key in self.labels

    def with_labels(self, more: Mapping[str, str]) -> NodeIdentity:
        """The same with these labels where it has none."""
        return replace(self, labels={**more, **self.labels})


UNKNOWN_NODE: Final = NodeIdentity()
