"""Rules for the content of ``kubelet_internal_checkpoint``.

Nothing in this file keeps a kubelet from starting, and much of it is written only once: the NUMA
node of a device, the answer of its plugin. Such a member can be wrong without visible effects.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from numalet.core.checkpoint import alloc_response, device_file
from numalet.core.checkpoint.device_document import DeviceEntry
from numalet.core.findings.phrases import ALONE, MACHINE, PODS
from numalet.core.managers.device.ledger import NO_NODE
from numalet.core.model.findings import Finding, Location, WarningFinding
from numalet.core.model.machine_info import MachineInfo
from numalet.insight.state.reading import DeviceState

_DEVICES: Final = "A device in use is one that its plugin reported as healthy."


class StateDeviceEntryNameless(Finding):
    sentence = "an entry lacks a name: pod {pod!r}, container {container!r}, resource {resource!r}"
    why = PODS
    pod: str
    container: str
    resource: str


class StateDeviceEntryEmpty(Finding):
    sentence = "container {container} of pod {pod} has an entry for {resource} without devices"
    why = PODS
    pod: str
    container: str
    resource: str


class StateDeviceEntryTwice(Finding):
    sentence = (
        "container {container} of pod {pod} has {count} entries for {resource}; the kubelet takes "
        "the last"
    )
    why = "There is one entry per pod, container and resource."
    pod: str
    container: str
    resource: str
    count: int


class StateDeviceGroup(Finding):
    sentence = (
        "container {container} of pod {pod}: {resource} on NUMA node {node} are {devices}, which "
        "must be at least one, each once"
    )
    why = PODS
    pod: str
    container: str
    resource: str
    node: int
    devices: list[str]


class StateDeviceListedTwice(Finding):
    sentence = "healthy devices of {resource} are listed twice: {devices}"
    why = "A device is listed once."
    resource: str
    devices: str


class StateDeviceResponse(WarningFinding):
    sentence = (
        "cannot decode the answer of the plugin of {resource} for container {container} of pod "
        "{pod}; the kubelet ignores the entry"
    )
    why = "The plugin's answer is a message of the plugin API."
    pod: str
    container: str
    resource: str


class StateDeviceUnregistered(WarningFinding):
    sentence = (
        "container {container} of pod {pod} holds {resource}, which is not registered: its plugin "
        "had stopped"
    )
    why = _DEVICES
    pod: str
    container: str
    resource: str


class StateDeviceNotHealthy(WarningFinding):
    sentence = (
        "container {container} of pod {pod} holds {devices} of {resource}, which were not among "
        "the healthy ones"
    )
    why = _DEVICES
    pod: str
    container: str
    resource: str
    devices: str


class StateDeviceOfTwoPods(Finding):
    sentence = "{device} of {resource} is held by several pods: {pods}"
    why = ALONE
    resource: str
    device: str
    pods: str


class StateDeviceOnAbsentNode(Finding):
    sentence = (
        "container {container} of pod {pod} holds {resource} on NUMA nodes {nodes}; the machine "
        "has {known}"
    )
    why = MACHINE
    pod: str
    container: str
    resource: str
    nodes: list[int]
    known: list[int]


def breaches(state: DeviceState, machine: MachineInfo | None) -> Iterator[Finding]:
    """Yield all violations; without a machine, NUMA nodes are not compared with it."""
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
            at_list = place(f"Data.RegisteredDevices.{resource}")
            yield StateDeviceListedTwice(
                resource=resource, devices=", ".join(doubled), where=at_list
            )


def place(path: str = "") -> Location:
    """Return the place of a member, or of the file."""
    return Location(device_file.FILE_NAME, f"$.{path}" if path else "")


def _entry(state: DeviceState, entry: DeviceEntry, where: Location) -> Iterator[Finding]:
    # Go decodes a missing member as an empty text.
    if not (entry.pod_uid and entry.container and entry.resource):
        yield StateDeviceEntryNameless(
            pod=entry.pod_uid, container=entry.container, resource=entry.resource, where=where
        )
    devices = _devices(entry)
    if not devices:
        yield StateDeviceEntryEmpty(
            pod=entry.pod_uid, container=entry.container, resource=entry.resource, where=where
        )
    if not alloc_response.is_sound(entry.response or b""):
        yield StateDeviceResponse(
            pod=entry.pod_uid, container=entry.container, resource=entry.resource, where=where
        )
    for node, ids in (entry.device_ids or {}).items():
        if _doubled(ids or ()) or not ids:
            yield StateDeviceGroup(
                pod=entry.pod_uid,
                container=entry.container,
                resource=entry.resource,
                node=node,
                devices=list(ids or ()),
                where=where,
            )
    registered = (state.document.registered or {}).get(entry.resource)
    if registered is None:
        yield StateDeviceUnregistered(
            pod=entry.pod_uid, container=entry.container, resource=entry.resource, where=where
        )
        return
    unhealthy = sorted(devices - set(registered))
    if unhealthy:
        yield StateDeviceNotHealthy(
            pod=entry.pod_uid,
            container=entry.container,
            resource=entry.resource,
            devices=", ".join(unhealthy),
            where=where,
        )


def _devices(entry: DeviceEntry) -> frozenset[str]:
    return frozenset(name for ids in (entry.device_ids or {}).values() for name in ids or ())


def _doubled(ids: tuple[str, ...]) -> list[str]:
    return sorted(name for name, count in Counter(ids).items() if count > 1)


def _nodes(entry: DeviceEntry, machine: MachineInfo, where: Location) -> Iterator[Finding]:
    # The kubelet stores devices without NUMA nodes under the id -1.
    absent = sorted((entry.device_ids or {}).keys() - {NO_NODE, *machine.node_ids})
    if absent:
        yield StateDeviceOnAbsentNode(
            pod=entry.pod_uid,
            container=entry.container,
            resource=entry.resource,
            nodes=absent,
            known=list(machine.node_ids),
            where=where,
        )


def _twice(entries: tuple[DeviceEntry, ...]) -> Iterator[Finding]:
    """The kubelet uses the last of two entries for the same container and resource."""
    counts = Counter((e.pod_uid, e.container, e.resource) for e in entries)
    for (uid, container, resource), count in sorted(counts.items()):
        if count > 1:
            yield StateDeviceEntryTwice(
                pod=uid,
                container=container,
                resource=resource,
                count=count,
                where=place("Data.PodDeviceEntries"),
            )


def _holders(entries: tuple[DeviceEntry, ...]) -> Iterator[Finding]:
    """Containers of one pod may share a device: an init container and later ones."""
    pods: dict[tuple[str, str], set[str]] = {}
    for entry in entries:
        for name in _devices(entry):
            pods.setdefault((entry.resource, name), set()).add(entry.pod_uid)
    for (resource, name), uids in sorted(pods.items()):
        if len(uids) > 1:
            yield StateDeviceOfTwoPods(
                resource=resource,
                device=name,
                pods=", ".join(sorted(uids)),
                where=place("Data.PodDeviceEntries"),
            )
