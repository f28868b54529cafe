"""The Device Manager's checkpoint: bytes, checksum, and what a kubelet takes from it."""

from __future__ import annotations

import pytest

from numalet.core.checkpoint import alloc_response, device_document, device_file
from numalet.core.checkpoint.device_document import DeviceDocument, DeviceEntry
from numalet.core.managers.device import allocation, registration
from numalet.core.managers.device.ledger import DeviceLedger, DeviceRecord, WrittenCheckpoint
from numalet.core.managers.device.preference import NO_SAY
from numalet.core.model.findings import Finding, Severity
from values.device_bench import ANYWHERE, GPU, NIC, container, done, node, pod

EMPTY = '{"Data":{"PodDeviceEntries":null,"RegisteredDevices":{}},"Checksum":3467439661}'
ONE_ENTRY = (
    '{"Data":{"PodDeviceEntries":[{"PodUID":"uid1","ContainerName":"c1",'
    '"ResourceName":"example.com/a","DeviceIDs":{"0":["d0"]},"AllocResp":""}],'
    '"RegisteredDevices":{"example.com/a":["d0","d1"]}},"Checksum":4220851828}'
)
MANY_NODES = (
    '{"Data":{"PodDeviceEntries":[{"PodUID":"uid1","ContainerName":"c1",'
    '"ResourceName":"example.com/a","DeviceIDs":{"-1":["x"],"0":["d1","d0"],"10":["q"],"2":["z"]},'
    '"AllocResp":"CgNhYmM="}],"RegisteredDevices":{"example.com/a":["d0","d1"]}},'
    '"Checksum":972022918}'
)
WRITTEN_BY_A_KUBELET = [
    EMPTY,
    '{"Data":{"PodDeviceEntries":[],"RegisteredDevices":{}},"Checksum":2932075448}',
    '{"Data":{"PodDeviceEntries":null,"RegisteredDevices":{"a":[],"b":["d2","d1"]}},'
    '"Checksum":2701872055}',
    '{"Data":{"PodDeviceEntries":null,"RegisteredDevices":{"example.com/gpu":["d0"]}},'
    '"Checksum":2376549879}',
    ONE_ENTRY,
    MANY_NODES,
]


def document(text: str) -> DeviceDocument:
    """The document of a text that can be decoded."""
    found = device_file.read(text)
    assert isinstance(found, DeviceDocument)
    return found


def loaded(text: str) -> WrittenCheckpoint:
    """What a kubelet takes from a sound file."""
    found = device_file.load(text)
    assert isinstance(found, WrittenCheckpoint)
    return found


def summed(data: str) -> str:
    """A file with this data and the checksum that belongs to it."""
    found = document(f'{{"Data":{data}}}')
    return f'{{"Data":{data},"Checksum":{device_file.checksum_of(found)}}}'


@pytest.mark.parametrize("text", WRITTEN_BY_A_KUBELET)
def test_the_checksum_is_the_one_that_a_kubelet_wrote(text: str) -> None:
    found = document(text)
    assert found.checksum == device_file.checksum_of(found)


@pytest.mark.parametrize("text", [EMPTY, *WRITTEN_BY_A_KUBELET[2:5]])
def test_what_is_read_is_written_again_byte_by_byte(text: str) -> None:
    assert text == device_file.write(loaded(text))


def test_node_ids_are_sorted_as_texts_in_the_file_and_as_numbers_in_the_checksum() -> None:
    found = document(MANY_NODES)
    assert found.entries is not None
    dumped = device_document.dump(found)
    assert "DeviceIDs:(checkpoint.DevicesPerNUMA)map[-1:[x] 0:[d1 d0] 2:[z] 10:[q]]" in dumped
    record = DeviceRecord({-1: ("x",), 0: ("d1", "d0"), 2: ("z",), 10: ("q",)})
    text = device_file.write(WrittenCheckpoint({"uid1": {"c1": {"example.com/a": record}}}, {}))
    assert '"DeviceIDs":{"-1":["x"],"0":["d1","d0"],"10":["q"],"2":["z"]}' in text


def node_with_two_pods() -> DeviceLedger:
    """A node whose checkpoint has entries of two pods."""
    ledger = node(gpu="a@0+1 b@1", nic="n")
    for uid in ("v", "u"):
        one = container(gpu="1", nic="1" if uid == "v" else "0")
        whole = pod(one, uid=uid)
        ledger = done(allocation.allocate(ledger, whole, one, ANYWHERE, NO_SAY))
    return ledger


def test_what_a_ledger_wrote_comes_back() -> None:
    written = node_with_two_pods().written
    assert written is not None
    assert written == loaded(device_file.write(written))
    again = registration.restarted(loaded(device_file.write(written)), ())
    assert node_with_two_pods().records == again.records


def test_entries_are_sorted_by_pod_container_and_resource() -> None:
    written = node_with_two_pods().written
    assert written is not None
    entries = document(device_file.write(written)).entries or ()
    assert [(e.pod_uid, e.resource) for e in entries] == [("u", GPU), ("v", GPU), ("v", NIC)]


def test_a_pod_that_is_gone_stays_in_the_file_until_the_next_write() -> None:
    before = node_with_two_pods()
    freed = allocation.release_pods(before, {"v"})
    assert freed.written is not None
    assert {"u", "v"} == set(freed.written.records)
    rewritten = registration.devices_reported(freed, NIC, ()).written
    assert rewritten is not None
    assert {"u"} == set(rewritten.records)


def test_texts_are_escaped_as_go_escapes_them() -> None:
    text = device_file.write(WrittenCheckpoint({}, {"example.com/a": ('<"ä">',)}))
    assert '["\\u003c\\"ä\\"\\u003e"]' in text
    assert loaded(text).registered == {"example.com/a": ('<"ä">',)}


def test_an_entry_whose_response_can_not_be_decoded_is_skipped() -> None:
    found = loaded(MANY_NODES)
    assert found.records == {}
    assert found.registered == {"example.com/a": ("d0", "d1")}


@pytest.mark.parametrize("checksum", [0, 1, 2376549878])
def test_a_wrong_checksum_is_a_warning_and_nothing_is_taken(checksum: int) -> None:
    text = (
        '{"Data":{"PodDeviceEntries":null,"RegisteredDevices":{"example.com/gpu":["d0"]}},'
        f'"Checksum":{checksum}}}'
    )
    found = device_file.load(text)
    assert isinstance(found, Finding)
    assert found.code == "device-state/corrupted"
    assert {"checksum": checksum, "expected": 2376549879} == found.fields
    assert Severity.WARNING is found.severity


@pytest.mark.parametrize(
    "data",
    [
        '{"PodDeviceEntries":null,"RegisteredDevices":null}',
        '{"poddeviceentries":[null],"RegisteredDevices":{"a":null,"b":[null,"x"]}}',
        '{"PodDeviceEntries":[{"DeviceIDs":null,"AllocResp":null}]}',
        '{"PodDeviceEntries":[{"DeviceIDs":{"0":null}}],"Unknown":1}',
        "{}",
        "null",
    ],
)
def test_null_and_absent_are_told_apart_by_the_checksum_and_read_as_nothing(data: str) -> None:
    found = loaded(summed(data))
    ids = [
        record.device_ids
        for containers in found.records.values()
        for resources in containers.values()
        for record in resources.values()
    ]
    assert set(ids) <= {frozenset()}
    assert set(found.registered) <= {"a", "b"}


def test_null_and_absent_are_dumped_as_go_dumps_them() -> None:
    nothing = (
        "PodDeviceEntries:([]checkpoint.PodDevicesEntry){}"
        " RegisteredDevices:(map[string][]string){}"
    )
    dumps = {
        text: device_document.dump(document(text)).removeprefix("(checkpoint.checkpointData)")
        for text in (
            "null",
            "{}",
            '{"Data":{}}',
            '{"Data":{"PodDeviceEntries":null,"RegisteredDevices":null}}',
        )
    }
    empty = "{" + nothing.format("[]", "map[]") + "}"
    nil = "{" + nothing.format("<nil>", "<nil>") + "}"
    assert [empty, empty, empty, nil] == list(dumps.values())
    entry = DeviceEntry("u", "c", "r", None, None)
    assert (
        "{PodUID:(string)u ContainerName:(string)c ResourceName:(string)r"
        " DeviceIDs:(checkpoint.DevicesPerNUMA)<nil> AllocResp:([]uint8)<nil>}"
        in device_document.dump(DeviceDocument((entry,), {}))
    )


def with_entry(member: str) -> str:
    """A file whose only entry has one member."""
    return f'{{"Data":{{"PodDeviceEntries":[{{{member}}}]}}}}'


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "unexpected end of JSON input"),
        ("{}x", "invalid character 'x' after top-level value"),
        ("[]", "cannot unmarshal array into Go value of type checkpoint.Data"),
        ('{"Data":[]}', "cannot unmarshal array"),
        ('{"Data":{"PodDeviceEntries":""}}', "cannot unmarshal string"),
        ('{"Data":{"PodDeviceEntries":[7]}}', "cannot unmarshal number"),
        ('{"Data":{"RegisteredDevices":0}}', "cannot unmarshal number"),
        ('{"Data":{"RegisteredDevices":{"a":"b"}}}', "cannot unmarshal string"),
        ('{"Data":{"RegisteredDevices":{"a":[1]}}}', "cannot unmarshal number"),
        ('{"Checksum":-1}', "cannot unmarshal number -1"),
        (with_entry('"PodUID":1'), "cannot unmarshal number"),
        (with_entry('"DeviceIDs":{"x":[]}'), "cannot unmarshal number x into Go struct field"),
        (with_entry('"DeviceIDs":{"9223372036854775808":[]}'), "of type int64"),
        (with_entry('"AllocResp":5'), "cannot unmarshal number"),
        (with_entry('"AllocResp":"AAA"'), "illegal base64 data at input byte 3"),
        (with_entry('"AllocResp":"A?=="'), "illegal base64 data at input byte 1"),
        (with_entry('"AllocResp":"AAAAé"'), "illegal base64 data at input byte 4"),
    ],
)
def test_what_go_can_not_decode_is_a_warning_in_gos_words(text: str, error: str) -> None:
    found = device_file.load(text)
    assert isinstance(found, Finding)
    assert found.code == "device-state/not-json"
    assert error in found.fields["error"]
    assert Severity.WARNING is found.severity


def test_line_ends_inside_a_response_are_ignored() -> None:
    plain = document(with_entry('"AllocResp":"CgIKAA=="'))
    broken = document(with_entry('"AllocResp":"CgIK\\r\\nAA=="'))
    assert plain == broken


ENV = b"\x0a\x06\x0a\x01K\x12\x01V"
MOUNT = b"\x12\x08\x0a\x01a\x12\x01b\x18\x01"


@pytest.mark.parametrize(
    "response",
    [
        b"",
        ENV,
        MOUNT,
        b"\x1a\x09\x0a\x01a\x12\x01b\x1a\x01r" + ENV,
        b"\x2a\x03\x0a\x01x",
        b"\x0a\x00",
        # Unknown fields of every wire type: 6 varint, 7 fixed64, 8 bytes, 9 group, 10 fixed32.
        b"\x30\x80\x01",
        b"\x39" + bytes(8),
        b"\x42\x02ab",
        b"\x4b\x30\x01\x53\x54\x4c",
        b"\x55" + bytes(4),
    ],
)
def test_a_message_of_the_plugin_api_is_sound(response: bytes) -> None:
    assert alloc_response.is_sound(response)


@pytest.mark.parametrize(
    "response",
    [
        b"\x0a",
        b"\x0a\x05ab",
        b"\x08\x01",
        b"\x12\x02\x08\x01",
        b"\x12\x02\x1a\x00",
        b"\x0a\x03abc",
        b"\x00\x00",
        b"\x30",
        b"\x39\x00",
        b"\x4b\x30\x01",
        b"\x4c",
        b"\x36\x00",
        b"\x55\x00",
        b"\xff" * 11,
    ],
)
def test_other_bytes_are_not(response: bytes) -> None:
    assert not alloc_response.is_sound(response)
