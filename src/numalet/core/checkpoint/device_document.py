"""The content of ``kubelet_internal_checkpoint`` as it stands in the file, nulls included.

The checksum covers what Go prints of this content, and distinguishes absent from empty; so the
document stays apart from the ledger. None stands for Go's nil. Lists keep the order of the file.
Kubelet: ``pkg/kubelet/cm/devicemanager/checkpoint``, v1.32.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

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


def dump(document: DeviceDocument) -> str:
    """What Go prints of the document's data, which its checksum covers."""
    return data_of(_list(document.entries, _entry), _map(document.registered, _ids))


def data_of(entries: str, registered: str) -> str:
    """The same, of entries and registered devices as Go prints them."""
    return (
        "(checkpoint.checkpointData){"
        f"PodDeviceEntries:([]checkpoint.PodDevicesEntry){entries}"
        f" RegisteredDevices:(map[string][]string){registered}}}"
    )


def entry_of(uid: str, container: str, resource: str, device_ids: str, response: str) -> str:
    """What Go prints of one entry, of device ids and a response as Go prints them."""
    return (
        f"{{PodUID:(string){uid} ContainerName:(string){container}"
        f" ResourceName:(string){resource}"
        f" DeviceIDs:(checkpoint.DevicesPerNUMA){device_ids}"
        f" AllocResp:([]uint8){response}}}"
    )


def _entry(entry: DeviceEntry) -> str:
    return entry_of(
        entry.pod_uid,
        entry.container,
        entry.resource,
        _map(entry.device_ids, _ids),
        _list(entry.response, str),
    )


def _ids(device_ids: Ids | None) -> str:
    return _list(device_ids, str)


def _map(items: Mapping[_K, _V] | None, show: Callable[[_V], str]) -> str:
    if items is None:
        return "<nil>"
    return f"map[{' '.join([f'{key}:{show(items[key])}' for key in sorted(items)])}]"


def _list(items: Iterable[_V] | None, show: Callable[[_V], str]) -> str:
    return "<nil>" if items is None else f"[{' '.join(map(show, items))}]"
