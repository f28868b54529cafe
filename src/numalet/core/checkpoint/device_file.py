"""``kubelet_internal_checkpoint``: the Device Manager's checkpoint, text to records and back.

Byte-compatible with v1.32: order of members, sorting of keys, checksum. Unlike with other state
files, the kubelet ignores a broken one and starts, so the finding is a warning. It does not accept
a checksum that is 0 or absent. Kubelet: ``checkpoint.Data``, ``ManagerImpl.readCheckpoint``, v1.32.
"""

from __future__ import annotations

import base64
import binascii
import re

from numalet.core.checkpoint import alloc_response, device_document, device_text, go_json
from numalet.core.checkpoint.checksum import fnv1a_32
from numalet.core.checkpoint.device_document import DeviceDocument, DeviceEntry, Ids
from numalet.core.checkpoint.go_json import Fields, GoJsonError
from numalet.core.findings.state_files import DeviceStateCorrupted, DeviceStateNotJson
from numalet.core.managers.device import registration
from numalet.core.managers.device.ledger import DeviceRecord, WrittenCheckpoint
from numalet.core.model.findings import Finding
from numalet.core.model.pod import ContainerKey

FILE_NAME = "kubelet_internal_checkpoint"

_DATA = "checkpointData.Data"
_ENTRY = "PodDevicesEntry.Data.PodDeviceEntries"
_REGISTERED = "checkpointData.Data.RegisteredDevices"


def write(written: WrittenCheckpoint) -> str:
    """Return the file's text: one line, no blanks, no newline at the end."""
    return device_text.text(written)


def checksum_of(document: DeviceDocument) -> int:
    return fnv1a_32(device_document.dump(document))


def read(text: str) -> DeviceDocument | Finding:
    """Parse the file, or return why Go cannot decode it. Nothing is verified."""
    try:
        return _document(go_json.loads(text))
    except GoJsonError as error:
        return DeviceStateNotJson(error=error.go_text)


def load(text: str) -> WrittenCheckpoint | Finding:
    """Return the content that a kubelet uses, or the warning for a file that it ignores.

    It skips entries whose response does not decode.
    """
    document = read(text)
    if isinstance(document, Finding):
        return document
    expected = checksum_of(document)
    if document.checksum != expected:
        return DeviceStateCorrupted(checksum=document.checksum, expected=expected)
    return to_written(document)


def to_written(document: DeviceDocument) -> WrittenCheckpoint:
    """Return the document's content, without entries whose response does not decode."""
    records = registration.restored_records(
        (
            ContainerKey(entry.pod_uid, entry.container),
            entry.resource,
            DeviceRecord(
                {node: ids or () for node, ids in sorted((entry.device_ids or {}).items())},
                entry.response or b"",
            ),
        )
        for entry in document.entries or ()
        if alloc_response.is_sound(entry.response or b"")
    )
    resources = document.registered or {}
    return WrittenCheckpoint(records, {name: resources[name] or () for name in sorted(resources)})


def _document(value: object) -> DeviceDocument:
    # An absent member keeps the empty value that the kubelet decodes into; null makes it nil.
    top = Fields(go_json.as_object(value, "", "checkpoint.Data"), "Data")
    checksum = top.number("Checksum", "checksum.Checksum")
    data = top.get("Data")
    if data is None:
        return DeviceDocument((), {}, checksum)
    inner = Fields(go_json.as_object(data, "Data.Data", "checkpoint.checkpointData"), _DATA)
    entries, registered = inner.get("PodDeviceEntries"), inner.get("RegisteredDevices")
    return DeviceDocument(
        entries=(
            None
            if entries is None and inner.has("PodDeviceEntries")
            else go_json.sequence(
                [] if entries is None else entries,
                f"{_DATA}.PodDeviceEntries",
                _entry,
                "[]checkpoint.PodDevicesEntry",
            )
        ),
        registered=(
            None
            if registered is None and inner.has("RegisteredDevices")
            else go_json.mapping(registered, _REGISTERED, _ids, "map[string][]string")
        ),
        checksum=checksum,
    )


def _entry(value: object, place: str) -> DeviceEntry:
    if value is None:
        return DeviceEntry("", "", "", None, None)
    fields = Fields(go_json.as_object(value, place, "checkpoint.PodDevicesEntry"), _ENTRY)
    by_node = fields.get("DeviceIDs")
    return DeviceEntry(
        fields.text("PodUID"),
        fields.text("ContainerName"),
        fields.text("ResourceName"),
        None if by_node is None else _by_node(by_node),
        _response(fields),
    )


def _by_node(value: object) -> dict[int, Ids | None]:
    place = _ENTRY + ".DeviceIDs"
    by_node = {}
    for key, ids in go_json.mapping(value, place, _ids, "checkpoint.DevicesPerNUMA").items():
        if not re.fullmatch(r"-?[0-9]+", key, re.ASCII) or not -(1 << 63) <= int(key) < 1 << 63:
            raise GoJsonError(
                f"json: cannot unmarshal number {key} into Go struct field {place} of type int64"
            )
        by_node[int(key)] = ids
    return by_node


def _ids(value: object, place: str) -> Ids | None:
    if value is None:
        return None
    return go_json.sequence(value, place, go_json.text, "[]string")


def _response(fields: Fields) -> bytes | None:
    value = fields.get("AllocResp")
    if value is None:
        return None
    # Go skips line ends inside base64.
    text = fields.text("AllocResp", "[]uint8").replace("\n", "").replace("\r", "")
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise GoJsonError(f"illegal base64 data at input byte {_first_illegal(text)}") from None


def _first_illegal(text: str) -> int:
    """Return Go's offset: of the first byte outside the alphabet, or of the end."""
    sound = re.match(r"(?:[A-Za-z0-9+/]{4})*", text, re.ASCII)
    start = sound.end() if sound is not None else 0
    rest = re.match(r"[A-Za-z0-9+/]*", text[start:], re.ASCII)
    return start + (rest.end() if rest is not None else 0)
