"""A pod's constraints on its node, except resources: labels, host ports, the operating system.

A manifest has all of them. Other sources of pods (a state file, the pod resources API) do not: then
the constraints are unknown, which differs from unconstrained.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from numalet.core.model.value import Value

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
