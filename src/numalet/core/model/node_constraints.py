"""What a pod demands of the node that it may run on, apart from room: labels, ports, a system.

The manifest of a pod says all of this; of a pod that is known from elsewhere (its containers in a
state file, a call of the pod-resources API) does not know it, and must not read that as none.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from numalet.core.model.value import Value

EVERY_ADDRESS: Final = "0.0.0.0"  # noqa: S104 - a pod asks for it; nothing is bound here


class HostPort(Value):
    """A port of the host; addresses are compared as they are written."""

    number: int
    protocol: str = "TCP"
    address: str = EVERY_ADDRESS

    def conflicts_with(self, other: HostPort) -> bool:
        """Whether not both can be had."""
        if (self.number, self.protocol) != (other.number, other.protocol):
            return False
        return self.address == other.address or EVERY_ADDRESS in (self.address, other.address)


class NodeRequirement(Value):
    """One expression: what it is about, its operator as it is written, and the values."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class Term(Value):
    """Expressions about labels and about fields, which all have to hold."""

    expressions: tuple[NodeRequirement, ...] = ()
    fields: tuple[NodeRequirement, ...] = ()


class NodeConstraints(Value, kw_only=True):
    """``nodeSelector``, required node affinity, ports of the host, ``os.name``.

    ``affinity`` has the terms, of which one has to match; None without such an affinity.
    ``strict_groups``: its processes may be in no group that an image put them in.
    """

    selector: Mapping[str, str] = MappingProxyType({})
    affinity: tuple[Term, ...] | None = None
    ports: tuple[HostPort, ...] = ()
    os_name: str = ""
    strict_groups: bool = False


UNCONSTRAINED: Final = NodeConstraints()
"""Of a pod that may run on any node."""
