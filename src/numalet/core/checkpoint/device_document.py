"""The content of ``kubelet_internal_checkpoint`` as it stands in the file, nulls included.

The checksum covers what Go prints of this content, and distinguishes absent from empty; so the
document stays apart from the ledger. None stands for Go's nil. Lists keep the order of the file.
Kubelet: ``pkg/kubelet/cm/devicemanager/checkpoint``, v1.32.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from numalet.core.managers.device.ledger import WrittenCheckpoint
from numalet.core.model.value import Value

_K = TypeVar("_K", int, str)
_V = TypeVar("_V")

Ids = tuple[str, ...]


class DeviceEntry(Value):
    """What one container holds of one resource. ``device_ids`` are by NUMA node, -1 for none."""

    pod_uid: str
    container: str
    resource: str
    device_ids: Mapping[int, Ids | None] | None
    response: bytes | None


class DeviceDocument(Value):
    """The whole file. ``registered`` holds the healthy ids of each registered resource."""

    entries: tuple[DeviceEntry, ...] | None
    registered: Mapping[str, Ids | None] | None
    checksum: int = 0


def of_written(written: WrittenCheckpoint) -> DeviceDocument:
    """The document with what was written; its checksum is still 0.

    The kubelet writes entries in no fixed order; here they are sorted by pod, container and
    resource.
    """
    entries = tuple(
        DeviceEntry(uid, container, resource, record.by_node, record.response)
        for uid, containers in sorted(written.records.items())
        for container, resources in sorted(containers.items())
        for resource, record in sorted(resources.items())
    )
    return DeviceDocument(entries or None, written.registered)


def dump(document: DeviceDocument) -> str:
    """What Go prints of the document's data, which its checksum covers."""
    entries = _list(document.entries, _entry)
    registered = _map(document.registered, _ids)
    return (
        "(checkpoint.checkpointData){"
        f"PodDeviceEntries:([]checkpoint.PodDevicesEntry){entries}"
        f" RegisteredDevices:(map[string][]string){registered}}}"
    )


def _entry(entry: DeviceEntry) -> str:
    return (
        f"{{PodUID:(string){entry.pod_uid} ContainerName:(string){entry.container}"
        f" ResourceName:(string){entry.resource}"
        f" DeviceIDs:(checkpoint.DevicesPerNUMA){_map(entry.device_ids, _ids)}"
        f" AllocResp:([]uint8){_list(entry.response, str)}}}"
    )


def _ids(device_ids: Ids | None) -> str:
    return _list(device_ids, str)


def _map(items: Mapping[_K, _V] | None, show: Callable[[_V], str]) -> str:
    if items is None:
        return "<nil>"
    return f"map[{' '.join([f'{key}:{show(items[key])}' for key in sorted(items)])}]"


def _list(items: Iterable[_V] | None, show: Callable[[_V], str]) -> str:
    return "<nil>" if items is None else f"[{' '.join(map(show, items))}]"
