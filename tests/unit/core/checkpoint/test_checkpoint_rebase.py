"""State files made anew: what is kept, what is lost and why, what stays to the byte."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from numalet.core.checkpoint import go_dump, memory_file, state_files
from numalet.core.checkpoint.checksum import fnv1a_32
from numalet.core.checkpoint.memory_document import with_early_groups
from numalet.core.config.rules import CpuPolicy, MemoryPolicy, NodeRules, StartRefused
from numalet.core.model.findings import Finding
from numalet.core.model.pod import ContainerKey
from numalet.core.snapshot.snapshot import Snapshot
from numalet.insight.state import rebase
from numalet.insight.state import verify as state_verify
from numalet.insight.state.rebase import Rebased
from numalet.insight.state.verify import Soundness
from values import state_builders
from values.builders import GI
from values.state_builders import CPU, DEVICE, MEMORY, Files, codes

RULES = state_builders.rules()
FILES = state_builders.files()
KEYS = [ContainerKey("u1", "c"), ContainerKey("u2", "c"), ContainerKey("u3", "c")]


def done(of: NodeRules, files: Files = FILES) -> Rebased:
    """The rebased files, which a kubelet of these rules must accept."""
    staff = state_builders.staff(of)
    result = rebase.rebase(staff, files)
    for lost in result.lost:
        assert str(lost.why)
    if not result.unusable:
        snapshot = state_files.restore(staff, {**files, **result.files})
        assert isinstance(snapshot, Snapshot), snapshot
        for report in state_verify.verify(dict(result.files), of.machine):
            assert report.soundness is not Soundness.BROKEN, report.findings
    return result


def lost(result: Rebased, file: str) -> dict[str, str]:
    """Why records of a file are lost, by pod."""
    return {
        each.key.pod_uid: each.why.code.partition("/")[2]
        for each in result.lost
        if each.file == file
    }


def changed(name: str, change: Any) -> Files:
    """The files, with the content of one of them changed and sealed again."""
    value = state_builders.content(name, FILES)
    change(value)
    return FILES | {name: state_builders.sealed(name, value)}


def test_files_that_are_accepted_stay_to_the_byte() -> None:
    result = done(RULES)

    assert (result.files, result.lost, result.unusable) == ({}, (), {})
    assert [*KEYS, ContainerKey("u3", "i")] == sorted(result.kept[MEMORY])
    assert result.kept[CPU] == result.kept[MEMORY]


def test_files_that_are_not_there_stay_away() -> None:
    assert Rebased({}, {}, (), {}) == done(RULES, {})
    assert Rebased({}, {}, (), {}) == done(RULES, {DEVICE: "x"})


def test_after_a_reboot_with_other_totals_everything_is_kept() -> None:
    machine = state_builders.machine()
    first, second, third = machine.nodes
    moved = replace(
        machine,
        nodes=(
            replace(first, memory_bytes=first.memory_bytes - (50 << 20)),
            replace(second, memory_bytes=second.memory_bytes + (50 << 20)),
            third,
        ),
    )
    result = done(state_builders.rules(moved))

    assert (result.lost, list(result.files)) == ((), [MEMORY])
    old, new = json.loads(FILES[MEMORY]), json.loads(result.files[MEMORY])
    assert old["entries"] == new["entries"]
    assert new["machineState"]["0"]["memoryMap"]["memory"]["total"] == 10 * GI - (50 << 20)


def test_what_does_not_fit_any_more_is_lost_and_the_smaller_ones_are_kept() -> None:
    result = done(state_builders.rules(state_builders.machine(memory_bytes=8 * GI)))

    assert lost(result, MEMORY) == {"u2": "too-little-memory"}
    assert ContainerKey("u2", "c") not in result.kept[MEMORY]
    assert len(result.kept[MEMORY]) == 3


def test_a_node_that_is_gone_takes_its_records_along() -> None:
    result = done(state_builders.rules(state_builders.machine(2)))

    assert lost(result, MEMORY) == {"u2": "node-gone"}
    assert lost(result, CPU) == {}
    assert json.loads(result.files[CPU])["defaultCpuSet"] == "0,6-7"


def test_pages_that_are_gone_take_whole_containers_along() -> None:
    result = done(state_builders.rules(state_builders.machine(pages_2mi=2)))

    assert list(lost(result, MEMORY)) == ["u1"]
    without = replace(
        state_builders.machine(),
        nodes=tuple(replace(node, hugepages=()) for node in state_builders.machine().nodes),
        hugepages=(),
    )
    assert {"u1", "u3"} == lost(done(state_builders.rules(without)), MEMORY).keys()


def test_a_group_over_which_the_kubelet_crashes_is_not_kept() -> None:
    first, second, third = state_builders.machine().nodes
    machine = replace(state_builders.machine(), nodes=(first, second, replace(third, hugepages=())))

    assert lost(done(state_builders.rules(machine)), MEMORY) == {"u2": "types-differ"}


def test_of_groups_that_overlap_one_is_kept() -> None:
    def overlap(value: Any) -> None:
        value["entries"]["u9"] = {"c": [{"numaAffinity": [1], "type": "memory", "size": GI}]}

    result = done(RULES, changed(MEMORY, overlap))

    assert lost(result, MEMORY) == {"u2": "group-overlaps"}
    assert ContainerKey("u9", "c") in result.kept[MEMORY]


def test_a_file_that_is_accepted_by_chance_is_written_again() -> None:
    """Group {0} was given on a node of the group {0,1}: the order of looking decides."""
    value = json.loads(FILES[MEMORY])
    value["entries"]["u9"] = {"c": [{"numaAffinity": [1], "type": "memory", "size": 0}]}
    value["machineState"]["1"]["numberOfAssignments"] += 1
    value["machineState"]["1"]["cells"] = [1]
    value["machineState"]["1"]["memoryMap"]["memory"] |= {"reserved": 9 * GI, "free": 0}
    files = FILES | {MEMORY: state_builders.sealed(MEMORY, value)}
    # The engine looks in the order of the file, in which the last one wins.
    accepted = not isinstance(state_files.restore(state_builders.staff(RULES), files), StartRefused)
    result = done(RULES, files)

    assert accepted
    assert lost(result, MEMORY) == {"u2": "group-overlaps"}
    assert MEMORY in result.files


MALFORMED: list[tuple[list[dict[str, Any]], str]] = [
    ([], "no-blocks"),
    ([{"numaAffinity": [], "type": "memory", "size": 1}], "no-blocks"),
    ([{"numaAffinity": [0, 0], "type": "memory", "size": 1}], "malformed"),
    ([{"numaAffinity": [0], "type": "hugepages-2Mi", "size": 1}], "malformed"),
    (
        [
            {"numaAffinity": [0], "type": "memory", "size": 1},
            {"numaAffinity": [0], "type": "memory", "size": 1},
        ],
        "malformed",
    ),
    (
        [
            {"numaAffinity": [0], "type": "memory", "size": 1},
            {"numaAffinity": [1], "type": "hugepages-2Mi", "size": 0},
        ],
        "malformed",
    ),
]


@pytest.mark.parametrize(("blocks", "why"), MALFORMED)
def test_records_that_no_kubelet_writes_are_not_kept(
    blocks: list[dict[str, Any]], why: str
) -> None:
    result = done(RULES, changed(MEMORY, lambda value: value["entries"].update(u9={"c": blocks})))

    assert {"u9": why} == lost(result, MEMORY)


def test_cpus_that_are_gone_or_reserved_now_are_lost() -> None:
    result = done(state_builders.rules(reserved_cpus=(0, 4)))

    assert lost(result, CPU) == {"u2": "cpus-gone"}
    assert json.loads(result.files[CPU])["defaultCpuSet"] == "0,4-11"


def test_cpus_of_two_pods_stay_with_one_of_them() -> None:
    def share(value: Any) -> None:
        value["entries"] |= {"u8": {"c": ""}, "u9": {"c": "1-2,6"}}

    result = done(RULES, changed(CPU, share))

    assert lost(result, CPU) == {"u8": "no-cpus", "u9": "cpus-taken"}


def test_the_pool_never_becomes_empty() -> None:
    strict = state_builders.rules(strict=True)

    def take_all(value: Any) -> None:
        value["entries"] |= {"u9": {"c": "6-11"}}
        value["defaultCpuSet"] = ""

    result = done(strict, changed(CPU, take_all))

    assert lost(result, CPU) == {"u9": "pool-would-be-empty"}
    assert json.loads(result.files[CPU])["defaultCpuSet"] == "6-11"


def test_another_policy_keeps_what_both_know() -> None:
    off = state_builders.rules(memory=MemoryPolicy.NONE, cpu=CpuPolicy.NONE)
    result = done(off)

    assert {"u1", "u2", "u3"} == lost(result, MEMORY).keys()
    assert {"policy-none"} == set(lost(result, CPU).values())
    files = {**FILES, **result.files}
    assert files[MEMORY] == '{"policyName":"None","machineState":{},"checksum":4236770233}'
    assert files[CPU] == '{"policyName":"none","defaultCpuSet":"","checksum":1353318690}'
    on = done(RULES, files)
    assert (on.lost, dict(on.kept)) == ((), {MEMORY: (), CPU: ()})


def test_the_early_layout_is_carried_over() -> None:
    value = json.loads(FILES[MEMORY])
    for node in value["machineState"].values():
        node["nodes"] = node.pop("cells")
    document = memory_file.read(json.dumps(value))
    assert not isinstance(document, Finding)
    value["checksum"] = fnv1a_32(go_dump.memory(with_early_groups(document), go_dump.EARLY))
    result = done(RULES, FILES | {MEMORY: json.dumps(value)})

    assert result.lost == ()
    assert json.loads(result.files[MEMORY])["entries"] == value["entries"]


def test_containers_of_the_first_format_can_not_be_named() -> None:
    named = (
        '{"policyName":"none","defaultCpuSet":"1-3","entries":{"containerID1":"4-6",'
        '"containerID2":"1-3"},"checksum":3680390589}'
    )
    result = done(RULES, {CPU: named})

    assert codes(each.why for each in result.lost) == ["container-id"] * 2
    assert [each.key.container for each in result.lost] == ["containerID1", "containerID2"]


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        (MEMORY, "{", "memory-state/not-json"),
        (MEMORY, '{"policyName":"Static","checksum":1}', "memory-state/corrupted"),
        (CPU, "{", "cpu-state/not-json"),
        (CPU, '{"policyName":"static","checksum":1}', "cpu-state/corrupted"),
        (CPU, '{"policyName":"static","defaultCpuSet":"x"}', "cpu-state/bad-default"),
    ],
)
def test_nothing_is_kept_of_what_can_not_be_trusted(name: str, text: str, code: str) -> None:
    result = rebase.rebase(state_builders.staff(RULES), FILES | {name: text})

    assert {name: code} == {file: finding.code for file, finding in result.unusable.items()}
    assert name not in result.files


def test_stand_ins_keep_no_files() -> None:
    stand_ins = replace(RULES, managers_are_stand_ins=True)

    assert Rebased({}, {}, (), {}) == rebase.rebase(state_builders.staff(stand_ins), FILES)
