"""What differs between two sets of state files, member by member."""

from __future__ import annotations

import json

from numalet.insight.state import reading, state_diff
from numalet.insight.state.state_diff import StateDifference
from values import state_builders, whole_pods
from values.state_builders import CPU, DEVICE, GPU, MEMORY, PODS, Files

FILES = state_builders.files()


def differences(before: Files, after: Files) -> list[StateDifference]:
    """The differences between the files."""
    return list(state_diff.differences(reading.read(before), reading.read(after)))


def test_files_are_like_themselves() -> None:
    assert differences(FILES, FILES) == []


def test_checksums_and_the_order_of_blocks_are_no_content() -> None:
    value = json.loads(FILES[MEMORY])
    value["entries"]["u1"]["c"].reverse()
    value["checksum"] = 1

    assert differences(FILES, FILES | {MEMORY: json.dumps(value)}) == []


def test_a_pod_that_came_is_seen_in_all_files() -> None:
    one, _, third = PODS
    before, after = state_builders.files(pods=[third]), state_builders.files(pods=[third, one])
    found = differences(before, after)
    by_file = {name: [each for each in found if each.file == name] for name in FILES}

    assert [(each.subject, each.what) for each in by_file[CPU]] == [
        ("shared pool", "CPUs"),
        ("u1/c", "CPUs"),
    ]
    assert None is by_file[CPU][1].before
    on_node = {each.what: each for each in by_file[MEMORY] if each.subject == "node 1"}
    assert {"node 1", "u1/c"} == {each.subject for each in by_file[MEMORY]}
    assert on_node["hugepages-2Mi reserved"].change_bytes == 4 << 20
    assert on_node["memory free"].change_bytes == -(2 << 30)
    assert (on_node["assignments"].before, on_node["assignments"].after) == (0, 2)
    assert [(GPU, None, "gpu1@1"), (f"{GPU} response", None, "")] == [
        (each.what, each.before, each.after) for each in by_file[DEVICE]
    ]


def test_what_a_pod_has_as_a_whole_is_compared_by_pod() -> None:
    empty = whole_pods.node()
    asked = whole_pods.asked("4", "2Gi")
    busy, decision = empty.admit(whole_pods.pod("u", asked, {"c0": whole_pods.asked("2", "1Gi")}))
    assert decision.admitted
    found = differences(empty.state_files(), busy.state_files())

    assert [each for each in found if each.subject == "u"] == [
        StateDifference(CPU, "u", "CPUs as a whole", None, "1-2,9-10", None),
        StateDifference(MEMORY, "u", "memory as a whole on {0}", None, 2 << 30, None),
    ]


def test_numbers_that_are_no_sizes_have_no_change_in_bytes() -> None:
    one, _, third = PODS
    before, after = state_builders.files(pods=[third]), state_builders.files(pods=[third, one])
    changes = {each.what: each.change_bytes for each in differences(before, after)}

    assert {None} == {changes[name] for name in ("assignments", "memory on {1}", "CPUs")}


def test_a_container_without_memory_is_a_record_too() -> None:
    value = json.loads(FILES[MEMORY])
    value["entries"]["u9"] = {"c": []}

    assert [StateDifference(MEMORY, "u9/c", "memory", None, "none", None)] == differences(
        FILES, FILES | {MEMORY: json.dumps(value)}
    )


def test_a_file_that_is_missing_differs_in_everything() -> None:
    found = differences({CPU: FILES[CPU]}, {})

    assert {CPU} == {d.file for d in found}
    assert {None} == {d.after for d in found}


def test_container_ids_of_the_first_format_are_compared() -> None:
    named = (
        '{"policyName":"none","defaultCpuSet":"1-3","entries":{"containerID1":"4-6",'
        '"containerID2":"1-3"},"checksum":3680390589}'
    )
    found = differences({CPU: named}, {})

    assert "container id containerID1" in {d.subject for d in found}


def test_what_can_not_be_decoded_is_said() -> None:
    states = reading.read(FILES | {MEMORY: "{"})

    assert [f.code for f in state_diff.unreadable(states)] == ["memory-state/not-json"]


def test_devices_are_shown_with_their_nodes() -> None:
    value = json.loads(FILES[DEVICE])
    entry = value["Data"]["PodDeviceEntries"][0]
    entry["DeviceIDs"] = {"-1": ["nic"], "0": ["gpu0", "gpu1"], "1": ["gpu1"]}
    found = differences({}, {DEVICE: json.dumps(value)})

    assert "gpu0@0, gpu1@0+1, nic" in {d.after for d in found}
