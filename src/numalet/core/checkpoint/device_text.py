"""Writes ``kubelet_internal_checkpoint`` from the Device Manager's records.

One walk over the records makes the file and Go's printed form of it for the checksum
(``device_document``).
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from functools import lru_cache

from numalet.core.checkpoint import both_forms, device_document, go_dump
from numalet.core.checkpoint.both_forms import BothForms
from numalet.core.checkpoint.checksum import fnv1a_32
from numalet.core.checkpoint.go_json import string
from numalet.core.managers.device.ledger import Records, WrittenCheckpoint


def text(written: WrittenCheckpoint) -> str:
    """Return one line, without blanks and without a newline at the end."""
    listed = list(_entries(written.records))
    # In Go an empty list of entries is nil.
    entries_dump, entries = both_forms.list_of(listed) if listed else (go_dump.NIL, "null")
    registered_dump, registered = both_forms.map_of(written.registered, both_forms.names)
    checksum = fnv1a_32(device_document.data_of(entries_dump, registered_dump))
    return (
        f'{{"Data":{{"PodDeviceEntries":{entries},"RegisteredDevices":{registered}}},'
        f'"Checksum":{checksum}}}'
    )


def _entries(records: Records) -> Iterator[BothForms]:
    """Yield entries by pod, container and resource. The kubelet's order is random."""
    for uid, containers in sorted(records.items()):
        for container, resources in sorted(containers.items()):
            for resource, record in sorted(resources.items()):
                # Hashable, as a key of the cache below.
                by_node = tuple(record.by_node.items())
                yield _entry(uid, container, resource, by_node, record.response)


# Every allocation rewrites the entries of all other containers.
@lru_cache(maxsize=2048)
def _entry(
    uid: str,
    container: str,
    resource: str,
    by_node: tuple[tuple[int, tuple[str, ...]], ...],
    response: bytes,
) -> BothForms:
    ids_dump, ids = both_forms.map_by_number(dict(by_node), both_forms.names)
    response_dump = f"[{' '.join(map(str, response))}]"
    return (
        device_document.entry_of(uid, container, resource, ids_dump, response_dump),
        f'{{"PodUID":{string(uid)},"ContainerName":{string(container)},'
        f'"ResourceName":{string(resource)},"DeviceIDs":{ids},'
        f'"AllocResp":"{base64.b64encode(response).decode()}"}}',
    )
