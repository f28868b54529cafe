"""The content of ``kubelet_internal_checkpoint``, with its nulls (None).

The document is separate from the ledger because the checksum distinguishes absent from empty. Lists
keep the order of the file. Kubelet: ``pkg/kubelet/cm/devicemanager/checkpoint``, v1.32.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from numalet.core.model.value import Value

_K = TypeVar("_K", int, str)
_V = TypeVar("_V")

Ids = tuple[str, ...]


class DeviceEntry(Value):
    """One container's devices of one resource. ``device_ids`` are by NUMA node, -1 without one."""

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
    """Return Go's printed form of the document's data, which its checksum covers."""
    return data_of(_list(document.entries, _entry), _map(document.registered, _ids))


def data_of(entries: str, registered: str) -> str:
    """Return Go's printed form of the data, from the printed forms of its two members."""
    return (
        "(checkpoint.checkpointData){"
        f"PodDeviceEntries:([]checkpoint.PodDevicesEntry){entries}"
        f" RegisteredDevices:(map[string][]string){registered}}}"
    )


def entry_of(uid: str, container: str, resource: str, device_ids: str, response: str) -> str:
    """Return Go's printed form of one entry, from printed device ids and response."""
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
