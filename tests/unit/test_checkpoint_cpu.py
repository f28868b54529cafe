"""The CPU state file: bytes, checksums, both formats, and what is wrong with bad ones."""

from __future__ import annotations

import pytest

import builders
from builders import node, rules
from numalet.checkpoint import cpu_file
from numalet.config.rules import Stage, StartRefused
from numalet.managers.cpu.ledger import CpuLedger
from numalet.model import cpu_set
from numalet.model.findings import Finding
from numalet.wording import kubelet_start

WRITTEN = [
    ("none", "", {}, '{"policyName":"none","defaultCpuSet":"","checksum":1353318690}'),
    ("static", "0-3", {}, '{"policyName":"static","defaultCpuSet":"0-3","checksum":611748604}'),
    (
        "static",
        "0,4",
        {"u1": {"c1": "1,5"}},
        '{"policyName":"static","defaultCpuSet":"0,4","entries":{"u1":{"c1":"1,5"}},'
        '"checksum":1870581776}',
    ),
    (
        "static",
        "0-9",
        {"b": {"y": "10", "x": "11"}, "a": {"z": "12-13"}},
        '{"policyName":"static","defaultCpuSet":"0-9","entries":{"a":{"z":"12-13"},'
        '"b":{"x":"11","y":"10"}},"checksum":3980427531}',
    ),
]


@pytest.mark.parametrize(("policy", "default", "entries", "text"), WRITTEN)
def test_files_are_written_to_the_byte_and_read_again(
    policy: str, default: str, entries: dict[str, dict[str, str]], text: str
) -> None:
    exclusive = {
        uid: {name: cpu_set.parse(cpus) for name, cpus in containers.items()}
        for uid, containers in entries.items()
    }
    ledger = CpuLedger(cpu_set.parse(default), exclusive)

    assert cpu_file.write(policy, ledger) == text
    assert cpu_file.load(text, policy) == ledger


def test_a_checksum_of_zero_or_none_is_accepted() -> None:
    for text in ('{"policyName":"none","checksum":0}', '{"policyName":"none"}'):
        assert cpu_file.load(text, "none") == CpuLedger()


def test_the_first_format_is_read_if_it_names_no_containers() -> None:
    empty = '{"policyName":"none","defaultCpuSet":"1-3","checksum":1694838852}'
    assert cpu_file.load(empty, "none") == CpuLedger(frozenset({1, 2, 3}))
    named = (
        '{"policyName":"none","defaultCpuSet":"1-3","entries":{"containerID1":"4-6",'
        '"containerID2":"1-3"},"checksum":3680390589}'
    )
    finding = cpu_file.load(named, "none")
    assert isinstance(finding, Finding)
    assert (finding.code, finding.fields["container_id"]) == (
        "cpu-state/unknown-container-id",
        "containerID1",
    )


START = "start cpu manager error: could not restore state from checkpoint: "
DRAIN = (
    ", please drain this node and delete the CPU manager checkpoint file"
    ' "/var/lib/kubelet/cpu_manager_state" before restarting Kubelet'
)
BAD = [
    ("", "unexpected end of JSON input"),
    ('{"policyName":"none","checksum":1}', "checkpoint is corrupted"),
    (
        '{"policyName":"static"}',
        'configured policy "none" differs from state checkpoint policy "static"',
    ),
    (
        '{"policyName":"none","defaultCpuSet":"x"}',
        'could not parse default cpu set "x": strconv.Atoi: parsing "x": invalid syntax',
    ),
    (
        '{"policyName":"none","entries":{"u":{"c":"3-1"}}}',
        'could not parse cpuset "3-1" for container "c" in pod "u": invalid range "3-1" (3 > 1)',
    ),
    (
        '{"policyName":"none","entries":{"u":{"c":1}}}',
        "json: cannot unmarshal number into Go struct field CPUManagerCheckpoint.entries of type"
        " string",
    ),
    (
        '{"policyName":"none","entries":{"id":"1"}}',
        "error migrating v1 checkpoint state to v2 checkpoint state: containerID 'id' not found"
        " in initial containers list",
    ),
]


@pytest.mark.parametrize(("text", "words"), BAD)
def test_bad_files_are_refused_with_the_kubelets_words(text: str, words: str) -> None:
    refused = builders.restored(rules(builders.machine(10)), {"cpu_manager_state": text})

    assert isinstance(refused, StartRefused)
    assert refused.stage is Stage.CPU_MANAGER_START
    assert kubelet_start.text(refused) == f"{START}{words}{DRAIN}"


def test_the_cpu_file_is_complained_about_first_and_the_memory_file_too() -> None:
    files = {"cpu_manager_state": "", "memory_manager_state": ""}
    refused = builders.restored(rules(builders.machine(10)), files)

    assert isinstance(refused, StartRefused)
    assert [f.code for f in refused.findings + refused.further] == [
        "cpu-state/not-json",
        "memory-state/not-json",
    ]
    alone = builders.restored(rules(builders.machine(10)), {"cpu_manager_state": ""})
    assert isinstance(alone, StartRefused)
    assert alone.further == ()


def test_policy_none_writes_its_file_too() -> None:
    assert node(rules(builders.machine(10))).state_files()["cpu_manager_state"] == WRITTEN[0][3]
