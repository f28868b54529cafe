"""Devices as readers see them: their use, and what they are called.

A device is called by its id, or by a number where ids are UUIDs, as in ``gpu 3``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import Final

from numalet.core.managers.device.ledger import DeviceLedger
from numalet.core.model.value import Value
from numalet.insight.maps import resource_maps

_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_DIGITS: Final = re.compile(r"([0-9]+)")
_PCI_ADDRESS: Final = re.compile(
    r"(?<![0-9A-Fa-f])[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[01][0-9A-Fa-f]\.[0-7](?![0-9A-Fa-f])"
)
"""Domain, bus, device and function."""


class DeviceUse(Enum):
    FREE = "free"
    IN_USE = "in-use"
    UNHEALTHY = "unhealthy"


def numbered(ids: Iterable[str]) -> Mapping[str, int]:
    """Number the devices of one resource in the order of their ids, from 0; 2 is before 10."""
    return {each: number for number, each in enumerate(sorted({*ids}, key=_by_number))}


def _by_number(device_id: str) -> tuple[str | int, ...]:
    # Every second part is a number, so parts of one kind are compared.
    parts = _DIGITS.split(device_id)
    return tuple(int(part) if at % 2 else part for at, part in enumerate(parts))


def kind(resource: str) -> str:
    """Return the name of the resource without its domain."""
    return resource.rpartition("/")[2]


def called(resource: str, device_id: str, number: int) -> str:
    """Return the id, or for an id with a UUID the kind and the number."""
    return f"{kind(resource)} {number}" if _UUID.search(device_id) else device_id


def full_name(resource: str, device_id: str, number: int) -> str:
    """Return what it is called, followed by its id if that is something else."""
    name = called(resource, device_id, number)
    return name if name == device_id else f"{name} ({device_id})"


class MapDevice(Value):
    """One device; ``nodes`` is empty if unknown. ``number`` counts those of its resource."""

    resource: str
    device_id: str
    nodes: tuple[int, ...]
    state: DeviceUse
    pod_uid: str = ""
    number: int = 0

    @property
    def called(self) -> str:
        return called(self.resource, self.device_id, self.number)

    @property
    def full_name(self) -> str:
        return full_name(self.resource, self.device_id, self.number)

    @property
    def pci_address(self) -> str:
        """The PCI address in the device id, empty if the plugin uses other ids."""
        match = _PCI_ADDRESS.search(self.device_id)
        return "" if match is None else match[0].lower()


def of_ledger(ledger: DeviceLedger) -> Iterator[MapDevice]:
    owners = {
        (resource, name): uid
        for uid, containers in ledger.records.items()
        for records in containers.values()
        for resource, record in records.items()
        for name in record.device_ids
    }
    for row in resource_maps.device_map(ledger):
        numbers = numbered(ledger.inventory.devices_of(row.resource).masks)
        for names, state in (
            (row.in_use, DeviceUse.IN_USE),
            (row.free, DeviceUse.FREE),
            (row.unhealthy, DeviceUse.UNHEALTHY),
        ):
            for name in names:
                uid = owners.get((row.resource, name), "")
                nodes = tuple(row.numa_nodes)
                yield MapDevice(row.resource, name, nodes, state, uid, numbers[name])
