"""The identity of a node, and a pod's constraints on its node: labels, ports, the operating system.

A manifest has all constraints except resources. Other sources of pods (a state file, the pod
resources API) do not: then the constraints are unknown, which differs from unconstrained.
"""

from __future__ import annotations

import re
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


_LONGEST_NAME: Final = 63
_LONGEST_PREFIX: Final = 253
_NAME: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?", re.ASCII)
_PART: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_PREFIX: Final = re.compile(rf"{_PART}(\.{_PART})*", re.ASCII)


# Valid names and values of labels. Kubernetes v1.32: ``IsQualifiedName`` and ``IsValidLabelValue``
# of ``apimachinery``.


def is_label_name(name: str) -> bool:
    prefix, slash, own = name.rpartition("/")
    if slash and not (len(prefix) <= _LONGEST_PREFIX and _PREFIX.fullmatch(prefix)):
        return False
    return len(own) <= _LONGEST_NAME and _NAME.fullmatch(own) is not None


def is_label_value(value: str) -> bool:
    """Return whether the text is empty, or valid as the last part of a name."""
    return not value or (len(value) <= _LONGEST_NAME and _NAME.fullmatch(value) is not None)


EVERY_ADDRESS: Final = "0.0.0.0"  # noqa: S104 - a pod asks for it; nothing is bound here


class HostPort(Value):
    """A port of the host; addresses compare as texts."""

    number: int
    protocol: str = "TCP"
    address: str = EVERY_ADDRESS

    def conflicts_with(self, other: HostPort) -> bool:
        """Return whether one node cannot give both ports."""
        if (self.number, self.protocol) != (other.number, other.protocol):
            return False
        return self.address == other.address or EVERY_ADDRESS in (self.address, other.address)


class NodeRequirement(Value):
    """One expression of a node selector term: key, operator as in the manifest, values."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class Term(Value):
    """Expressions about labels and about fields, which must all hold."""

    expressions: tuple[NodeRequirement, ...] = ()
    fields: tuple[NodeRequirement, ...] = ()


class NodeConstraints(Value, kw_only=True):
    """``nodeSelector``, required node affinity, ports of the host, ``os.name``.

    One term of ``affinity`` has to match; None: no required affinity. ``strict_groups``: the pod's
    processes must not join groups that the image defines.
    """

    selector: Mapping[str, str] = MappingProxyType({})
    affinity: tuple[Term, ...] | None = None
    ports: tuple[HostPort, ...] = ()
    os_name: str = ""
    strict_groups: bool = False


UNCONSTRAINED: Final = NodeConstraints()
"""Constraints of a pod that may run on any node."""
