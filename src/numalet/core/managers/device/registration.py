"""How plugins and a kubelet restart change the ledger: report, stop, expire, restart.

Like the kubelet, these functions write the checkpoint after a report and after the end of a grace
period, but not when a plugin stops.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from numalet.core.managers.device import inventory, ledger
from numalet.core.managers.device.inventory import Device
from numalet.core.managers.device.ledger import DeviceLedger, Records, WrittenCheckpoint
from numalet.core.model.pod import ContainerKey
from numalet.core.model.value import Value, replace


class Capacity(Value):
    """The numbers of devices in a node's status for a resource."""

    capacity: int
    allocatable: int


def devices_reported(old: DeviceLedger, resource: str, devices: Iterable[Device]) -> DeviceLedger:
    """Apply a plugin's report. Devices in use stay in use, known or not."""
    return checkpointed(
        replace(old, inventory=inventory.reported(old.inventory, resource, devices))
    )


def all_reported(old: DeviceLedger, lists: Mapping[str, Iterable[Device]]) -> DeviceLedger:
    for resource, devices in lists.items():
        old = devices_reported(old, resource, devices)
    return old


def plugin_stopped(old: DeviceLedger, resource: str) -> DeviceLedger:
    return replace(old, inventory=inventory.plugin_stopped(old.inventory, resource))


def resource_expired(old: DeviceLedger, resource: str) -> DeviceLedger:
    """End the grace period of a stopped plugin."""
    return checkpointed(replace(old, inventory=inventory.expired(old.inventory, resource)))


def restarted(written: WrittenCheckpoint | None, running: Iterable[ContainerKey]) -> DeviceLedger:
    """Return the ledger of a kubelet that starts with this checkpoint, before plugins register.

    Every resource of the checkpoint is registered without devices, as if its plugin had just
    stopped. ``running`` are the containers that the runtime reports as running. Kubelet:
    ``readCheckpoint``, v1.32.
    """
    if written is None:
        return DeviceLedger(running=frozenset(running))
    return DeviceLedger(
        inventory=inventory.after_restart(written.registered),
        records=written.records,
        in_use=ledger.in_use_by(written.records),
        running=frozenset(running),
        written=written,
    )


def checkpointed(old: DeviceLedger) -> DeviceLedger:
    registered = old.inventory.registered
    healthy = {name: registered[name].healthy_in_order for name in sorted(registered)}
    return replace(old, written=WrittenCheckpoint(old.records, healthy))


def restored_records(entries: Iterable[tuple[ContainerKey, str, ledger.DeviceRecord]]) -> Records:
    """Return the records of a checkpoint's entries; the last entry of a resource wins."""
    records: Records = {}
    for key, resource, record in entries:
        records = ledger.with_record(records, key, resource, record)
    return records


def capacities(of: DeviceLedger) -> dict[str, Capacity]:
    """Return capacity and allocatable of every registered resource, by name.

    Kubelet: ``ManagerImpl.GetCapacity``, v1.32.
    """
    registered = of.inventory.registered
    return {
        name: Capacity(
            capacity=len(registered[name].healthy) + len(registered[name].unhealthy),
            allocatable=len(registered[name].healthy),
        )
        for name in sorted(registered)
    }
