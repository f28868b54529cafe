"""The devices of a node as rows, one for each resource and set of NUMA nodes."""

from __future__ import annotations

from numalet.core.managers.device.ledger import DeviceLedger
from numalet.core.model import numa_mask
from numalet.core.model.numa_mask import NumaMask
from numalet.core.model.value import Value


class DeviceRow(Value):
    """Devices of one resource on the same NUMA nodes, empty if they have no NUMA node.

    ``free`` are allocatable, ``in_use`` are allocated, ``unhealthy`` are the rest. All ids are
    sorted.
    """

    resource: str
    nodes: tuple[int, ...]
    free: tuple[str, ...]
    in_use: tuple[str, ...]
    unhealthy: tuple[str, ...]


def device_map(ledger: DeviceLedger) -> tuple[DeviceRow, ...]:
    return tuple(
        row for resource in sorted(ledger.inventory.known) for row in _rows(ledger, resource)
    )


def _rows(ledger: DeviceLedger, resource: str) -> list[DeviceRow]:
    by_nodes: dict[NumaMask, set[str]] = {}
    for name, mask in ledger.inventory.devices_of(resource).masks.items():
        by_nodes.setdefault(mask, set()).add(name)
    used, free = ledger.in_use.get(resource, frozenset()), ledger.free(resource)
    return [
        DeviceRow(
            resource,
            nodes,
            free=tuple(sorted(names & free)),
            in_use=tuple(sorted(names & used)),
            unhealthy=tuple(sorted(names - free - used)),
        )
        for nodes, names in sorted((numa_mask.ids(mask), names) for mask, names in by_nodes.items())
    ]
