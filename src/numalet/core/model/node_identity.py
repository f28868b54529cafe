"""The name and labels of a node in the cluster, as far as known.

A machine and a kubelet's configuration do not include them; a running agent knows its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from numalet.core.model.value import Value, replace


class NodeIdentity(Value, kw_only=True):
    """``name`` is empty if unknown.

    ``has_all_labels``: every label is listed here or in ``unknown_labels``. ``has_strict_groups``:
    the runtime ignores groups that images define; None if unknown
    (``status.features.supplementalGroupsPolicy`` of a Node).
    """

    name: str = ""
    labels: Mapping[str, str] = MappingProxyType({})
    has_all_labels: bool = False
    unknown_labels: frozenset[str] = frozenset()
    has_strict_groups: bool | None = None

    def knows_label(self, key: str) -> bool:
        is_absent = self.has_all_labels and key not in self.unknown_labels
        return is_absent or key in self.labels

    def with_labels(self, more: Mapping[str, str]) -> NodeIdentity:
        """Add labels; existing ones win."""
        return replace(self, labels={**more, **self.labels})


UNKNOWN_NODE: Final = NodeIdentity()
