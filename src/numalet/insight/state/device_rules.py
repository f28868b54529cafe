"""What must hold inside ``kubelet_internal_checkpoint``, and where it does not.

A breach is a finding, as in ``state_memory_rules``. Nothing in this file keeps a kubelet from
starting, and much in it is said once only: on which NUMA node a device is, what its plugin
answered. Such a member can be wrong without anything showing it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from numalet.core.checkpoint import alloc_response, device_file
from numalet.core.checkpoint.device_document import DeviceEntry
from numalet.core.managers.device.ledger import NO_NODE
from numalet.core.model.findings import Finding, Location, Severity
from numalet.core.model.machine_info import MachineInfo
from numalet.insight.state.reading import DeviceState


def breaches(state: DeviceState, machine: MachineInfo | None) -> Iterator[Finding]:
    """Every broken rule; ``machine`` is None if it is not known."""
    entries = state.document.entries or ()
    for at, entry in enumerate(entries):
        where = place(f"Data.PodDeviceEntries[{at}]")
        yield from _entry(state, entry, where)
        if machine is not None:
            yield from _nodes(entry, machine, where)
    yield from _twice(entries)
    yield from _holders(entries)
    for resource, ids in sorted((state.document.registered or {}).items()):
        doubled = _doubled(ids or ())
        if doubled:
            fields = {"resource": resource, "devices": ", ".join(doubled)}
            at_list = place(f"Data.RegisteredDevices.{resource}")
            yield Finding("state/device-listed-twice", fields, at_list)


def place(path: str = "") -> Location:
    """A member of the file; without a path the file."""
    return Location(device_file.FILE_NAME, f"$.{path}" if path else "")


def _entry(state: DeviceState, entry: DeviceEntry, where: Location) -> Iterator[Finding]:
    who = {"pod": entry.pod_uid, "container": entry.container, "resource": entry.resource}
    if not all(who.values()):
        yield Finding("state/device-entry-nameless", who, where)
    devices = _devices(entry)
    if not devices:
        yield Finding("state/device-entry-empty", who, where)
    if not alloc_response.is_sound(entry.response or b""):
        yield Finding("state/device-response", who, where, Severity.WARNING)
    for node, ids in (entry.device_ids or {}).items():
        if _doubled(ids or ()) or not ids:
            yield Finding(
                "state/device-group", {**who, "node": node, "devices": list(ids or ())}, where
            )
    registered = (state.document.registered or {}).get(entry.resource)
    if registered is None:
        yield Finding("state/device-unregistered", who, where, Severity.WARNING)
        return
    unhealthy = sorted(devices - set(registered))
    if unhealthy:
        fields = {**who, "devices": ", ".join(unhealthy)}
        yield Finding("state/device-not-healthy", fields, where, Severity.WARNING)


def _devices(entry: DeviceEntry) -> frozenset[str]:
    return frozenset(name for ids in (entry.device_ids or {}).values() for name in ids or ())


def _doubled(ids: tuple[str, ...]) -> list[str]:
    return sorted(name for name, count in Counter(ids).items() if count > 1)


def _nodes(entry: DeviceEntry, machine: MachineInfo, where: Location) -> Iterator[Finding]:
    absent = sorted((entry.device_ids or {}).keys() - {NO_NODE, *machine.node_ids})
    if absent:
        yield Finding(
            "state/device-on-absent-node",
            {
                "pod": entry.pod_uid,
                "container": entry.container,
                "resource": entry.resource,
                "nodes": absent,
                "known": list(machine.node_ids),
            },
            where,
        )


def _twice(entries: tuple[DeviceEntry, ...]) -> Iterator[Finding]:
    """Of two entries for the same the kubelet takes the last."""
    counts = Counter((e.pod_uid, e.container, e.resource) for e in entries)
    for (uid, container, resource), count in sorted(counts.items()):
        if count > 1:
            fields = {"pod": uid, "container": container, "resource": resource, "count": count}
            yield Finding("state/device-entry-twice", fields, place("Data.PodDeviceEntries"))


def _holders(entries: tuple[DeviceEntry, ...]) -> Iterator[Finding]:
    """Containers of one pod may share a device: an init container and those after it."""
    pods: dict[tuple[str, str], set[str]] = {}
    for entry in entries:
        for name in _devices(entry):
            pods.setdefault((entry.resource, name), set()).add(entry.pod_uid)
    for (resource, name), uids in sorted(pods.items()):
        if len(uids) > 1:
            fields = {"resource": resource, "device": name, "pods": ", ".join(sorted(uids))}
            yield Finding("state/device-of-two-pods", fields, place("Data.PodDeviceEntries"))
