"""Ports of the host, of which every one is given to one pod only.

Kubelet: ``nodeports.Fits`` and ``HostPortInfo.CheckConflict`` of the scheduler, v1.32. Ports of
init containers and of sidecars are not looked at there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

EVERY_ADDRESS: Final = "0.0.0.0"  # noqa: S104 - a pod asks for it; nothing is bound here


@dataclass(frozen=True, slots=True)
class HostPort:
    """A port of the host; addresses are compared as they are written."""

    number: int
    protocol: str = "TCP"
    address: str = EVERY_ADDRESS

    def conflicts_with(self, other: HostPort) -> bool:
        """Whether not both can be had."""
        if (self.number, self.protocol) != (other.number, other.protocol):
            return False
        return self.address == other.address or EVERY_ADDRESS in (self.address, other.address)


def are_free(wanted: Iterable[HostPort], taken: Iterable[HostPort]) -> bool:
    """Whether none of the ports is taken by another pod."""
    taken = tuple(taken)
    return not any(each.conflicts_with(other) for each in wanted for other in taken)
