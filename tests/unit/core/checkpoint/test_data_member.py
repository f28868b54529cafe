"""State files whose content is in ``data``: the CPU Manager's format 4, the memory's format 3."""

from __future__ import annotations

import json
from typing import Any

import pytest

from numalet.core.checkpoint import cpu_file, data_member, memory_file
from numalet.core.config.releases.release import V1_32_RULES, ReleaseRules
from numalet.core.config.releases.table import of_name
from numalet.core.managers.cpu import cpu_mask
from numalet.core.managers.cpu.ledger import NOTHING_REUSABLE, CpuLedger
from numalet.core.managers.memory.ledger import MemoryBlock, MemoryLedger
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.findings import Finding
from numalet.core.model.pod import ContainerKey

RULES = of_name("1.37").rules_with(lambda gate: False)
ALL = of_name("1.37").rules_with(lambda gate: True)
CPUS = CpuLedger(
    frozenset({0, 1, 6, 7}), {"u": {"c0": frozenset({2, 3})}}, pods={"u": frozenset({2, 3, 4, 5})}
)
BLOCKS = (MemoryBlock((0,), "memory", 1024),)
MEMORY = MemoryLedger({}, {"u": {"c0": BLOCKS}}, pods={"u": BLOCKS})
CPU_TEXT, MEMORY_TEXT = (
    cpu_file.write("static", CPUS, RULES),
    memory_file.write("Static", MEMORY, RULES),
)
V4, V3 = "could not load v4 checkpoint: ", "could not load v3 checkpoint: "
DECODING = "failed to deserialize cpu manager checkpoint"


def loaded(text: str, rules: ReleaseRules = RULES) -> CpuLedger | Finding:
    return cpu_file.load(text, "static", rules)


def refusal(text: str, rules: ReleaseRules = RULES) -> str:
    """The kubelet's words."""
    ledger = loaded(text, rules)
    assert isinstance(ledger, Finding), ledger
    return ledger.in_kubelet_words


def changed(text: str = CPU_TEXT, **members: Any) -> str:
    return json.dumps({**json.loads(text), **members})


@pytest.mark.parametrize(
    ("data", "checksum"),
    [
        ('{"policyName":"None","machineState":{}}', 3093843326),
        ('{"policyName":"static","defaultCpuSet":"0-31"}', 232019208),
    ],
)
def test_the_checksum_is_that_of_the_text(data: str, checksum: int) -> None:
    assert data_member.checksum_of(data) == checksum


def test_the_members_of_older_releases_come_first() -> None:
    plain = cpu_file.write("static", CPUS, V1_32_RULES)
    written = json.loads(CPU_TEXT)

    assert CPU_TEXT.startswith(plain[:-1] + ',"data":')
    assert [*written] == [*json.loads(plain), "data", "dataChecksum"]
    assert json.loads(written["data"])["entries"] == written["entries"]
    assert MEMORY_TEXT.startswith(memory_file.write("Static", MEMORY, V1_32_RULES)[:-1])


def test_what_pods_got_is_in_data_alone_and_with_the_gate_alone() -> None:
    for text in (cpu_file.write("static", CPUS, ALL), memory_file.write("Static", MEMORY, ALL)):
        assert "podEntries" not in json.loads(text)
        assert "podEntries" in json.loads(json.loads(text)["data"])
    assert "podEntries" not in CPU_TEXT + MEMORY_TEXT


def test_what_was_written_is_read() -> None:
    with_all = cpu_file.write("static", CPUS, ALL), memory_file.write("Static", MEMORY, ALL)

    assert loaded(with_all[0], ALL) == CPUS
    assert memory_file.load(with_all[1], "Static", ALL) == MEMORY
    # Without the gate the kubelet drops what pods got.
    assert loaded(with_all[0]) == CpuLedger(CPUS.default, CPUS.exclusive)
    assert memory_file.load(with_all[1], "Static", RULES) == MemoryLedger({}, MEMORY.blocks)


def test_data_counts_and_not_what_is_beside() -> None:
    expected = CpuLedger(CPUS.default, CPUS.exclusive)
    for beside in ({"checksum": 1}, {"policyName": "none"}, {"defaultCpuSet": "9"}):
        assert loaded(changed(**beside)) == expected
        assert isinstance(loaded(changed(**beside), V1_32_RULES), Finding)
    memory = memory_file.load(changed(MEMORY_TEXT, checksum=1), "Static", RULES)
    assert memory == MemoryLedger({}, MEMORY.blocks)


def test_an_older_release_reads_what_is_beside() -> None:
    for wrong in ({"data": "x"}, {"dataChecksum": 1}, {"data": 5}):
        assert loaded(changed(**wrong), V1_32_RULES) == CpuLedger(CPUS.default, CPUS.exclusive)
        text = changed(MEMORY_TEXT, **wrong)
        assert isinstance(memory_file.load(text, "Static", V1_32_RULES), MemoryLedger)


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"dataChecksum": 0}, "checkpoint is corrupted"),
        ({"dataChecksum": 1}, "checkpoint is corrupted"),
        ({"data": ""}, f"{DECODING} data: unexpected end of JSON input"),
        (
            {"data": "x"},
            f"{DECODING} data: invalid character 'x' looking for beginning of value",
        ),
        (
            {"data": 5},
            f"{DECODING}: json: cannot unmarshal number into Go struct field "
            "CPUManagerCheckpoint.data of type string",
        ),
        (
            {"dataChecksum": -1},
            f"{DECODING}: json: cannot unmarshal number -1 into Go struct field "
            "CPUManagerCheckpoint.dataChecksum of type checksum.Checksum",
        ),
    ],
)
def test_no_older_format_is_tried_where_data_is_damaged(
    members: dict[str, Any], expected: str
) -> None:
    assert refusal(changed(**members)) == V4 + expected
    memory = memory_file.load(changed(MEMORY_TEXT, **members), "Static", RULES)
    assert isinstance(memory, Finding)
    told = expected.replace("cpu manager", "memory manager")
    told = told.replace("CPUManagerCheckpoint", "MemoryManagerCheckpoint")
    assert memory.in_kubelet_words == V3 + told


@pytest.mark.parametrize("members", [{}, {"data": "", "dataChecksum": 0}, {"data": ""}])
def test_without_data_the_older_formats_are_read(members: dict[str, Any]) -> None:
    before = of_name("1.36").rules_with(lambda gate: True)
    plain = cpu_file.write("static", CPUS, V1_32_RULES)
    with_pods = cpu_file.write("static", CPUS, before)
    memory = changed(memory_file.write("Static", MEMORY, before), **members)

    assert loaded(changed(plain, **members)) == CpuLedger(CPUS.default, CPUS.exclusive)
    assert loaded(changed(with_pods, **members)) == CpuLedger(CPUS.default, CPUS.exclusive)
    assert loaded(changed(with_pods, **members), ALL) == CPUS
    assert memory_file.load(memory, "Static", ALL) == MEMORY
    assert memory_file.load(memory, "Static", RULES) == MemoryLedger({}, MEMORY.blocks)


def test_the_first_format_is_not_read() -> None:
    text = '{"policyName":"static","defaultCpuSet":"0","entries":{"id1":"1-2"},"checksum":0}'
    assert refusal(text) == (
        "json: cannot unmarshal string into Go struct field CPUManagerCheckpointV2.entries of type "
        "map[string]string"
    )


def test_the_default_cpu_set_is_in_capitals() -> None:
    text = '{"policyName":"static","defaultCpuSet":"x","checksum":0}'
    assert refusal(text).startswith('could not parse default CPU set "x": ')
    assert refusal(text, V1_32_RULES).startswith('could not parse default cpu set "x": ')


def after(ledger: CpuLedger, container: str, *cpus: int) -> CpuLedger:
    held = frozenset(cpus)
    key = ContainerKey("u", container)
    return ledger.with_cpus(key, held, cpu_mask.of_set(held), NOTHING_REUSABLE)


def baselines(ledger: CpuLedger) -> object:
    data = json.loads(cpu_file.write("static", ledger, ALL))["data"]
    return json.loads(data).get("baselines")


def test_a_baseline_is_the_first_record() -> None:
    first = after(CpuLedger(frozenset(range(8))), "c0", 1, 2)
    second = after(first, "c0", 3)

    assert baselines(first) == {"u": {"c0": {"baseline": "1-2"}}}
    assert baselines(second) == baselines(first)
    assert loaded(cpu_file.write("static", second, ALL), ALL) == second
    gone = second.without(ContainerKey("u", "c0"))
    assert baselines(gone) is None
    assert baselines(after(gone, "c0", 3)) == {"u": {"c0": {"baseline": "3"}}}
    # Without the gate a file has none.
    assert "baselines" not in cpu_file.write("static", second, RULES)


def held(**containers: CpuSet) -> CpuLedger:
    return CpuLedger(frozenset({7}), {"u": containers})


def test_baselines_of_a_file_need_not_be_complete() -> None:
    ledger = held(c0=frozenset({1}), c1=frozenset({2})).with_baselines(
        {"u": {"c0": frozenset({5})}, "v": {"c9": frozenset({6})}}
    )
    expected = {"u": {"c0": {"baseline": "5"}}, "v": {"c9": {"baseline": "6"}}}

    assert baselines(ledger) == expected
    assert loaded(cpu_file.write("static", ledger, ALL), ALL) == ledger
    # A container without a baseline gets one with its next record; a removed pod's are removed.
    assert baselines(after(ledger, "c1", 3)) == {
        **expected,
        "u": {"c0": {"baseline": "5"}, "c1": {"baseline": "3"}},
    }
    assert baselines(ledger.without(ContainerKey("u", "c0"))) == {"v": expected["v"]}
    assert baselines(ledger.without_pod("u")) == {"v": expected["v"]}


def test_a_baseline_that_is_no_list_of_cpus_stops_the_start() -> None:
    text = cpu_file.write("static", held(c0=frozenset({1})), ALL)
    data = json.loads(text)["data"].replace('"baseline":"1"', '"baseline":"x"')
    wrong = changed(text, data=data, dataChecksum=data_member.checksum_of(data))

    assert refusal(wrong, ALL).startswith(
        'could not parse Baseline cpuset "x" for container "c0" in pod "u": '
    )
    assert isinstance(loaded(wrong), CpuLedger)


@pytest.mark.parametrize(
    ("fields", "is_in"),
    [
        ({}, False),
        ({"dataChecksum": 0}, False),
        ({"dataChecksum": 5}, True),
        ({"data": ""}, False),
        ({"data": "{}"}, True),
        ({"dataChecksum": "five"}, False),
        ({"data": "{}", "dataChecksum": "five"}, True),
    ],
)
def test_a_member_or_its_checksum_shows_the_format(fields: Any, is_in: bool) -> None:
    assert data_member.is_in(fields) is is_in
